import SluiceModel
import SluiceQuery

/// Classes with every kind of link: to the own class, in cycles, to-one, in lists, sets and maps, with and without a
/// primary key.
enum TestSchema {
    static let user = 0
    static let car = 1
    static let dealer = 2
    static let flight = 3
    static let plane = 4
    static let airport = 5

    static let schema: Schema = {
        do {
            return try Schema([
                ClassSchema(
                    "User", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("name", .scalar(.string)),
                        Property("age", .scalar(.int)), Property("friends", .links("User")),
                        Property("best", .link("User")), Property("since", .scalar(.date, isOptional: true)),
                    ]),
                ClassSchema(
                    "Car",
                    properties: [
                        Property("name", .scalar(.string)), Property("price", .scalar(.double, isOptional: true)),
                        Property("owners", .links("User")), Property("dealer", .link("Dealer")),
                    ]),
                ClassSchema(
                    "Dealer", primaryKey: "code",
                    properties: [
                        Property("code", .scalar(.string)), Property("city", .scalar(.string)),
                        Property("staff", PropertyType(.link("User"), container: .set)),
                        Property("show", PropertyType(.link("Car"), container: .map)),
                    ]),
                ClassSchema(
                    "Flight",
                    properties: [
                        Property("delay", .scalar(.int, isOptional: true)), Property("carrier", .scalar(.string)),
                        Property("origin", .link("Airport")), Property("plane", .link("Plane")),
                        Property("due", .scalar(.date)),
                    ]),
                ClassSchema(
                    "Plane", primaryKey: "tail",
                    properties: [Property("tail", .scalar(.string)), Property("seats", .scalar(.int))]),
                ClassSchema(
                    "Airport", primaryKey: "faa",
                    properties: [
                        Property("faa", .scalar(.string)), Property("name", .scalar(.string)),
                        Property("hub", .link("Airport")),
                    ]),
            ])
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// The `number`-th key of a class.
    static func key(_ number: Int, ofClass classIndex: Int) -> ObjectKey {
        switch classIndex {
        case user: .int(Int64(number))
        case car, flight: .id(ObjectID(high: 7 + UInt64(classIndex), low: UInt64(number)))
        default: .string("\(schema[classIndex].name.prefix(1))\(number)")
        }
    }

    static func object(_ number: Int, ofClass classIndex: Int) -> ObjectRef {
        ObjectRef(classIndex, key(number, ofClass: classIndex))
    }

    /// A row with the given values, and defaults for the other properties.
    static func row(_ object: ObjectRef, _ values: [String: Value] = [:]) -> Row {
        let declared = schema[object.classIndex]
        var row = Row(key: object.key, version: 1, values: declared.defaultValues(for: object.key))
        for (name, value) in values { row.values[declared.index(of: name)!] = value }
        return row
    }

    static func query(_ text: String) throws -> Query { try Query.parse(text, schema: schema) }
}
