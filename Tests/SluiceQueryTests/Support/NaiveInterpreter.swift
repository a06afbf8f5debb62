import FoundationEssentials
import SluiceModel

@testable import SluiceQuery

/// What a query means, read off its syntax word by word: a third opinion beside evaluator and SQL, of which it uses
/// nothing. For queries that the checker accepts.
struct NaiveInterpreter {
    let world: TestWorld
    let schema: Schema

    /// An object that paths may begin at.
    struct Binding {
        let name: String?
        let classIndex: Int
        let object: ObjectRef
    }

    init(_ world: TestWorld) {
        self.world = world
        schema = world.schema
    }

    // MARK: Queries

    func results(_ syntax: QuerySyntax, ofClass classIndex: Int) -> [ObjectKey] {
        var objects = world.rows.keys.filter { $0.classIndex == classIndex }.sorted { id($0) < id($1) }
        objects = objects.filter { holds(syntax.predicate, root($0)) }
        for clause in syntax.clauses {
            switch clause {
            case .exclude: break
            case .limit(let limit, _): objects = Array(objects.prefix(limit))
            case .distinct(let paths, _):
                var seen: [[Value]] = []
                objects = objects.filter { object in
                    let values = paths.map { single($0, root(object)) }
                    if seen.contains(values) { return false }
                    seen.append(values)
                    return true
                }
            case .sort(let keys, _):
                let values = Dictionary(
                    uniqueKeysWithValues: objects.map { object in (object, keys.map { single($0.path, root(object)) }) }
                )
                // By insertion, which keeps equal objects in their order.
                var sorted: [ObjectRef] = []
                for object in objects {
                    let place = sorted.firstIndex { isBefore(values[object]!, values[$0]!, keys) } ?? sorted.count
                    sorted.insert(object, at: place)
                }
                objects = sorted
            }
        }
        return objects.map(\.key)
    }

    private func root(_ object: ObjectRef) -> [Binding] {
        [Binding(name: nil, classIndex: object.classIndex, object: object)]
    }

    private func id(_ object: ObjectRef) -> ObjectID {
        Identity(className: schema[object.classIndex].name, key: object.key).objectID
    }

    private func isBefore(_ left: [Value], _ right: [Value], _ keys: [QuerySyntax.SortSyntax]) -> Bool {
        for (index, key) in keys.enumerated() where left[index] != right[index] {
            return key.isAscending ? left[index] < right[index] : right[index] < left[index]
        }
        return false
    }

    private func single(_ path: PathSyntax, _ scope: [Binding]) -> Value { values(of: path, scope)[0] }

    // MARK: Conditions

    func holds(_ predicate: PredicateSyntax, _ scope: [Binding]) -> Bool {
        switch predicate {
        case .constant(let isTrue): isTrue
        case .not(let operand): !holds(operand, scope)
        case .and(let operands): operands.allSatisfy { holds($0, scope) }
        case .or(let operands): operands.contains { holds($0, scope) }
        case .comparison(let comparison): holds(comparison, scope)
        }
    }

    private func holds(_ syntax: ComparisonSyntax, _ scope: [Binding]) -> Bool {
        if let whole = wholes(syntax, scope) { return whole }
        let left = values(of: syntax.left, scope)
        let right = values(of: syntax.right, scope)
        var leftQuantifier = quantifier(syntax.left)
        var rightQuantifier = quantifier(syntax.right)
        let ignoresCase = syntax.ignoresCase
        switch syntax.comparison {
        case .between:
            let isAll = leftQuantifier == .all
            let test = { (value: Value) in
                compare(value, .greaterOrEqual, right[0], false) && compare(value, .lessOrEqual, right[1], false)
            }
            return isAll ? left.allSatisfy(test) : left.contains(where: test)
        case .isIn:
            if rightQuantifier == nil { rightQuantifier = .any }
        default: break
        }
        let comparison = syntax.comparison == .isIn ? .equal : syntax.comparison
        if leftQuantifier == nil { leftQuantifier = .any }
        if rightQuantifier == nil { rightQuantifier = .any }
        // NONE of a side negates all there is.
        let isNegated =
            (leftQuantifier == PathSyntax.Quantifier.none) != (rightQuantifier == PathSyntax.Quantifier.none)
        let answer = every(left, leftQuantifier == .all) { left in
            every(right, rightQuantifier == .all) { compare(left, comparison, $0, ignoresCase) }
        }
        return answer != isNegated
    }

    private func every(_ values: [Value], _ isAll: Bool, _ test: (Value) -> Bool) -> Bool {
        isAll ? values.allSatisfy(test) : values.contains(where: test)
    }

    private func quantifier(_ syntax: ExpressionSyntax) -> PathSyntax.Quantifier? {
        switch syntax {
        case .path(let path): path.quantifier
        case .list(_, let quantifier, _): quantifier
        case .arithmetic(let arithmetic): quantifier(arithmetic.left) ?? quantifier(arithmetic.right)
        case .literal, .subquery: nil
        }
    }

    // MARK: Whole collections

    private func wholes(_ syntax: ComparisonSyntax, _ scope: [Binding]) -> Bool? {
        guard syntax.comparison == .equal || syntax.comparison == .notEqual else { return nil }
        guard let left = whole(syntax.left, scope), let right = whole(syntax.right, scope),
            left.container != nil || right.container != nil
        else { return nil }
        let isSet = (left.container ?? right.container) == .set
        var isEqual: Bool
        if isSet {
            let own = distinct(left.values, left.container == nil)
            let other = distinct(right.values, right.container == nil)
            isEqual =
                own.count == other.count
                && own.allSatisfy { value in other.contains { compare(value, .equal, $0, false) } }
        } else {
            isEqual =
                left.values.count == right.values.count
                && zip(left.values, right.values).allSatisfy { compare($0, .equal, $1, false) }
        }
        return isEqual == (syntax.comparison == .equal)
    }

    private func distinct(_ values: [Value], _ isLiteral: Bool) -> [Value] {
        guard isLiteral else { return values }
        var result: [Value] = []
        for value in values where !result.contains(value) { result.append(value) }
        return result
    }

    /// The elements of a collection or of a list of constants; nil for anything else. Constants have no container.
    private func whole(
        _ syntax: ExpressionSyntax, _ scope: [Binding]
    ) -> (values: [Value], container: PropertyType.Container?)? {
        switch syntax {
        case .list(let literals, nil, _): return (literals.map(value), nil)
        case .path(let path) where path.quantifier == nil:
            let (components, binding) = start(path, scope)
            let plan = PathPlan(components, from: binding.classIndex, schema)
            guard let last = components.last, case .property = last.kind, plan.lastCollection == components.count - 1,
                !plan.hasEarlierCollection, let declared = plan.lastProperty, declared.type.isCollection
            else { return nil }
            var object: ObjectRef? = binding.object
            var classIndex = binding.classIndex
            for component in plan.links { (object, classIndex) = follow(component, object, classIndex) }
            guard let object, let property = schema[classIndex].index(of: declared.name) else {
                return ([], declared.type.container)
            }
            let values = elements(world.rows[object]!.values[property])
            return (values.map { present($0, declared) }, declared.type.container)
        default: return nil
        }
    }

    private func follow(
        _ link: PathPlan.Link, _ object: ObjectRef?, _ classIndex: Int
    ) -> (ObjectRef?, Int) {
        let declared = schema[classIndex].properties[link.property]
        let target = schema.index(of: declared.type.targetClass!)!
        guard let object, let row = world.rows[object],
            case .link(let key) = link.selection.map({ select($0, row.values[link.property]) })
                ?? row.values[link.property]
        else { return (nil, target) }
        let reference = ObjectRef(target, key)
        return (world.rows[reference] == nil ? nil : reference, target)
    }

    private func present(_ value: Value, _ declared: Property) -> Value {
        guard case .link(let key) = value, let target = declared.type.targetClass else { return value }
        return world.rows[ObjectRef(schema.index(of: target)!, key)] == nil ? .null : value
    }

    private func elements(_ value: Value) -> [Value] {
        switch value {
        case .list(let elements), .set(let elements): elements
        case .map(let map): map.entries.map(\.value)
        default: []
        }
    }

    // MARK: Values

    private func values(of syntax: ExpressionSyntax, _ scope: [Binding]) -> [Value] {
        switch syntax {
        case .literal(let literal): return [value(literal)]
        case .list(let literals, _, _): return literals.map(value)
        case .path(let path): return values(of: path, scope)
        case .arithmetic(let arithmetic):
            return values(of: arithmetic.left, scope).flatMap { left in
                values(of: arithmetic.right, scope).map { NaiveNumbers.compute(arithmetic.operation, left, $0) }
            }
        case .subquery(let subquery):
            var count: Int64 = 0
            for (object, classIndex) in objects(of: subquery.collection, scope) {
                let binding = Binding(name: subquery.variable, classIndex: classIndex, object: object)
                if holds(subquery.predicate, scope + [binding]) { count += 1 }
            }
            return [.int(count)]
        }
    }

    private func value(_ literal: LiteralSyntax) -> Value {
        switch literal.kind {
        case .value(let value): value
        case .number(let digits): Int64(digits).map { .int($0) } ?? .double(Double(digits)!)
        case .object(_, let key): .link(ObjectKey(primaryKey: key)!)
        }
    }

    private func start(
        _ path: PathSyntax, _ scope: [Binding]
    ) -> (components: [PathSyntax.Component], binding: Binding) {
        guard case .variable(let name) = path.components.first?.kind else { return (path.components, scope[0]) }
        return (Array(path.components.dropFirst()), scope.last { $0.name == name }!)
    }

    private func objects(of path: PathSyntax, _ scope: [Binding]) -> [(ObjectRef, Int)] {
        let (components, binding) = start(path, scope)
        let target = PathPlan(components, from: binding.classIndex, schema).endClass
        return read(components[...], binding.object, binding.classIndex).compactMap { value in
            if case .link(let key) = value { (ObjectRef(target, key), target) } else { nil }
        }
    }

    func values(of path: PathSyntax, _ scope: [Binding]) -> [Value] {
        var (components, binding) = start(path, scope)
        let operation = components.firstIndex { component in
            guard case .operation(let name) = component.kind else { return false }
            return ["min", "max", "sum", "avg"].contains(name)
        }
        guard let operation, case .operation(let name) = components.remove(at: operation).kind else {
            return read(components[...], binding.object, binding.classIndex)
        }
        let plan = PathPlan(components, from: binding.classIndex, schema)
        return read(
            components[...], binding.object, binding.classIndex,
            aggregate: (name, plan.lastCollection!, plan.lastProperty!.type.element))
    }

    /// Every value of a path from an object, or from where a link led nowhere.
    private func read(
        _ components: ArraySlice<PathSyntax.Component>, _ object: ObjectRef?, _ classIndex: Int,
        aggregate: (name: String, collection: Int, element: PropertyType.Element)? = nil
    ) -> [Value] {
        if let aggregate, aggregate.collection == components.startIndex {
            let values = object == nil ? [] : read(components, object, classIndex)
            return [NaiveNumbers.aggregate(aggregate.name, values, aggregate.element)]
        }
        guard let component = components.first else { return [object.map { .link($0.key) } ?? .null] }
        let rest = components.dropFirst()
        switch component.kind {
        case .backlink(let name, let link):
            let owners = linking(to: object, name, link)
            if isCount(rest.first) { return [.int(Int64(owners.count))] }
            return owners.flatMap { read(rest, $0, $0.classIndex, aggregate: aggregate) }
        case .operation("links"):
            var count = 0
            for declared in schema.classes {
                for property in declared.properties where property.type.targetClass == schema[classIndex].name {
                    count += linking(to: object, declared.name, property.name).count
                }
            }
            return [.int(Int64(count))]
        case .property(let name):
            let property = schema[classIndex].index(of: name)!
            let declared = schema[classIndex].properties[property]
            let value = object.map { world.rows[$0]!.values[property] }
            return read(value, declared, rest, aggregate)
        default: return []
        }
    }

    private func read(
        _ value: Value?, _ declared: Property, _ rest: ArraySlice<PathSyntax.Component>,
        _ aggregate: (name: String, collection: Int, element: PropertyType.Element)?
    ) -> [Value] {
        let target = declared.type.targetClass.flatMap(schema.index(of:))
        if let next = rest.first, PathPlan.isSelection(next, declared) {
            let selected = value.map { present(select(next, $0), declared) } ?? .null
            guard let target else { return [selected] }
            return read(rest.dropFirst(), reference(selected, target), target, aggregate: aggregate)
        }
        if isCount(rest.first) { return [count(value, declared)] }
        if declared.type.isCollection {
            let elements = value.map { self.elements($0) } ?? []
            guard let target else { return elements }
            return elements.compactMap { reference(present($0, declared), target) }
                .flatMap { read(rest, $0, target, aggregate: aggregate) }
        }
        guard let target else { return [value ?? .null] }
        return read(rest, reference(present(value ?? .null, declared), target), target, aggregate: aggregate)
    }

    private func reference(_ value: Value, _ target: Int) -> ObjectRef? {
        if case .link(let key) = value { ObjectRef(target, key) } else { nil }
    }

    private func linking(to object: ObjectRef?, _ className: String, _ property: String) -> [ObjectRef] {
        guard let object else { return [] }
        let classIndex = schema.index(of: className)!
        let position = schema[classIndex].index(of: property)!
        return world.rows.keys.filter { owner in
            guard owner.classIndex == classIndex else { return false }
            let value = world.rows[owner]!.values[position]
            return value == .link(object.key) || elements(value).contains(.link(object.key))
        }
    }

    private func isCount(_ component: PathSyntax.Component?) -> Bool {
        switch component?.kind {
        case .operation("count"), .operation("size"), .named("SIZE"): true
        default: false
        }
    }

    private func count(_ value: Value?, _ declared: Property) -> Value {
        if declared.type.isCollection { return .int(Int64(value.map { elements($0).count } ?? 0)) }
        if declared.type.element.isLink { return .int(present(value ?? .null, declared).isNull ? 0 : 1) }
        return switch value {
        case .string(let text): .int(Int64(text.utf8.count))
        case .data(let bytes): .int(Int64(bytes.count))
        default: .null
        }
    }

    private func select(_ component: PathSyntax.Component, _ value: Value) -> Value {
        let elements = elements(value)
        switch component.kind {
        case .index(let index): return elements.indices.contains(index) ? elements[index] : .null
        case .named("FIRST"): return elements.first ?? .null
        case .named("LAST"): return elements.last ?? .null
        case .key(let key), .property(let key):
            guard case .map(let map) = value else { return .null }
            return map.entries.first { Array($0.key.utf8) == Array(key.utf8) }?.value ?? .null
        default: return .null
        }
    }

    // MARK: Comparing

    private func compare(_ left: Value, _ comparison: ComparisonOperator, _ right: Value, _ ignoresCase: Bool) -> Bool {
        let text: (Value) -> [UInt8]? = { value in
            switch value {
            case .string(let text): Array((ignoresCase ? CaseFolding.fold(text) : text).utf8)
            case .data(let bytes): bytes
            default: nil
            }
        }
        switch comparison {
        case .beginsWith, .endsWith, .contains:
            if right.isNull { return true }
            let part = text(right)
            guard let text = text(left), let part else { return false }
            if comparison == .beginsWith { return text.starts(with: part) }
            if comparison == .endsWith { return text.count >= part.count && Array(text.suffix(part.count)) == part }
            guard text.count >= part.count else { return false }
            return (0...text.count - part.count).contains { Array(text[$0..<$0 + part.count]) == part }
        case .like:
            if left.isNull || right.isNull { return left.isNull && right.isNull }
            guard case .string(let text) = left, case .string(let pattern) = right else { return false }
            return fits(
                Array((ignoresCase ? CaseFolding.fold(text) : text).unicodeScalars)[...],
                Array((ignoresCase ? CaseFolding.fold(pattern) : pattern).unicodeScalars)[...])
        default: break
        }
        let order = NaiveNumbers.order(left, right, text(left), text(right))
        return switch comparison {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: !left.isNull && !right.isNull && order.map { $0 < 0 } ?? false
        case .lessOrEqual: left.isNull == right.isNull && order.map { $0 <= 0 } ?? false
        case .greater: !left.isNull && !right.isNull && order.map { $0 > 0 } ?? false
        case .greaterOrEqual: left.isNull == right.isNull && order.map { $0 >= 0 } ?? false
        default: false
        }
    }

    private func fits(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return (text.startIndex...text.endIndex).contains { fits(text[$0...], pattern.dropFirst()) }
        }
        guard let character = text.first, first == "?" || first == character else { return false }
        return fits(text.dropFirst(), pattern.dropFirst())
    }
}
