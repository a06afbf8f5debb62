import FoundationEssentials
import SluiceModel
import SluiceStorage
import Testing

@testable import SluiceQuery

/// The meaning of conditions, in the evaluator and in SQL; see also ``NumberedRulesTests``.
struct SemanticsTests {
    @Test(
        "Comparisons follow the rules, in memory and in SQL",
        arguments: [
            // A null link makes its target's properties null; a link to an absent object is null.
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
            // Collections: ANY is the default quantifier, NONE is NOT ANY, ALL holds if there are no elements; ghosts
            // are skipped.
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
            // A number with a point is not an integer, and a date between two microseconds equals no stored date.
            ("price / 20.0 == 0.5", [1]), ("price / 20 == 0", [1]), ("price * 1.0 / 20 == 0.5", [1]),
            ("bought < T0:1", [1, 2, 3, 4]), ("bought >= T0:1", []), ("bought == T0:1", []),
            ("bought > T0:-1", [1, 2, 3, 4]),
            ("bought BETWEEN {T0:-1, T0:1}", [1, 2, 3, 4]), ("sizes.@keys.@count == 2", [1]),
            // Comparing a count with zero asks whether there are any.
            ("owners.@count > 0", [1, 2, 3]), ("NOT owners.@count >= 1", [4]), ("tags.@count != 0", [1]),
            ("owner.friends.@count < 1", [2, 3, 4]), ("owner.friends.@count > 0", [1]),
            ("SUBQUERY(owners, $x, $x.age > 35).@count > 0", [1, 3]),
            ("SUBQUERY(owners, $x, $x.age > 35).@count == 0", [2, 4]),
            ("owners.@links.@count == 0", []), ("owners.@avg.age > 30", [1, 3]), ("weight >= owners.@sum.age", [4]),
            ("isNew", [1]), ("NOT isNew", [2, 3, 4]), ("isNew OR price > 30", [1, 4]),
            ("isNew == true OR price > 30", [1, 4]), ("NOT (isNew == true OR price > 30)", [2, 3]),
        ] as [(String, [Int64])])
    func rule(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "Arithmetic, SUBQUERY, elements, two collections and @type mean one thing, in memory and in SQL",
        arguments: [
            // Arithmetic: precedence, parentheses, null, both sides.
            ("arithmetic", "price + 2 * 5 == 20", [1]), ("arithmetic", "(price + 2) * 5 == 60", [1]),
            ("arithmetic", "price - 5 - 5 == 0", [1]), ("arithmetic", "price - (5 - 5) == 10", [1]),
            ("arithmetic", "seats * 2 == price + 10", [1]), ("arithmetic", "seats + 1 == NULL", [3, 4]),
            ("arithmetic", "seats + 1 != 11", [2, 3, 4]), ("arithmetic", "price / 3 == 3", [1]),
            ("arithmetic", "price / 3.0 > 3.3", [1, 2, 3, 4]), ("arithmetic", "weight * 2 == 3", [1]),
            ("arithmetic", "price + NULL == NULL", [1, 2, 3, 4]), ("arithmetic", "100 - price < 75", [3, 4]),
            ("arithmetic", "price * 1000000000000000000 > 0", []), ("arithmetic", "ANY owners.age + 10 == 40", [1]),
            ("arithmetic", "ALL owners.age - price > 15", [1, 2, 4]),
            ("arithmetic", "price+1==11", [1]), ("arithmetic", "owner.age - 10 == price * 2", [1]),
            ("arithmetic", "(price) IN {10, 2 }", [1]), ("arithmetic", "price * 2 IN {20, 40}", [1, 2]),
            // SUBQUERY.
            ("subquery", "SUBQUERY(owners, $x, $x.age > 35).@count == 1", [1, 3]),
            ("subquery", "SUBQUERY(owners, $x, $x.age > 35 AND $x.home == NULL).@size > 0", [1, 3]),
            ("subquery", "SUBQUERY(owners, $x, $x == 'b').@count == owners.@count", [3, 4]),
            ("subquery", "SUBQUERY(owners, $x, $x.age - 20 == price).@count > 0", [1]),
            ("subquery", "SUBQUERY(owners, $x, SUBQUERY($x.friends, $y, $y.age > $x.age).@count > 0).@count == 1", [1]),
            ("subquery", "SUBQUERY(owners, $x, ANY $x.friends.age > 35).@count == 1", [1]),
            ("subquery", "SUBQUERY(owners.friends, $f, TRUEPREDICATE).@count == 1", [1]),
            ("subquery", "NOT SUBQUERY(owners, $x, $x.name == 'Ann').@count > 0", [2, 3, 4]),
            // Elements by position and key.
            ("element", "owners[0].age == 30", [1]), ("element", "owners[FIRST].age == 40", [3]),
            ("element", "owners[LAST].age == 40", [1, 3]), ("element", "owners[1] == 'b'", [1]),
            ("element", "owners[0] == NULL", [2, 4]), ("element", "tags[1] == 'y'", [1]),
            ("element", "tags[LAST] == 'y'", [1]),
            ("element", "tags[7] == NULL", [1, 2, 3, 4]), ("element", "owners[0].friends.@count == 1", [1]),
            ("element", "owners[SIZE] == 2", [1]), ("element", "owners[*].age == 30", [1]),
            // Two collections.
            ("any", "ANY owners.age > ANY owners.friends.age", []),
            ("any", "ANY owners.age == owners.friends.age", [1]), ("any", "owners.age == owners.friends.age", [2, 4]),
            ("any", "ALL owners.age <= ANY owners.friends.age", [1, 2, 4]),
            ("any", "ALL owners == ALL owners", [2, 3, 4]),
            ("any", "ANY owners.age >= ALL owners.age", [1, 3]),
            ("any", "ANY tags > ALL {'a', 'x'}", [1]), ("any", "ANY tags CONTAINS ALL {'x', 'y'}", []),
            ("any", "ALL tags CONTAINS ANY {'x', 'y'}", [1, 2, 3, 4]),
            // @type.
            ("type", "note.@type == 'string'", [1, 2]), ("type", "note.@type == 'null'", [3, 4]),
            ("type", "price.@type == 'numeric'", [1, 2, 3, 4]), ("type", "price.@type != 'int'", []),
        ] as [(String, String, [Int64])])
    func construct(name: String, condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "Links are followed backwards, in memory and in SQL",
        arguments: [
            ("@links.Car.owner.@count > 0", ["a", "b"]), ("@links.Car.owners.@count == 2", ["b"]),
            ("ANY @links.Car.owners.price > 25", ["b"]), ("ALL @links.Car.owners.price < 25", ["a"]),
            ("NONE @links.Car.owner.price == 10", ["b"]), ("@links.Car.owners.@sum.price == 40", ["b"]),
            ("@links.Car.owner.@max.weight == 1.5", ["a"]), ("@links.Person.friends == 'a'", ["b"]),
            ("@links.@count == 2", ["a"]), ("@links.@count == 4", ["b"]),
            ("SUBQUERY(@links.Car.owners, $c, $c.price > 25).@count == 1", ["b"]),
            ("@links.Person.friends.@links.Car.owner.price == 10", ["b"]),
            ("friends.@links.Car.owner.price == 30", ["a"]), ("home.@links.Car.garage.@count == 1", ["a"]),
            ("@links.Car.owner.price - 10 == 0", ["a"]), ("NOT @links.Person.friends.@count == 1", ["a"]),
        ] as [(String, [String])])
    func backlinks(condition: String, expected: [String]) throws {
        let world = try CarWorld.make()
        let query = try Query.parse(condition + " SORT(ssn ASC)", className: "Person", schema: Fixtures.schema)
        #expect(try Query.parse(query.canonicalText, schema: Fixtures.schema) == query)
        let keys = expected.map { ObjectKey.string($0) }
        #expect(try world.evaluate(query) == keys)
        let database = try world.database()
        let compiler = SQLCompiler(schema: Fixtures.schema)
        #expect(try world.keys(database.integers(compiler.select(query)), ofClass: 1) == keys)
        let restricted = compiler.select(query, restrictedTo: "1")
        #expect(try world.keys(database.integers(restricted), ofClass: 1) == keys)
    }

    @Test(
        "Results are sorted nulls first and NaN last, DESC the reverse, ties by object id",
        arguments: [
            ("SORT(weight ASC, id ASC)", [3, 1, 4, 2]), ("SORT(weight DESC, id ASC)", [2, 4, 1, 3]),
            ("SORT(owner.age DESC, id DESC)", [3, 1, 4, 2]), ("SORT(cost ASC, id ASC) LIMIT(3)", [2, 3, 4]),
            ("SORT(owner.home.label DESC, price DESC)", [1, 4, 3, 2]),
        ] as [(String, [Int64])])
    func sort(clauses: String, expected: [Int64]) throws {
        let world = try CarWorld.make()
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
        #expect(try !isJudgeable("Car WHERE SUBQUERY(owners, $x, $x.age > owner.age).@count > 0"))
        #expect(try !isJudgeable("Car WHERE price + owner.age > 5"))
        #expect(try isJudgeable("Car WHERE owners.@sum.age > 5"))
    }

    @Test func whatFollowsLinksBackwardsIsJudgedOnlyWhereEverythingIsHere() throws {
        let world = try CarWorld.make()
        let row = try #require(world.rows[ObjectRef(1, .string("a"))])
        func isJudgeable(_ text: String, trustsBacklinks: Bool) throws -> Bool {
            try Evaluator(Fixtures.query(text), schema: Fixtures.schema)
                .isJudgeable(row, in: world, trustsBacklinks: trustsBacklinks)
        }
        for condition in [
            "@links.@count > 0", "@links.Car.owner.price > 5", "friends.@links.Car.owners.@sum.price > 5",
            "SUBQUERY(friends, $f, ANY $f.@links.Car.owner.price > 5).@count > 0",
        ] {
            #expect(try !isJudgeable("Person WHERE \(condition)", trustsBacklinks: false))
            #expect(try isJudgeable("Person WHERE \(condition)", trustsBacklinks: true))
        }
    }

    @Test func scansPageByRowIDWithoutTheQuerysLimit() throws {
        let world = try CarWorld.make()
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
