import SluiceModel
import Testing

struct SchemaMergeTests {
    static func schema(_ properties: [Property] = [], primaryKey: String? = "id") throws -> Schema {
        let id = Property("id", .scalar(.int))
        return try Schema([ClassSchema("Plane", primaryKey: primaryKey, properties: [id] + properties)])
    }

    @Test func `a schema merged with itself adds nothing`() throws {
        let before = try Self.schema([Property("seats", .scalar(.int))])
        var schema = before
        #expect(try schema.merge(before).isEmpty)
        #expect(schema == before)
    }

    @Test func `new classes and properties are appended and positions stay`() throws {
        var schema = try Self.schema([Property("seats", .scalar(.int))])
        let user = try ClassSchema("User", properties: [Property("name", .scalar(.string))])
        let plane = try ClassSchema(
            "Plane", primaryKey: "id",
            properties: [
                Property("owner", .link("User")), Property("id", .scalar(.int)),
                Property("seats", .scalar(.int), isIndexed: true),
            ])
        let additions = try schema.merge(Schema([user, plane]))
        #expect(additions.classes == [1])
        #expect(additions.properties.map { [$0.classIndex, $0.property] } == [[0, 2]])
        #expect(additions.indexes.map { [$0.classIndex, $0.property] } == [[0, 1]])
        #expect(schema.classes.map(\.name) == ["Plane", "User"])
        #expect(schema[0].properties.map(\.name) == ["id", "seats", "owner"])
        #expect(schema[0].properties[1].isIndexed)
    }

    @Test func `a default stays as it was first declared`() throws {
        var schema = try Self.schema([Property("seats", .scalar(.int), default: .int(1))])
        #expect(try schema.merge(Self.schema([Property("seats", .scalar(.int), default: .int(2))])).isEmpty)
        #expect(schema[0].properties[1].defaultValue == .int(1))
    }

    @Test func `a changed type is refused in words that name both sides, and nothing is taken`() throws {
        let before = try Self.schema([Property("seats", .scalar(.int))])
        var schema = before
        let other = try Self.schema([
            Property("wings", .scalar(.int)), Property("seats", .scalar(.string, isOptional: true)),
        ])
        let error = #expect(throws: SchemaError.self) {
            try schema.merge(other, sides: ("the server", "this client"))
        }
        #expect(error?.code == .incompatible)
        #expect(
            error?.message
                == "Plane.seats is int in the server and string? in this client; a property's type cannot change: add a property of another name"
        )
        #expect(schema == before)
    }

    @Test func `a changed primary key is refused in words that name both sides, and nothing is taken`() throws {
        let before = try Self.schema()
        var schema = before
        let other = try Self.schema([Property("wings", .scalar(.int))], primaryKey: nil)
        let error = #expect(throws: SchemaError.self) { try schema.merge(other) }
        #expect(error?.code == .incompatible)
        #expect(
            error?.message
                == "Plane has the primary key 'id' in the store and no primary key in the model; how objects are identified cannot change: use a class of another name"
        )
        #expect(schema == before)
    }

    @Test func `a merge beyond the limit of properties is refused and nothing is taken`() throws {
        func full(_ prefix: String) throws -> Schema {
            try Self.schema((1..<Schema.propertyCountMax).map { Property("\(prefix)\($0)", .scalar(.int)) })
        }
        let before = try full("a")
        var schema = before
        let error = try #require(throws: SchemaError.self) { try schema.merge(full("b")) }
        #expect(error.code == .limitExceeded)
        #expect(schema == before)
    }
}
