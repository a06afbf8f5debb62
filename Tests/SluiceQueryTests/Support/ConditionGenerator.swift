import FoundationEssentials
import SluiceModel
import TestSupport

@testable import SluiceQuery

/// Generates random conditions and clauses of queries, of which some are refused.
struct ConditionGenerator {
    private var generator: ValueGenerator
    private var random: SeededGenerator {
        get { generator.random }
        set { generator.random = newValue }
    }
    /// The variables of the enclosing subqueries, with their classes.
    private var variables: [(name: String, classIndex: Int)] = []

    /// Goes on with the random numbers after a world.
    init(after world: WorldGenerator) { generator = world.generator }

    mutating func predicate(_ schema: Schema, _ classIndex: Int, depth: Int = 3) -> PredicateSyntax {
        if depth > 0, random.chance(4) { return alternatives(schema, classIndex) }
        return switch depth == 0 ? 9 : Int.random(in: 0...9, using: &random) {
        case 0: .not(predicate(schema, classIndex, depth: depth - 1))
        case 1, 2: .and((0..<random.pick([1, 2, 3])).map { _ in predicate(schema, classIndex, depth: depth - 1) })
        case 3, 4: .or((0..<random.pick([1, 2, 3])).map { _ in predicate(schema, classIndex, depth: depth - 1) })
        default: .comparison(comparison(schema, classIndex))
        }
    }

    /// Makes many alternatives that fix the same values, or their negations.
    private mutating func alternatives(_ schema: Schema, _ classIndex: Int) -> PredicateSyntax {
        let isNegated = random.chance(30)
        var paths: [(PathSyntax, Property)] = []
        for _ in 0..<40 where paths.count < 2 {
            let path = path(schema, classIndex)
            if case .scalar = path.1.type.element, path.0.quantifier == nil { paths.append(path) }
        }
        let alternatives = (0..<random.pick([4, 5, 8])).map { _ -> PredicateSyntax in
            let parts = paths.map { path, property -> PredicateSyntax in
                let value = ExpressionSyntax.literal(LiteralSyntax(.value(constant(property, schema))))
                return .comparison(ComparisonSyntax(.path(path), isNegated ? .notEqual : .equal, value))
            }
            return isNegated ? .or(parts) : .and(parts)
        }
        return isNegated ? .and(alternatives) : .or(alternatives)
    }

    /// Makes a comparison that may be invalid: operators and types are drawn almost independently.
    private mutating func comparison(_ schema: Schema, _ classIndex: Int) -> ComparisonSyntax {
        let (left, property) = operand(schema, classIndex)
        var comparison = random.pick(ComparisonOperator.allCases)
        let isText = property.type.element == .scalar(.string)
        if comparison.isTextSearch, !isText, property.type.element != .scalar(.data) { comparison = .lessOrEqual }
        let ignoresCase = isText && !comparison.isOrdering && comparison != .between && random.chance(30)
        let right: ExpressionSyntax
        switch (comparison, random.pick([0, 0, 0, 0, 0, 0, 1, 1, 2])) {
        case (.between, _): right = .values([constant(property, schema), constant(property, schema)])
        case (.isIn, _): right = .values((0..<random.pick([0, 1, 2, 4])).map { _ in constant(property, schema) })
        case (_, 1): right = operand(schema, classIndex, like: property).0
        case (_, 2):
            let quantifier = random.pick([nil, nil, PathSyntax.Quantifier.any, .all, PathSyntax.Quantifier.none])
            right = .list(
                (0..<random.pick([0, 1, 2, 3])).map { _ in LiteralSyntax(.value(constant(property, schema))) },
                quantifier: quantifier)
        default: right = .literal(literal(property, schema))
        }
        let isTurned = random.chance(20)
        return ComparisonSyntax(
            isTurned ? right : left, comparison, isTurned ? left : right, ignoresCase: ignoresCase)
    }

    /// Makes one side of a comparison, and returns it with a property of the same type.
    private mutating func operand(
        _ schema: Schema, _ classIndex: Int, like wanted: Property? = nil
    ) -> (ExpressionSyntax, Property) {
        if random.chance(8), variables.count < 2 { return (subquery(schema, classIndex), Property("n", .scalar(.int))) }
        var (path, property) = path(schema, classIndex)
        if let wanted {
            for _ in 0..<8 where property.type.element != wanted.type.element {
                (path, property) = self.path(schema, classIndex)
            }
        }
        guard case .scalar(let type) = property.type.element, type.isNumeric, random.chance(40) else {
            return (.path(path), property)
        }
        return arithmetic(.path(path), property, schema, classIndex, depth: random.pick([1, 1, 1, 1, 2, 2, 2, 30]))
    }

    private mutating func arithmetic(
        _ left: ExpressionSyntax, _ property: Property, _ schema: Schema, _ classIndex: Int, depth: Int
    ) -> (ExpressionSyntax, Property) {
        var type = property.type
        var right = ExpressionSyntax.value(generator.element(PropertyType(type.element), schema))
        if type.element == .scalar(.int) || type.element == .scalar(.double), random.chance(30) {
            let number = random.pick(["2", "2.0", "1e0", "0.5", "10.0", "3"])
            right = .literal(LiteralSyntax(.number(number)))
            if number.contains(where: { $0 == "." || $0 == "e" }) { type = PropertyType(.scalar(.double)) }
        }
        if random.chance(50) {
            for _ in 0..<8 {
                let (path, other) = path(schema, classIndex)
                guard case .scalar(let own) = type.element, case .scalar(let next) = other.type.element, next.isNumeric
                else { continue }
                right = .path(path)
                type = PropertyType(.scalar(Arithmetic.type(own, next)))
                break
            }
        }
        let isTurned = random.chance(30)
        let result = ExpressionSyntax.arithmetic(
            ArithmeticSyntax(
                isTurned ? right : left, random.pick(ArithmeticOperator.allCases), isTurned ? left : right))
        let property = Property("n", PropertyType(type.element))
        return depth > 1 ? arithmetic(result, property, schema, classIndex, depth: depth - 1) : (result, property)
    }

    private mutating func subquery(_ schema: Schema, _ classIndex: Int) -> ExpressionSyntax {
        var collection = path(schema, classIndex)
        for _ in 0..<20 where !collection.1.type.element.isLink { collection = path(schema, classIndex) }
        collection.0.quantifier = nil
        guard let target = collection.1.type.targetClass.flatMap(schema.index(of:)) else {
            return .path(collection.0)
        }
        let name = "x\(variables.count)"
        variables.append((name, target))
        defer { variables.removeLast() }
        return .subquery(SubquerySyntax(collection.0, name, predicate(schema, classIndex, depth: 1)))
    }

    private mutating func literal(_ property: Property, _ schema: Schema) -> LiteralSyntax {
        guard property.type.element == .scalar(.date), random.chance(60) else {
            return LiteralSyntax(.value(constant(property, schema)))
        }
        if random.chance(50) { return LiteralSyntax(.now(offset: random.pick([0, 0, -1, 1, 1_000_000, -1_000_001]))) }
        let date = Timestamp(microseconds: random.pick([-1, 0, 1, 1_359_626_400_000_000]))
        return LiteralSyntax(.instant(date, nanoseconds: random.pick([1, 500, 999])))
    }

    private mutating func constant(_ property: Property, _ schema: Schema) -> Value {
        if random.chance(15) { return .null }
        guard case .scalar(let type) = property.type.element, random.chance(20) else {
            return generator.element(PropertyType(property.type.element), schema)
        }
        // A number of another type, if the two types compare.
        switch type {
        case .int: return finite(random.pick([.float, .double, .decimal]))
        case .float, .double: return finite(.int)
        case .decimal: return finite(random.pick([.int, .double]))
        default: return generator.scalar(type)
        }
    }

    private mutating func finite(_ type: ScalarType) -> Value {
        while true {
            let value = generator.scalar(type)
            switch value {
            case .float(let number) where !number.isFinite: break
            case .double(let number) where !number.isFinite: break
            case .decimal(let number) where number.isNaN: break
            default: return value
            }
        }
    }

    private mutating func path(_ schema: Schema, _ classIndex: Int) -> (PathSyntax, Property) {
        var components: [PathSyntax.Component] = []
        var current = classIndex
        if let variable = variables.last, random.chance(80) {
            components.append(.init(.variable(variable.name)))
            current = variable.classIndex
        }
        var isToMany = false
        while true {
            if random.chance(12), let backlink = schema.backlinks(to: current).randomElement(using: &random) {
                let declared = schema[backlink.classIndex]
                components.append(
                    .init(.backlink(className: declared.name, property: declared.properties[backlink.property].name)))
                if random.chance(20) {
                    components.append(.init(.operation("count")))
                    return (PathSyntax(components, quantifier: quantifier(isToMany)), Property("n", .scalar(.int)))
                }
                isToMany = true
                current = backlink.classIndex
                if components.count > 4 {
                    let link = Property("o", PropertyType(.link(declared.name), container: .set))
                    return (PathSyntax(components, quantifier: quantifier(true)), link)
                }
                continue
            }
            if random.chance(3) {
                components += [.init(.operation("links")), .init(.operation("count"))]
                return (PathSyntax(components, quantifier: quantifier(isToMany)), Property("n", .scalar(.int)))
            }
            let property = random.pick(schema[current].properties)
            components.append(.init(.property(property.name)))
            let isSelected = property.type.isCollection && random.chance(20)
            if isSelected { components.append(selection(of: property)) }
            isToMany = isToMany || property.type.isCollection && !isSelected
            let goesOn = property.type.targetClass != nil && components.count < 5 && random.chance(65)
            if goesOn, property.type.container == .map, !isSelected {
                components.append(.init(random.pick([.operation("values"), .named("*")])))
            }
            if goesOn, let target = property.type.targetClass {
                current = schema.index(of: target) ?? 0
                continue
            }
            return end(components, property, isToMany: isToMany, isSelected: isSelected)
        }
    }

    private mutating func end(
        _ components: [PathSyntax.Component], _ property: Property, isToMany: Bool, isSelected: Bool
    ) -> (PathSyntax, Property) {
        var components = components
        var leaf = property
        if case .scalar(let type) = property.type.element, isToMany, random.chance(40) {
            let operation = random.pick([AggregateOperation.minimum, .maximum, .sum, .average])
            if let result = operation.result(of: type) {
                components.append(.init(.operation(operation.rawValue)))
                return (PathSyntax(components, quantifier: nil), Property("a", .scalar(result)))
            }
        }
        if !isSelected,
            property.type.isCollection || [.scalar(.string), .scalar(.data)].contains(property.type.element),
            random.chance(20)
        {
            components.append(.init(.operation("count")))
            leaf = Property("count", .scalar(.int))
        }
        return (PathSyntax(components, quantifier: quantifier(isToMany)), leaf)
    }

    private mutating func quantifier(_ isToMany: Bool) -> PathSyntax.Quantifier? {
        isToMany ? random.pick([nil, nil, .any, .all, PathSyntax.Quantifier.none]) : nil
    }

    private mutating func selection(of property: Property) -> PathSyntax.Component {
        switch property.type.container {
        case .map: .init(.key(random.pick(["a", "b", "é"])))
        default: .init(random.pick([.index(0), .index(1), .named("FIRST"), .named("LAST")]))
        }
    }

    /// Places by values that objects may have.
    private mutating func places(
        by keys: [QuerySyntax.SortSyntax], _ schema: Schema, _ classIndex: Int
    ) -> [QuerySyntax.Clause] {
        let sides: [[QuerySyntax.PlaceSide]] = [[], [.after], [.before], [.after, .before]]
        return random.pick(sides).map { side in
            var values = keys.map { key -> Value in
                let property = property(at: key.path, schema, classIndex)
                if random.chance(15) { return .null }
                return generator.element(PropertyType(property.type.element), schema)
            }
            let number = Int.random(in: 0..<10, using: &random)
            values.append(generator.key(number, of: schema[classIndex]).value)
            return .place(side, values.map { LiteralSyntax(.value($0)) })
        }
    }

    /// The property at the end of a path of names; any other path has numbers, as counts and sums are.
    private func property(at path: PathSyntax, _ schema: Schema, _ classIndex: Int) -> Property {
        var current = classIndex
        var found = Property("n", .scalar(.int))
        for component in path.components {
            guard case .property(let name) = component.kind, let index = schema[current].index(of: name) else {
                return Property("n", .scalar(.int))
            }
            found = schema[current].properties[index]
            if let target = found.type.targetClass.flatMap(schema.index(of:)) { current = target }
        }
        return found
    }

    /// Makes AGGREGATE, most often with GROUP, SORT and LIMIT. Some are refused.
    private mutating func figures(_ schema: Schema, _ classIndex: Int) -> [QuerySyntax.Clause] {
        let operations = ["sum", "avg", "min", "max"]
        let functions = (0..<random.pick([1, 1, 2, 3])).map { _ -> PathSyntax in
            if random.chance(30) { return PathSyntax([.init(.operation("count"))]) }
            var path = figurePath(schema, classIndex)
            path.components.insert(.init(.operation(random.pick(operations))), at: 0)
            return path
        }
        let groups = (0..<random.pick([0, 1, 1, 2])).map { _ in figurePath(schema, classIndex) }
        var clauses: [QuerySyntax.Clause] = [.aggregate(functions)]
        guard !groups.isEmpty else { return clauses }
        clauses.insert(.group(groups), at: random.pick([0, 1]))
        if random.chance(60) {
            clauses.append(
                .sort([QuerySyntax.SortSyntax(random.pick(groups + functions), isAscending: random.chance(50))]))
        }
        if random.chance(40) { clauses.append(.limit(random.pick([0, 1, 2, 3, 20]))) }
        return clauses
    }

    private mutating func figurePath(_ schema: Schema, _ classIndex: Int) -> PathSyntax {
        guard random.chance(70) else { return path(schema, classIndex).0 }
        let scalars = schema[classIndex].properties.filter { !$0.type.isCollection }
        return PathSyntax(random.pick(scalars).name)
    }

    mutating func clauses(_ schema: Schema, _ classIndex: Int) -> [QuerySyntax.Clause] {
        if random.chance(30) { return figures(schema, classIndex) }
        var clauses: [QuerySyntax.Clause] = []
        for _ in 0..<random.pick([1, 1, 1, 2, 3]) {
            let keys = (0..<random.pick([0, 1, 1, 2])).map { _ in
                QuerySyntax.SortSyntax(path(schema, classIndex).0, isAscending: random.chance(50))
            }
            if !keys.isEmpty { clauses.append(.sort(keys)) }
            if random.chance(20) { clauses.append(.distinct([path(schema, classIndex).0])) }
            if random.chance(30) { clauses.append(.limit(random.pick([0, 1, 3, 100]))) }
        }
        // Among stages it is refused, and so would be the rest.
        if clauses.count < 3, random.chance(30) { clauses.append(.total()) }
        if random.chance(35), case .sort(let keys, _)? = clauses.first {
            clauses.insert(contentsOf: places(by: keys, schema, classIndex), at: 1)
        } else if clauses.isEmpty {
            clauses = places(by: [], schema, classIndex)
        }
        return clauses
    }
}
