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
        var isNeverTrue = false
        if syntax.comparison.isTextSearch, case .literal(let literal) = syntax.left {
            isNeverTrue = value(literal).isNull
        }
        let comparison = syntax.comparison == .isIn ? .equal : syntax.comparison
        if leftQuantifier == nil { leftQuantifier = .any }
        if rightQuantifier == nil { rightQuantifier = .any }
        // NONE of a side negates all there is.
        let isNegated =
            (leftQuantifier == PathSyntax.Quantifier.none) != (rightQuantifier == PathSyntax.Quantifier.none)
        if case .list = syntax.left {
            // What reads something comes first, constants after it.
            let answer = every(right, rightQuantifier == .all) { right in
                every(left, leftQuantifier == .all) { compare($0, comparison, right, ignoresCase) }
            }
            return answer != isNegated
        }
        let answer = every(left, leftQuantifier == .all) { left in
            every(right, rightQuantifier == .all) { !isNeverTrue && compare(left, comparison, $0, ignoresCase) }
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
