import Testing

@testable import SluiceModel

struct SchemaMergeTests {
    static func schema(_ properties: [Property] = [], primaryKey: String? = "id") throws -> Schema {
        let id = Property("id", .scalar(.int))
        return try Schema([ClassSchema("Plane", primaryKey: primaryKey, properties: [id] + properties)])
    }

    @Test func aSchemaMergedWithItselfAddsNothing() throws {
        let before = try Self.schema([Property("seats", .scalar(.int))])
        var schema = before
        #expect(try schema.merge(before).isEmpty)
        #expect(schema == before)
    }

    @Test func newClassesAndPropertiesAreAppendedAndPositionsStay() throws {
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

    @Test func aDefaultStaysAsItWasFirstDeclared() throws {
        var schema = try Self.schema([Property("seats", .scalar(.int), default: .int(1))])
        #expect(try schema.merge(Self.schema([Property("seats", .scalar(.int), default: .int(2))])).isEmpty)
        #expect(schema[0].properties[1].defaultValue == .int(1))
    }

    @Test func aChangedTypeIsRefusedInWordsThatNameBothSidesAndNothingIsTaken() throws {
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
                == "Plane.seats is int in the server and string? in this client; a property may become optional, an int a double or decimal, and a float a double; for another type add a property of another name"
        )
        #expect(schema == before)
    }

    @Test func aChangedPrimaryKeyIsRefusedInWordsThatNameBothSidesAndNothingIsTaken() throws {
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

    @Test func aMergeBeyondTheLimitOfPropertiesIsRefusedAndNothingIsTaken() throws {
        func full(_ prefix: String) throws -> Schema {
            try Self.schema((1..<Schema.propertyCountMax).map { Property("\(prefix)\($0)", .scalar(.int)) })
        }
        let before = try full("a")
        var schema = before
        let error = try #require(throws: SchemaError.self) { try schema.merge(full("b")) }
        #expect(error.code == .limitExceeded)
        #expect(schema == before)
    }

    @Test func aMergeIsIdempotentAndItsTypesDoNotDependOnTheOrder() throws {
        let types = ScalarType.allCases.flatMap { type in
            [false, true].flatMap { isOptional in
                [PropertyType.Container.single, .list, .set, .map].map {
                    PropertyType(.scalar(type), container: $0, isOptional: isOptional)
                }
            }
        }
        for one in types {
            for other in types {
                let schemas = try [one, other].map { try Self.schema([Property("value", $0)]) }
                var forth = schemas[0]
                var back = schemas[1]
                let outcomes = (try? forth.merge(schemas[1]), try? back.merge(schemas[0]))
                #expect((outcomes.0 == nil) == (outcomes.1 == nil), "\(one) \(other)")
                guard outcomes.0 != nil else { continue }
                // The default stays as it was first declared.
                #expect(forth[0].properties.map(\.type) == back[0].properties.map(\.type), "\(one) \(other)")
                for schema in schemas { #expect(try forth.merge(schema).isEmpty) }
                var learnt = schemas[0]
                _ = try learnt.adopt(forth)
                #expect(learnt == forth)
                // A wider type takes every value of a narrower one.
                #expect(forth[0].properties[1].type.fitting(one.zero) != nil)
            }
        }
    }

    @Test func aRenameHappensOnceAndEveryNameGoesOn() throws {
        func version(_ name: String, was former: String...) throws -> Schema {
            try Self.schema([Property(name, .scalar(.int), was: former)])
        }
        var schema = try version("a")
        let changes = try schema.merge(version("b", was: "a"))
        #expect(changes.renames.map(\.name) == ["a"])
        try schema.merge(version("c", was: "a"))
        #expect(schema[0].properties.map(\.name) == ["id", "c"])
        for name in ["a", "b", "c"] { #expect(schema[0].index(of: name) == 1) }
        for other in [try version("a"), try version("b", was: "a"), try version("c", was: "a")] {
            #expect(try schema.merge(other).isEmpty)
        }
        var store = try version("b", was: "a")
        _ = try store.adopt(schema)
        #expect(store[0].properties[1].name == "c")
        #expect(try store.adopt(schema).isEmpty)
        #expect(store[0].index(of: "a") == 1 && store[0].index(of: "b") == 1)
    }

    @Test func aPropertyIsRenamedUntilItHasTooManyFormerNames() throws {
        var schema = try Self.schema([Property("a0", .scalar(.int))])
        for number in 1...Schema.formerNameCountMax {
            try schema.merge(Self.schema([Property("a\(number)", .scalar(.int), was: ["a\(number - 1)"])]))
        }
        let before = schema
        let next = try Self.schema([Property("b", .scalar(.int), was: ["a0"])])
        let error = #expect(throws: SchemaError.self) { try schema.merge(next) }
        #expect(error == SchemaError(.limitExceeded, "Plane.b has 17 former names; the limit is 16"))
        #expect(schema == before && schema[0].properties.count == 2)
    }

    @Test func aPrimaryKeyMayHaveAnotherNameAndNoOtherType() throws {
        var schema = try Self.schema()
        let renamed = try Schema([
            ClassSchema("Plane", primaryKey: "number", properties: [Property("number", .scalar(.int), was: ["id"])])
        ])
        try schema.merge(renamed)
        #expect(schema[0].primaryKey == "number" && schema[0].primaryKeyIndex == 0)
        #expect(try schema.merge(Self.schema()).isEmpty)
        let retyped = try Schema([
            ClassSchema("Plane", primaryKey: "id", properties: [Property("id", .scalar(.string))])
        ])
        #expect(throws: SchemaError.self) { try schema.merge(retyped) }
    }

    @Test func aServersPropertyOfAnotherTypeBeginsAnew() throws {
        var schema = try Self.schema([Property("value", .scalar(.date))])
        let changes = try schema.adopt(Self.schema([Property("value", .scalar(.double))]))
        #expect(changes.replacements.map(\.property) == [1])
        #expect(schema[0].properties[1].type == .scalar(.double))
    }
}
