import SluiceModel
import Testing

@testable import SluiceQuery

/// Conditions meet a schema that grows.
@Suite struct ReadContextTests {
    private static let condition = "User WHERE @links.Dealer.staff.show.k0.price > 3"

    private static func schema(_ names: Set<String>, price: Bool = true) throws -> Schema {
        let classes = try [
            ClassSchema("User", primaryKey: "name", properties: [Property("name", .scalar(.string))]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [
                    Property("code", .scalar(.string)), Property("staff", PropertyType(.link("User"), container: .set)),
                    Property("show", PropertyType(.link("Car"), container: .map)),
                ]),
            ClassSchema(
                "Car", primaryKey: "number",
                properties: [Property("number", .scalar(.int))] + (price ? [Property("price", .scalar(.int))] : [])),
        ]
        return try Schema(classes.filter { names.contains($0.name) })
    }

    @Test func nothingIsReadableOfAClassWhoseConditionNamesWhatTheSchemaLacks() throws {
        let closed = [try Self.schema(["User"]), try Self.schema(["User", "Dealer", "Car"], price: false)]
        for schema in closed {
            let context = try ReadContext([Self.condition], schema: schema)
            let user = try #require(schema.index(of: "User"))
            #expect(context.condition(ofClass: user)?.description == "User WHERE FALSEPREDICATE")
            let grown = try Self.schema(["User", "Dealer", "Car"])
            let whole = try context.rebound(to: grown)
            #expect(whole.condition(ofClass: user) == (try Query.parse(Self.condition, schema: grown)))
            #expect(whole.id == context.id)
        }
    }

    @Test func aConditionOnAClassThatIsNotKnownWaits() throws {
        let context = try ReadContext([Self.condition], schema: Self.schema(["Car"]))
        #expect(context.classes.isEmpty && !context.isEverything)
    }

    @Test func aConditionThatNoSchemaMendsIsRefused() throws {
        let schema = try Self.schema(["User"])
        #expect(throws: QueryError.self) { try ReadContext(["User WHERE name =="], schema: schema) }
        #expect(throws: QueryError.self) { try ReadContext(["User SORT(name ASC)"], schema: schema) }
    }
}
