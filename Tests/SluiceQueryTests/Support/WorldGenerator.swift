import FoundationEssentials
import SluiceModel
import TestSupport

@testable import SluiceQuery

/// Generates random schemas, objects and conditions from few values, so that conditions match objects.
struct WorldGenerator {
    var random: SeededGenerator
    private let classNames = ["A", "B", "C"]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Schemas

    mutating func schema() throws -> Schema {
        try Schema(
            classNames.map { name in
                var properties: [Property] = []
                let key = random.pick([nil, ScalarType.int, .string, .uuid])
                if let key { properties.append(Property("key", .scalar(key))) }
                for type in ScalarType.allCases {
                    properties.append(Property("p_\(type)", .scalar(type, isOptional: random.chance(50))))
                }
                for index in 0..<2 { properties.append(Property("link\(index)", .link(random.pick(classNames)))) }
                properties.append(Property("links", .links(random.pick(classNames))))
                properties.append(Property("linkSet", PropertyType(.link(random.pick(classNames)), container: .set)))
                properties.append(
                    Property("linkMap", PropertyType(.link(random.pick(classNames)), container: .map)))
                for container in [PropertyType.Container.list, .set, .map] {
                    let type = PropertyType(
                        .scalar(random.pick(ScalarType.allCases)), container: container, isOptional: random.chance(50))
                    properties.append(Property("many_\(container.rawValue)", type))
                }
                return try ClassSchema(name, primaryKey: key == nil ? nil : "key", properties: properties)
            })
    }

    // MARK: Objects

    mutating func world(_ schema: Schema) throws -> TestWorld {
        let world = TestWorld(schema)
        world.now = Timestamp(microseconds: [0, 1, 1_000_000, 1_359_626_400_000_001][world.schema.classes.count % 4])
        for declared in schema.classes {
            // Some keys stay unused, and links to them lead nowhere.
            for number in 0..<10 where random.chance(80) {
                var values: [String: Value] = [:]
                for property in declared.properties where property.name != declared.primaryKey && random.chance(90) {
                    values[property.name] = value(of: property, schema)
                }
                try world.insert(declared.name, key(number, of: declared), values)
            }
        }
        return world
    }

    /// Properties that somebody may not read: some of each class, and no primary key.
    mutating func hiddenProperties(_ schema: Schema) -> [Int: PropertySet] {
        var hidden: [Int: PropertySet] = [:]
        for (index, declared) in schema.classes.enumerated() {
            hidden[index] = PropertySet(
                declared.properties.indices.filter { $0 != declared.primaryKeyIndex && random.chance(25) })
        }
        return hidden
    }

    /// The same objects, with other values of some properties.
    mutating func changing(_ properties: [Int: PropertySet], of world: TestWorld) throws -> TestWorld {
        let changed = TestWorld(world.schema)
        changed.now = world.now
        for (object, row) in world.rows.sorted(by: { $0.key < $1.key }) {
            let declared = world.schema[object.classIndex]
            var values: [String: Value] = [:]
            for (position, property) in declared.properties.enumerated() where position != declared.primaryKeyIndex {
                let isHidden = properties[object.classIndex]?.contains(position) ?? false
                values[property.name] = isHidden ? value(of: property, world.schema) : row.values[position]
            }
            try changed.insert(declared.name, object.key, values)
        }
        return changed
    }

    private func key(_ number: Int, of declared: ClassSchema) -> ObjectKey {
        switch declared.keyType {
        case .int: .int(Int64(number))
        case .string: .string(["", "a", "A", "ä", "Ä", "ab", "b", "z", "éa", "\u{10FFFF}"][number])
        case .uuid: .uuid(UUID(bytes: [UInt8](repeating: UInt8(number * 25), count: 16)) ?? UUID())
        default: .id(ObjectID(high: number < 5 ? 1 : .max, low: UInt64(number) << 61))
        }
    }

    private mutating func value(of property: Property, _ schema: Schema) -> Value {
        let type = property.type
        switch type.container {
        case .single: return element(type, schema)
        case .list: return .list(elements(type, schema))
        case .set: return .set(of: elements(type, schema))
        case .map:
            return .map(ValueMap(elements(type, schema).map { (key: random.pick(["a", "b", "é"]), value: $0) }))
        }
    }

    private mutating func elements(_ type: PropertyType, _ schema: Schema) -> [Value] {
        (0..<random.pick([0, 0, 1, 2, 3])).map { _ in element(type, schema) }
    }

    private mutating func element(_ type: PropertyType, _ schema: Schema) -> Value {
        if type.isOptional, random.chance(25) { return .null }
        switch type.element {
        case .scalar(let type): return scalar(type)
        case .link(let target):
            guard let declared = schema.classSchema(named: target) else { return .null }
            return .link(key(Int.random(in: 0..<10, using: &random), of: declared))
        }
    }

    private mutating func scalar(_ type: ScalarType) -> Value {
        switch type {
        case .bool: .bool(random.chance(50))
        case .int: .int(random.pick([-1, 0, 1, 2, 3, .max, .min, 9_007_199_254_740_993, 16_777_217]))
        case .float: .float(random.pick([0, 1, 2.5, -1, 0.1, .nan, .infinity, -0.0, 16_777_216]))
        case .double:
            .double(
                random.pick([
                    0, 1, 2.5, -1, 0.1, .nan, .infinity, -.infinity, 9_007_199_254_740_992, 0x1p62, 0x1p63, -0x1p63,
                ]))
        case .string: .string(text())
        case .data: .data(random.pick([[], [1], [1, 2], [1, 2, 255], [255], [2]]))
        case .date: .date(Timestamp(microseconds: random.pick([0, 1, -1, 1_000_000, 1_359_626_400_000_000, .min])))
        case .uuid: .uuid(UUID(bytes: [UInt8](repeating: random.pick([0, 7, 255]), count: 16)) ?? UUID())
        case .objectID: .objectID(ObjectID(high: random.pick([0, 1, .max]), low: random.pick([0, .max])))
        case .decimal: .decimal(random.pick([0, 1, -1, 2.5, -2.5, 100, 0.1, Decimal.nan, Decimal(Int64.max)]))
        }
    }

    private mutating func text() -> String {
        (0..<random.pick([0, 1, 2, 3])).map { _ in
            random.pick(["a", "A", "b", "ä", "Ä", "é", "ß", "*", "?", "\u{10FFFF}"])
        }
        .joined()
    }

    // MARK: Conditions

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

    /// The variables of the enclosing subqueries, with their classes.
    private var variables: [(name: String, classIndex: Int)] = []

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
        var right = ExpressionSyntax.value(element(PropertyType(type.element), schema))
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
            return element(PropertyType(property.type.element), schema)
        }
        // A number of another type, if the two types compare.
        switch type {
        case .int: return finite(random.pick([.float, .double, .decimal]))
        case .float, .double: return finite(.int)
        case .decimal: return finite(random.pick([.int, .double]))
        default: return scalar(type)
        }
    }

    private mutating func finite(_ type: ScalarType) -> Value {
        while true {
            let value = scalar(type)
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
                return element(PropertyType(property.type.element), schema)
            }
            values.append(key(Int.random(in: 0..<10, using: &random), of: schema[classIndex]).value)
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
