import FoundationEssentials
import SluiceModel

@testable import SluiceQuery

enum Fixtures {
    static let schema: Schema = {
        do { return try makeSchema() } catch { preconditionFailure("the fixture's schema is wrong: \(error)") }
    }()

    private static func makeSchema() throws -> Schema {
        try Schema([
            ClassSchema(
                "Car", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("name", .scalar(.string)), Property("price", .scalar(.int)),
                    Property("weight", .scalar(.double, isOptional: true)), Property("ratio", .scalar(.float)),
                    Property("isNew", .scalar(.bool)), Property("note", .scalar(.string, isOptional: true)),
                    Property("bought", .scalar(.date)), Property("serial", .scalar(.uuid)),
                    Property("owner", .link("Person")), Property("garage", .link("Garage")),
                    Property("owners", .links("Person")), Property("cost", .scalar(.decimal)),
                    Property("data", .scalar(.data)), Property("token", .scalar(.objectID)),
                    Property("seats", .scalar(.int, isOptional: true)),
                    Property("tags", PropertyType(.scalar(.string), container: .list)),
                    Property("scores", PropertyType(.scalar(.int), container: .set, isOptional: true)),
                    Property("sizes", PropertyType(.scalar(.double), container: .map)),
                    Property("any", .scalar(.int)), Property("contains", .scalar(.string)),
                ]),
            ClassSchema(
                "Person", primaryKey: "ssn",
                properties: [
                    Property("ssn", .scalar(.string)), Property("name", .scalar(.string, isOptional: true)),
                    Property("age", .scalar(.int)), Property("friends", .links("Person")),
                    Property("home", .link("Garage")),
                ]),
            ClassSchema("Garage", properties: [Property("label", .scalar(.string)), Property("doors", .scalar(.int))]),
        ])
    }

    static func query(_ text: String, _ arguments: [Value] = []) throws -> Query {
        try Query.parse(text, arguments: arguments, schema: schema)
    }

    /// The canonical text of a condition on cars.
    static func canonical(_ condition: String, _ arguments: [Value] = []) throws -> String {
        let text = try Query.parse(condition, className: "Car", arguments: arguments, schema: schema).canonicalText
        return String(text.dropFirst(text.hasPrefix("Car WHERE ") ? 10 : 0))
    }
}
