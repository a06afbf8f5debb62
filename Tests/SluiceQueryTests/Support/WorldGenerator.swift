import FoundationEssentials
import SluiceModel

@testable import SluiceQuery

/// Random schemas, objects and conditions, drawn from few values so that they meet.
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
        for declared in schema.classes {
            // Some keys stay unused: links to them lead nowhere.
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
        case .int: .int(random.pick([-1, 0, 1, 2, 3, .max, .min, 9_007_199_254_740_993]))
        case .float: .float(random.pick([0, 1, 2.5, -1, 0.1, .nan, .infinity, -0.0]))
        case .double: .double(random.pick([0, 1, 2.5, -1, 0.1, .nan, .infinity, -.infinity, 9_007_199_254_740_992]))
        case .string: .string(text())
        case .data: .data(random.pick([[], [1], [1, 2], [1, 2, 255], [255], [2]]))
        case .date: .date(Timestamp(microseconds: random.pick([0, 1, -1, 1_000_000, 1_359_626_400_000_000, .min])))
        case .uuid: .uuid(UUID(bytes: [UInt8](repeating: random.pick([0, 7, 255]), count: 16)) ?? UUID())
        case .objectID: .objectID(ObjectID(high: random.pick([0, 1, .max]), low: random.pick([0, .max])))
        case .decimal: .decimal(random.pick([0, 1, -1, 2.5, -2.5, 100, 0.1, Decimal.nan]))
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
        switch depth == 0 ? 9 : Int.random(in: 0...9, using: &random) {
        case 0: .not(predicate(schema, classIndex, depth: depth - 1))
        case 1, 2: .and((0..<random.pick([1, 2, 3])).map { _ in predicate(schema, classIndex, depth: depth - 1) })
        case 3, 4: .or((0..<random.pick([1, 2, 3])).map { _ in predicate(schema, classIndex, depth: depth - 1) })
        default: .comparison(comparison(schema, classIndex))
        }
    }

    /// A comparison that may be refused: operators and types are drawn together loosely.
    private mutating func comparison(_ schema: Schema, _ classIndex: Int) -> ComparisonSyntax {
        let (path, property) = path(schema, classIndex)
        var comparison = random.pick(ComparisonOperator.allCases)
        let isText = property.type.element == .scalar(.string)
        if comparison.isTextSearch, !isText, property.type.element != .scalar(.data) { comparison = .lessOrEqual }
        let ignoresCase = isText && !comparison.isOrdering && comparison != .between && random.chance(30)
        let right: ExpressionSyntax
        switch (comparison, random.chance(20)) {
        case (.between, _): right = .values([constant(property, schema), constant(property, schema)])
        case (.isIn, _): right = .values((0..<random.pick([0, 1, 2, 4])).map { _ in constant(property, schema) })
        case (_, true):
            let other = self.path(schema, classIndex)
            right = .path(other.0)
        default: right = .value(constant(property, schema))
        }
        let isTurned = random.chance(20)
        return ComparisonSyntax(
            isTurned ? right : .path(path), comparison, isTurned ? .path(path) : right, ignoresCase: ignoresCase)
    }

    private mutating func constant(_ property: Property, _ schema: Schema) -> Value {
        if random.chance(15) { return .null }
        return element(PropertyType(property.type.element), schema)
    }

    private mutating func path(_ schema: Schema, _ classIndex: Int) -> (PathSyntax, Property) {
        var components: [PathSyntax.Component] = []
        var current = classIndex
        var isToMany = false
        while true {
            let property = random.pick(schema[current].properties)
            components.append(.init(.property(property.name)))
            isToMany = isToMany || property.type.isCollection
            if let target = property.type.targetClass, components.count < 4, random.chance(70) {
                current = schema.index(of: target) ?? 0
                continue
            }
            var leaf = property
            if property.type.isCollection || [.scalar(.string), .scalar(.data)].contains(property.type.element),
                random.chance(25)
            {
                components.append(.init(.operation("count")))
                leaf = Property("count", .scalar(.int))
            } else if property.type.container == .map, random.chance(40) {
                components.append(.init(.key(random.pick(["a", "b", "é"]))))
            }
            let quantifier: PathSyntax.Quantifier? =
                isToMany ? random.pick([nil, .any, .all, PathSyntax.Quantifier.none]) : nil
            return (PathSyntax(components, quantifier: quantifier), leaf)
        }
    }

    mutating func clauses(_ schema: Schema, _ classIndex: Int) -> [QuerySyntax.Clause] {
        var clauses: [QuerySyntax.Clause] = []
        let keys = (0..<random.pick([0, 1, 2])).map { _ in
            QuerySyntax.SortSyntax(path(schema, classIndex).0, isAscending: random.chance(50))
        }
        if !keys.isEmpty { clauses.append(.sort(keys)) }
        if random.chance(30) { clauses.append(.limit(random.pick([0, 1, 3, 100]))) }
        return clauses
    }
}
