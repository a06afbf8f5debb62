import SluiceModel
import TestSupport

@testable import SluiceQuery

/// Generates random schemas, and objects of them.
struct WorldGenerator {
    /// Generates the values of objects, and goes on for what is made after them.
    private(set) var generator: ValueGenerator
    private var random: SeededGenerator {
        get { generator.random }
        set { generator.random = newValue }
    }
    private let classNames = ["A", "B", "C"]

    init(seed: UInt64) { generator = ValueGenerator(random: SeededGenerator(seed: seed)) }

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
                    values[property.name] = generator.value(of: property, schema)
                }
                try world.insert(declared.name, generator.key(number, of: declared), values)
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
                values[property.name] = isHidden ? generator.value(of: property, world.schema) : row.values[position]
            }
            try changed.insert(declared.name, object.key, values)
        }
        return changed
    }
}
