import FoundationEssentials
import SluiceModel

@testable import SluiceQuery

/// Finds the meaning of a query from its syntax, word by word: a third opinion beside evaluator and SQL, which shares
/// no code with them. It expects queries that the checker accepts.
struct NaiveInterpreter {
    let world: TestWorld
    let schema: Schema

    /// An object at which paths may begin.
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
        if syntax.computes { return [] }
        // The keys of the order so far, the strongest first.
        var order: [QuerySyntax.SortSyntax] = []
        for clause in syntax.clauses {
            switch clause {
            case .exclude, .total: break
            case .aggregate, .group: return []
            case .place(let side, let literals, _):
                let place = literals.map { if case .value(let value) = $0.kind { value } else { Value.null } }
                objects = objects.filter { object in
                    let isBehind = isBehind(object, place, order)
                    return side == .after ? isBehind == true : isBehind == false
                }
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
                order = keys + order
                let values = Dictionary(
                    uniqueKeysWithValues: objects.map { object in (object, keys.map { single($0.path, root(object)) }) }
                )
                // An insertion sort, which keeps equal objects in their order.
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

    /// Whether an object stands behind a place; nil if it is the object of the place, unmoved.
    ///
    /// - Parameter place: a value for each key that has an effect, then the key of the object.
    private func isBehind(_ object: ObjectRef, _ place: [Value], _ order: [QuerySyntax.SortSyntax]) -> Bool? {
        var seen: [[String]] = []
        var values = place[...]
        for key in order {
            let names = key.path.components.map { "\($0.kind)" }
            if seen.contains(names) { continue }
            seen.append(names)
            guard values.count > 1, let other = values.popFirst() else { break }
            let own = single(key.path, root(object))
            // Numbers of two types can be equal.
            if !(own < other), !(other < own) { continue }
            return key.isAscending ? other < own : own < other
        }
        guard let last = place.last, let key = ObjectKey(primaryKey: last) ?? last.ownID else { return nil }
        let other = Identity(className: schema[object.classIndex].name, key: key).objectID
        return id(object) == other ? nil : other < id(object)
    }

    func root(_ object: ObjectRef) -> [Binding] {
        [Binding(name: nil, classIndex: object.classIndex, object: object)]
    }

    func id(_ object: ObjectRef) -> ObjectID {
        Identity(className: schema[object.classIndex].name, key: object.key).objectID
    }

    private func isBefore(_ left: [Value], _ right: [Value], _ keys: [QuerySyntax.SortSyntax]) -> Bool {
        for (index, key) in keys.enumerated() where left[index] != right[index] {
            return key.isAscending ? left[index] < right[index] : right[index] < left[index]
        }
        return false
    }

    func single(_ path: PathSyntax, _ scope: [Binding]) -> Value { values(of: path, scope)[0] }

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

    /// Follows the table of lists and quantifiers in `docs/query-language.md`, line by line.
    private func holds(_ syntax: ComparisonSyntax, _ scope: [Binding]) -> Bool {
        let (left, right) = (values(of: syntax.left, scope), values(of: syntax.right, scope))
        let (own, other) = (quantifier(syntax.left), quantifier(syntax.right))
        let comparison = syntax.comparison == .isIn ? .equal : syntax.comparison
        // A null constant on the left contains, begins and ends with nothing.
        let isConstant = constants(syntax.left) != nil
        func passes(_ left: Value, _ right: Value) -> Bool {
            if isConstant, left.isNull, comparison.isTextSearch { return false }
            return compare(left, comparison, right, syntax.ignoresCase)
        }
        if syntax.comparison == .between {
            let isBetween = { (value: Value) in
                compare(value, .greaterOrEqual, right[0], false) && compare(value, .lessOrEqual, right[1], false)
            }
            return own == .all ? left.allSatisfy(isBetween) : left.contains(where: isBetween)
        }
        let isAmong = syntax.comparison == .isIn && !isConstant && constants(syntax.right) != nil
        if own == nil, other == nil, !isAmong, isMany(syntax.left, scope), isMany(syntax.right, scope) {
            return wholes(syntax, comparison, scope, passes)
        }
        return every(left, own) { left in every(right, other) { passes(left, $0) } }
    }

    private func every(_ values: [Value], _ quantifier: PathSyntax.Quantifier?, _ test: (Value) -> Bool) -> Bool {
        switch quantifier {
        case .any, nil: values.contains { test($0) }
        case .all: values.allSatisfy { test($0) }
        case PathSyntax.Quantifier.none?: !values.contains { test($0) }
        }
    }

    private func quantifier(_ syntax: ExpressionSyntax) -> PathSyntax.Quantifier? {
        switch syntax {
        case .path(let path): path.quantifier
        case .list(_, let quantifier, _): quantifier
        case .arithmetic(let arithmetic): quantifier(arithmetic.left) ?? quantifier(arithmetic.right)
        case .literal, .subquery: nil
        }
    }

    /// The elements of a list of constants, or of arithmetic with one; nil for anything else.
    private func constants(_ syntax: ExpressionSyntax) -> [LiteralSyntax]? {
        switch syntax {
        case .list(let literals, _, _): literals
        case .literal(let literal): [literal]
        case .arithmetic(let arithmetic):
            constants(arithmetic.left).flatMap { left in constants(arithmetic.right).map { left + $0 } }
        case .path, .subquery: nil
        }
    }

    /// Whether a side may have more than one value.
    private func isMany(_ syntax: ExpressionSyntax, _ scope: [Binding]) -> Bool {
        switch syntax {
        case .list: return true
        case .literal, .subquery: return false
        case .arithmetic(let arithmetic): return isMany(arithmetic.left, scope) || isMany(arithmetic.right, scope)
        case .path(let path):
            var (components, binding) = start(path, scope)
            let aggregate = components.firstIndex { component in
                guard case .operation(let name) = component.kind else { return false }
                return ["min", "max", "sum", "avg"].contains(name)
            }
            if let aggregate { components.remove(at: aggregate) }
            let plan = PathPlan(components, from: binding.classIndex, schema)
            // A count of backlinks is one number.
            let isCounted = isCount(components.last) && plan.lastCollection == components.count - 2
            if isCounted { return plan.hasEarlierCollection }
            // An aggregate belongs to the last collection.
            return aggregate == nil ? plan.lastCollection != nil : plan.hasEarlierCollection
        }
    }

    // MARK: Whole collections

    private func wholes(
        _ syntax: ComparisonSyntax, _ comparison: ComparisonOperator, _ scope: [Binding],
        _ passes: (Value, Value) -> Bool
    ) -> Bool {
        if comparison == .notEqual {
            return !wholes(syntax, .equal, scope) { compare($0, .equal, $1, syntax.ignoresCase) }
        }
        let (left, right) = (whole(syntax.left, scope), whole(syntax.right, scope))
        guard left.isSet || right.isSet else {
            return left.values.count == right.values.count && zip(left.values, right.values).allSatisfy(passes)
        }
        let own = distinct(left.values, !left.isSet)
        let other = distinct(right.values, !right.isSet)
        return own.count == other.count && own.allSatisfy { value in other.contains { passes(value, $0) } }
    }

    private func distinct(_ values: [Value], _ isLiteral: Bool) -> [Value] {
        guard isLiteral else { return values }
        var result: [Value] = []
        for value in values where !result.contains(value) { result.append(value) }
        return result
    }

    /// The values of a side in order. A collection that belongs to one object has a null for each absent object.
    private func whole(_ syntax: ExpressionSyntax, _ scope: [Binding]) -> (values: [Value], isSet: Bool) {
        guard case .path(let path) = syntax else { return (values(of: syntax, scope), false) }
        let (components, binding) = start(path, scope)
        let plan = PathPlan(components, from: binding.classIndex, schema)
        guard let last = components.last, case .property = last.kind, plan.lastCollection == components.count - 1,
            !plan.hasEarlierCollection, let declared = plan.lastProperty, declared.type.isCollection
        else { return (values(of: syntax, scope), false) }
        var object: ObjectRef? = binding.object
        var classIndex = binding.classIndex
        for component in plan.links { (object, classIndex) = follow(component, object, classIndex) }
        let isSet = declared.type.container == .set
        guard let object, let property = schema[classIndex].index(of: declared.name) else { return ([], isSet) }
        let values = elements(world.rows[object]!.values[property])
        return (values.map { present($0, declared) }, isSet)
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

    func present(_ value: Value, _ declared: Property) -> Value {
        guard case .link(let key) = value, let target = declared.type.targetClass else { return value }
        return world.rows[ObjectRef(schema.index(of: target)!, key)] == nil ? .null : value
    }

    func elements(_ value: Value) -> [Value] {
        switch value {
        case .list(let elements), .set(let elements): elements
        case .map(let map): map.entries.map(\.value)
        default: []
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

extension Value {
    fileprivate var ownID: ObjectKey? { if case .objectID(let id) = self { .id(id) } else { nil } }
}
