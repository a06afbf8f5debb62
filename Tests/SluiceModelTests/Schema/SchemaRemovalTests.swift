import SluiceModel
import Testing

struct SchemaRemovalTests {
    private func schema() throws -> Schema {
        try Schema([
            ClassSchema("Car", properties: [Property("name", .scalar(.string)), Property("price", .scalar(.date))]),
            ClassSchema("Dealer", primaryKey: "code", properties: [Property("code", .scalar(.int))]),
        ])
    }

    @Test func aRemovedPropertyKeepsItsPlaceAndFreesItsName() throws {
        var schema = try schema()
        schema.retire(property: 1, ofClass: 0)
        #expect(schema[0].index(of: "price") == nil)
        #expect(schema[0].index(of: "1") == nil)
        #expect(schema[0].propertyNames == ["name"])
        let other = try Schema([ClassSchema("Car", properties: [Property("price", .scalar(.double))])])
        let additions = try schema.merge(other)
        #expect(additions.properties.map(\.property) == [2])
        #expect(schema[0].property(named: "price")?.type == .scalar(.double))
        #expect(schema[0].defaultValues(for: .id(ObjectID(high: 1, low: 1))) == [.string(""), .null, .double(0)])
    }

    @Test func aRemovedClassKeepsItsPlaceAndFreesItsName() throws {
        var schema = try schema()
        schema.retire(class: 0)
        #expect(schema.index(of: "Car") == nil && schema.index(of: "0") == nil)
        #expect(schema.classNames == ["Dealer"] && schema.index(of: "Dealer") == 1)
        let other = try Schema([ClassSchema("Car", primaryKey: "id", properties: [Property("id", .scalar(.int))])])
        #expect(try schema.merge(other).classes == [2])
        #expect(schema[2].primaryKey == "id")
    }

    @Test func whatAnotherSchemaRemovedIsNotTakenIn() throws {
        var removed = try schema()
        removed.retire(property: 1, ofClass: 0)
        removed.retire(class: 1)
        var schema = Schema()
        _ = try schema.merge(removed)
        #expect(try schema == Schema([ClassSchema("Car", properties: [Property("name", .scalar(.string))])]))
    }

    @Test(arguments: ["0", "1", "7"]) func aPlaceCannotBeDeclared(name: String) throws {
        #expect(throws: SchemaError.self) { try ClassSchema(name, properties: []) }
        #expect(throws: SchemaError.self) {
            try ClassSchema("Car", properties: [Property(name, .scalar(.bool, isOptional: true))])
        }
    }
}
