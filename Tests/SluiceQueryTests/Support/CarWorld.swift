import FoundationEssentials
import SluiceModel
import SluiceStorage
import Testing

@testable import SluiceQuery

/// A few cars with their owners and garages, on which conditions are tested.
enum CarWorld {
    /// Makes cars 1 to 4 of the fixture's schema. Links name person `gone` and garage 9, which are absent.
    static func make() throws -> TestWorld {
        let world = TestWorld(Fixtures.schema)
        func garage(_ number: UInt64) -> ObjectKey { .id(ObjectID(high: 7, low: number)) }
        try world.insert("Garage", garage(1), ["label": .string("north"), "doors": .int(2)])
        try world.insert("Garage", garage(2), ["label": .string("south"), "doors": .int(0)])
        try world.insert(
            "Person", .string("a"),
            [
                "name": .string("Ann"), "age": .int(30), "home": .link(garage(1)),
                "friends": .list([.link(.string("b"))]),
            ])
        try world.insert("Person", .string("b"), ["age": .int(40), "home": .link(garage(9))])
        try world.insert(
            "Car", .int(1),
            [
                "name": .string("Äpfel"), "price": .int(10), "weight": .double(1.5), "owner": .link(.string("a")),
                "garage": .link(garage(1)), "owners": .list([.link(.string("a")), .link(.string("b"))]),
                "tags": .list([.string("x"), .string("y")]), "scores": .set([.null, .int(1)]), "isNew": .bool(true),
                "sizes": .map(ValueMap([("left", .double(2)), ("right", .double(.nan))])), "note": .string("Äpfel"),
                "seats": .int(10), "data": .data([1, 2, 3]), "cost": .decimal(1.25),
            ])
        try world.insert(
            "Car", .int(2),
            [
                "name": .string("äpfelmus"), "price": .int(20), "weight": .double(.nan),
                "owner": .link(.string("gone")),
                "garage": .link(garage(9)), "owners": .list([.link(.string("gone"))]), "note": .string(""),
                "seats": .int(5), "cost": .decimal(-3),
            ])
        try world.insert(
            "Car", .int(3),
            [
                "name": .string("birne"), "price": .int(30), "owner": .link(.string("b")),
                "owners": .list([.link(.string("b"))]),
            ])
        try world.insert("Car", .int(4), ["name": .string("b*rn?"), "price": .int(40), "weight": .double(.infinity)])
        return world
    }

    /// Expects a condition to find these cars, in memory and in SQL.
    static func expect(
        _ condition: String, finds expected: [Int64]
    ) throws {
        let world = try make()
        let query = try Query.parse(condition + " SORT(id ASC)", className: "Car", schema: Fixtures.schema)
        let keys = expected.map { ObjectKey.int($0) }
        #expect(try world.evaluate(query) == keys)
        let database = try world.database()
        let compiler = SQLCompiler(schema: Fixtures.schema)
        #expect(try world.keys(database.integers(compiler.select(query)), ofClass: 0) == keys)
        let restricted = compiler.select(query, restrictedTo: "o._row > \(.integer(0))")
        #expect(try world.keys(database.integers(restricted), ofClass: 0) == keys)
        #expect(try database.integers(compiler.select(query, .count)) == [Int64(keys.count)])
    }

    /// Expects a condition on cars to be rejected as a mismatch of types.
    static func expect(_ condition: String, isRefusedAt position: Int, saying message: String) {
        let error = #expect(throws: QueryError.self) { try Fixtures.query("Car WHERE " + condition) }
        #expect(error?.code == .typeMismatch)
        #expect(error?.position == position)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}
