import FoundationEssentials
import SluiceModel
import Testing

@testable import SluiceQuery

/// One test for each rule of comparison, run through the evaluator and through SQL.
struct SemanticsTests {
    /// Cars 1 to 4 of the fixture's schema; person `gone` and garage 9 are named by links and are not here.
    private static func world() throws -> TestWorld {
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

    @Test(
        "Comparisons follow the rules, in memory and in SQL",
        arguments: [
            // A null link makes its target's properties null; a link to what is not here is null.
            ("owner == NULL", [2, 4]), ("owner != NULL", [1, 3]), ("owner.name == NULL", [2, 3, 4]),
            ("owner.name != NULL", [1]), ("owner.ssn == 'gone'", []), ("owner == 'gone'", []), ("owner == 'a'", [1]),
            ("owner != 'a'", [2, 3, 4]), ("owner IN {'a', 'b', NULL}", [1, 2, 3, 4]),
            ("NOT owner IN {'a', 'b'}", [2, 4]),
            ("owner.ssn == 'a'", [1]), ("owner.ssn != 'a'", [2, 3, 4]), ("owner.home.doors == 2", [1]),
            ("owner.home.label == NULL", [2, 3, 4]), ("owner.home == NULL", [2, 3, 4]), ("owner.age < 35", [1]),
            ("NOT owner.age < 35", [2, 3, 4]), ("owner.age >= 35", [3]), ("owner.@count == 1", [1, 3]),
            ("garage == oid(00000000000000070000000000000001)", [1]),
            ("garage != oid(00000000000000070000000000000001)", [2, 3, 4]),
            ("garage IN {oid(00000000000000070000000000000001), oid(00000000000000070000000000000009)}", [1]),
            // Collections: ANY without a quantifier, NONE is NOT ANY, ALL is true of none; ghosts are skipped.
            ("owners.age > 35", [1, 3]), ("ALL owners.age > 35", [2, 3, 4]), ("NONE owners.age > 35", [2, 4]),
            ("owners.name == NULL", [1, 3]), ("ALL owners.name == NULL", [2, 3, 4]), ("owners == 'b'", [1, 3]),
            ("owners != 'b'", [1]), ("ALL owners == 'b'", [2, 3, 4]), ("'a' IN owners", [1]),
            ("owner IN owners", [1, 3]),
            ("owners.@count == 1", [2, 3]), ("owners.@count == 0", [4]), ("owner.friends.@count == 0", [2, 3, 4]),
            ("owners.friends.age == 40", [1]), ("owners.home.label == NULL", [1, 3]), ("tags == 'x'", [1]),
            ("ALL tags != 'x'", [2, 3, 4]), ("tags.@count == 2", [1]), ("ANY scores == NULL", [1]),
            ("ANY scores > 0", [1]),
            ("ANY scores != 5", [1]), ("ALL scores == 1", [2, 3, 4]), ("NONE scores == 1", [2, 3, 4]),
            ("sizes['left'] == 2", [1]), ("sizes.right == NULL", [2, 3, 4]), ("ANY sizes != nan", [1]),
            ("sizes.@keys == 'left'", [1]), ("ANY sizes > 1", [1]), ("ALL sizes > 1", [2, 3, 4]),
            // Null and NaN: two truth values only.
            ("weight == NULL", [3]), ("weight < 5", [1]), ("weight > 1", [1, 4]), ("NOT weight > 1", [2, 3]),
            ("weight != 1.5", [2, 3, 4]), ("weight == nan", []), ("weight != nan", [1, 2, 3, 4]),
            ("weight <= inf", [1, 4]),
            ("weight >= inf", [4]), ("seats == price", [1]), ("seats != price", [2, 3, 4]), ("seats <= price", [1, 2]),
            ("seats < price", [2]), ("NOT seats <= price", [3, 4]), ("weight < price", [1]), ("weight > price", [4]),
            ("weight == weight", [1, 3, 4]), ("weight != weight", [2]), ("seats <= weight", [3]),
            ("note == name", [1]), ("note == owner.name", [3, 4]), ("cost > -3", [1, 3, 4]), ("cost == 1.25", [1]),
            // IN, BETWEEN and lists.
            ("price BETWEEN {10, 20}", [1, 2]), ("price BETWEEN {20, 10}", []), ("price IN {20, 40}", [2, 4]),
            ("seats IN {5, NULL}", [2, 3, 4]), ("NOT seats IN {5}", [1, 3, 4]), ("price != {10, 20}", [1, 2, 3, 4]),
            ("price < 20.5", [1, 2]), ("price == 1e1", [1]), ("weight IN {1.5, nan}", [1]),
            // Text.
            ("note CONTAINS NULL", [1, 2, 3, 4]), ("note LIKE NULL", [3, 4]), ("note BEGINSWITH ''", [1, 2]),
            ("NULL CONTAINS note", []), ("name CONTAINS note", [1, 2, 3, 4]), ("note CONTAINS name", [1]),
            ("'Äpfelkuchen' BEGINSWITH note", [1, 2, 3, 4]), ("note ENDSWITH owner.name", [2, 3, 4]),
            ("name BEGINSWITH 'Ä'", [1]), ("name BEGINSWITH[c] 'Ä'", [1, 2]), ("name CONTAINS[c] 'PFEL'", [1, 2]),
            ("name ==[c] 'ÄPFEL'", [1]), ("name !=[c] 'ÄPFEL'", [2, 3, 4]), ("name IN[c] {'ÄPFEL', 'BIRNE'}", [1, 3]),
            ("name ENDSWITH 'l'", [1]), ("name ENDSWITH[c] 'MUS'", [2]), ("name LIKE '?pfel'", [1]),
            ("name LIKE 'b?rn?'", [3, 4]), ("name LIKE[c] 'B*N?'", [3, 4]), ("name LIKE '*f?l*'", [1, 2]),
            ("name < 'b'", []), ("name >= 'birne'", [1, 2, 3]), ("name.@count == 6", [1]),
            ("data CONTAINS B64'AgM='", [1]),
            ("data BEGINSWITH B64'AQI='", [1]), ("data ENDSWITH B64'Aw=='", [1]), ("data.@count == 3", [1]),
            ("isNew == true OR price > 30", [1, 4]), ("NOT (isNew == true OR price > 30)", [2, 3]),
        ] as [(String, [Int64])])
    func rule(condition: String, expected: [Int64]) throws {
        let world = try Self.world()
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

    @Test(
        "Results are sorted nulls first and NaN last, DESC the reverse, ties by object id",
        arguments: [
            ("SORT(weight ASC, id ASC)", [3, 1, 4, 2]), ("SORT(weight DESC, id ASC)", [2, 4, 1, 3]),
            ("SORT(owner.age DESC, id DESC)", [3, 1, 4, 2]), ("SORT(cost ASC, id ASC) LIMIT(3)", [2, 3, 4]),
            ("SORT(owner.home.label DESC, price DESC)", [1, 4, 3, 2]),
        ] as [(String, [Int64])])
    func sort(clauses: String, expected: [Int64]) throws {
        let world = try Self.world()
        let query = try Query.parse(clauses, className: "Car", schema: Fixtures.schema)
        let keys = expected.map { ObjectKey.int($0) }
        #expect(try world.evaluate(query) == keys)
        let statement = SQLCompiler(schema: Fixtures.schema).select(query)
        #expect(try world.keys(world.database().integers(statement), ofClass: 0) == keys)
    }

    @Test func aPathWhoseDataIsNotHereIsNotJudged() throws {
        let world = TestWorld(Fixtures.schema)
        try world.insert("Person", .string("a"), absent: ["age"])
        try world.insert("Car", .int(1), ["owner": .link(.string("a"))], absent: ["note"])
        let row = try #require(world.rows[ObjectRef(0, .int(1))])
        func isJudgeable(_ text: String) throws -> Bool {
            try Evaluator(Fixtures.query(text), schema: Fixtures.schema).isJudgeable(row, in: world)
        }
        #expect(try isJudgeable("Car WHERE price > 1 AND owner.name == 'x' AND owner.ssn == 'a'"))
        #expect(try !isJudgeable("Car WHERE note == 'a'"))
        #expect(try !isJudgeable("Car WHERE price > 1 OR owner.age > 5"))
        #expect(try !isJudgeable("Car SORT(owner.age ASC)"))
        #expect(try isJudgeable("Car WHERE garage.doors > 1"))
    }

    @Test func scansPageByRowIDWithoutTheQuerysLimit() throws {
        let world = try Self.world()
        let database = try world.database()
        let query = try Fixtures.query("Car WHERE price > 10 SORT(price DESC) LIMIT(1)")
        let compiler = SQLCompiler(schema: Fixtures.schema)
        var after: Int64 = 0
        var found: [Int64] = []
        for _ in 0..<10 {
            let page = try database.integers(compiler.select(query, order: .row(after: after), limit: 2))
            found += page
            guard let last = page.last else { break }
            after = last
        }
        #expect(found == found.sorted() && found.count == 3)
        #expect(try database.integers(compiler.select(query, .count)) == [1])
        let prices = compiler.select(query, .columns(["o.\"p_price\""]))
        #expect(try database.integers(prices) == [40])
    }
}
