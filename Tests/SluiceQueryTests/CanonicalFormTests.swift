import SluiceModel
import Testing

@testable import SluiceQuery

struct CanonicalFormTests {
    @Test(
        "Every kind of literal is read, alone and in a list",
        arguments: [
            ("price", "0xFF", "255"), ("price", "-0x10", "-16"), ("price", "+3", "3"), ("price", "-12", "-12"),
            ("weight", "10.", "10"), ("weight", "-.5", "-0.5"), ("weight", "1e3", "1000"), ("weight", "2.5f", "2.5"),
            ("weight", "inf", "inf"), ("weight", "-infinity", "-inf"), ("weight", "+INF", "inf"),
            ("isNew", "TRUE", "true"), ("isNew", "false", "false"), ("note", "nil", "NULL"),
            ("note", "'it\\'s'", "\"it's\""), ("note", "\"\\u00e4\\t\\/\\b\"", "\"ä\\t/\\u0008\""),
            ("bought", "T1359626400:500000000", "2013-01-31T10:00:00.500Z"),
            ("bought", "2013-01-31@10:00:00", "2013-01-31T10:00:00Z"),
            ("bought", "2013-1-31T10:00:00:500000000", "2013-01-31T10:00:00.500Z"),
            ("bought", "2013-01-31T12:00:00+02:00", "2013-01-31T10:00:00Z"),
            (
                "serial", "uuid(6BA7B810-9DAD-11D1-80B4-00C04FD430C8)",
                "uuid(6ba7b810-9dad-11d1-80b4-00c04fd430c8)"
            ),
            (
                "token", "oid(0123456789ABCDEF0123456789ABCDEF)", "oid(0123456789abcdef0123456789abcdef)"
            ),
            ("data", "B64'AQI='", "B64\"AQI=\""), ("data", "binary('ab')", "B64\"YWI=\""),
            ("data", "bin(B64\"YWI=\")", "B64\"YWI=\""), ("cost", "0.10", "0.1"),
            ("owner", "obj('Person', 'x')", "\"x\""),
        ])
    func literal(property: String, literal: String, canonical: String) throws {
        let expected = literal == "false" || literal == "TRUE" ? "isNew == \(canonical)" : "\(property) == \(canonical)"
        #expect(try Fixtures.canonical("\(property) == \(literal)") == expected)
        #expect(try Fixtures.canonical("\(property) IN {\(literal), \(literal)}") == expected)
    }

    @Test(
        "The text of a form for logs has no constants",
        arguments: [
            ("note == 'secret' AND price > 70", "Car WHERE note == $1 AND price > $2"),
            (
                "owner.name == 'a \\'b\\' \"c\\\\' SORT(price ASC) LIMIT(5)",
                "Car WHERE owner.name == $1 SORT(price ASC) LIMIT(5)"
            ),
        ])
    func textForLogs(condition: String, text: String) throws {
        #expect(try Fixtures.query("Car WHERE " + condition).form.text == text)
    }

    @Test func textForLogsHidesTheConstantsOfSubqueries() throws {
        let condition = #"Car WHERE SUBQUERY(owners, $x, $x.name == 'a "quoted" \\').@count > 0 AND note == 'x'"#
        let text = try Fixtures.query(condition).form.text
        #expect(text.contains(".name == $") && text.contains("note == $"), "\(text)")
        #expect(!text.contains("quoted"), "\(text)")
    }

    @Test(
        "Queries that differ in constants share a form, and have the constants in their places",
        arguments: [
            ("note == 'a' AND price > 1", "note == 'b' AND price > 2"),
            (
                "SUBQUERY(owners, $x, $x.age > 5 AND $x.name == 'a').@count > 1 AND price > 7",
                "SUBQUERY(owners, $x, $x.age > 6 AND $x.name == 'b').@count > 2 AND price > 8"
            ),
            (
                "2 < SUBQUERY(owners, $x, $x.age IN {1, 2}).@count + SUBQUERY(owners, $y, $y.age > 4).@count",
                "3 < SUBQUERY(owners, $x, $x.age IN {7, 8, 9}).@count + SUBQUERY(owners, $y, $y.age > 5).@count"
            ),
            (
                "SUBQUERY(owners, $x, SUBQUERY($x.friends, $y, $y.age > 3 AND $y.age > $x.age).@count > 1).@count > 0",
                "SUBQUERY(owners, $x, SUBQUERY($x.friends, $y, $y.age > 4 AND $y.age > $x.age).@count > 2).@count > 1"
            ),
            (
                "price < SUBQUERY(owners, $x, $x.age > 5).@count AND seats == 1",
                "price < SUBQUERY(owners, $x, $x.age > 6).@count AND seats == 2"
            ),
        ])
    func formsAreShared(first: String, second: String) throws {
        let (first, second) = (try Fixtures.query("Car WHERE " + first), try Fixtures.query("Car WHERE " + second))
        #expect(first.form.key == second.form.key && first.hash != second.hash)
        let moved = second.sharing(first.form)
        #expect(moved.canonicalText == second.canonicalText && moved == second)
        #expect(CanonicalText.predicate(moved.predicate) == CanonicalText.predicate(second.predicate))
        #expect(moved.predicate.constants == second.constants)
        // Equal paths are found by their texts.
        var paths: (moved: [Query.Path], own: [Query.Path]) = ([], [])
        moved.predicate.forEachComparison { paths.moved += $0.paths }
        second.predicate.forEachComparison { paths.own += $0.paths }
        #expect(paths.moved == paths.own)
    }

    @Test(
        "Spellings of one condition have one canonical text",
        arguments: [
            (["price < 9000", "9000 > price", "price<9000", "( price < 9000 )", "price < 0x2328"], "price < 9000"),
            (["price <= 8999", "price < 8999.5", "price =< 8999", "8999 => price"], "price <= 8999"),
            (
                ["price == 5", "price = 5.0", "5 == price", "price IN {5}", "price in {5, 5}", "price == {5}"],
                "price == 5"
            ),
            (["price == 5.5", "price > 1e30", "price == {}", "price < nil", "FALSEPREDICATE"], "FALSEPREDICATE"),
            (["price != 5.5", "price < 1e30", "price != NULL", "price != {1, 2}", "TRUEPREDICATE"], "Car"),
            (["price != 5", "price <> 5", "NOT price == 5", "!(price = 5)", "NOT NOT price != 5"], "price != 5"),
            (["NOT price < 5", "price >= 5", "5 <= price"], "price >= 5"),
            (["NOT weight < 5", "!(weight < 5.0)"], "NOT weight < 5"),
            (["NOT seats < 5"], "NOT seats < 5"),
            (
                ["price BETWEEN {1, 5}", "price >= 1 AND price <= 5", "price <= 5 && price >= 1"],
                "price <= 5 AND price >= 1"
            ),
            (["price BETWEEN {5, 1}"], "FALSEPREDICATE"),
            (
                ["price IN {3, 1, 2, 1}", "price == 1 OR price == 2 OR price == 3", "price IN {1} || price IN {2, 3}"],
                "price IN {1, 2, 3}"
            ),
            (["NOT price IN {2, 1}", "price != 1 AND price != 2"], "NOT price IN {1, 2}"),
            (["note IN {NULL, 'a'}", "note == 'a' OR note == nil"], "note == \"a\" OR note == NULL"),
            (["isNew", "(isNew)", "NOT NOT isNew", "isNew AND isNew", "!(!isNew)"], "isNew == true"),
            (["NOT isNew", "!isNew", "isNew == false"], "isNew == false"),
            (["isNew OR price > 5", "price > 5 || (isNew)"], "isNew == true OR price > 5"),
            (["isNew == true", "isNew != false", "NOT isNew == FALSE", "isNew == TRUE"], "isNew == true"),
            (["name ==[c] 'ÄB'", "name ==[c] \"äb\""], "name ==[c] \"äb\""),
            (["name LIKE 'ab'", "name == 'ab'"], "name == \"ab\""),
            (["name LIKE 'ab*'", "name BEGINSWITH 'ab'", "name LIKE 'ab***'"], "name BEGINSWITH \"ab\""),
            (["name LIKE '*ab*'", "name contains 'ab'"], "name CONTAINS \"ab\""),
            (["name LIKE '*b'", "name EndsWith 'b'"], "name ENDSWITH \"b\""),
            (["name LIKE 'a?b*'"], "name LIKE \"a?b*\""),
            (["note CONTAINS ''", "note LIKE '*'", "note != NULL"], "note != NULL"),
            (["name CONTAINS ''", "name CONTAINS NULL"], "Car"),
            (["weight == nan", "weight < nan"], "FALSEPREDICATE"),
            (["weight != NaN"], "Car"),
            (["weight <= inf", "weight <= INFINITY"], "weight <= inf"),
            (["weight > -inf"], "weight > -inf"),
            (["ratio == 0.1", "ratio == .1f"], "ratio == 0.1"),
            (["weight == 1e3", "weight == 1000"], "weight == 1000"),
            (["cost == 0.10", "cost == 0.1"], "cost == 0.1"),
            (
                ["ANY tags == 'a'", "SOME tags == 'a'", "tags == 'a'", "'a' IN tags", "any tags IN {'a'}"],
                "ANY tags == \"a\""
            ),
            (["NONE tags == 'a'", "NOT ANY tags == 'a'", "ALL tags != 'a'"], "ALL tags != \"a\""),
            (["NOT ALL tags == 'a'", "ANY tags != 'a'"], "ANY tags != \"a\""),
            (["owners.age > 5", "ANY owners.age > 5"], "ANY owners.age > 5"),
            (["NOT ANY owners.age > 5", "ALL owners.age <= 5"], "ALL owners.age <= 5"),
            (["ALL tags IN {}"], "ALL tags IN {}"),
            (["owner == 'x'", "owner == obj('Person', 'x')", "owner IN {'x'}"], "owner == \"x\""),
            (["owner.name == nil"], "owner.name == NULL"),
            (["price < any", "\\any > price"], "\\any > price"),
            (["contains contains 'x'"], "\\contains CONTAINS \"x\""),
            (["name == note", "note == name"], "name == note"),
            (["price + 1 > 2", "1 + price > 2", "2 < (price + 1)", "(1 + (price)) > 2"], "1 + price > 2"),
            (["price - 1 - 2 > 2", "(price - 1) - 2 > 2"], "price - 1 - 2 > 2"),
            (["price - (1 - seats) > 2"], "price - (1 - seats) > 2"),
            (["(price + 1) * 2 > 2", "2 * (1 + price) > 2"], "(1 + price) * 2 > 2"),
            (["price > 1 + 2 * 3", "price > 7", "7 < price"], "price > 7"),
            (["cost == 0.1 + 0.2", "cost == 0.3"], "cost == 0.3"),
            (["weight == 0.1 + 0.2", "weight == 0.3"], "weight == 0.3"),
            (["price == 7 / 2", "price == 3"], "price == 3"),
            (["seats == 1 / 0", "seats == NULL + 1", "seats == NULL"], "seats == NULL"),
            (["1 + 1 == 2", "TRUEPREDICATE"], "Car"),
            // A number with a point, an exponent or f is not an integer.
            (["price / 2.0 == 5", "price / 2. == 5", "price / 2e0 == 5", "price / 2f == 5"], "price / 2.0 == 5"),
            (["1.0 * price / 2 > 0.4"], "1.0 * price / 2 > 0.4"), (["2.0 * 3 * price > 1"], "6.0 * price > 1"),
            (["weight * 2.0 > 1", "2 * weight > 1"], "2 * weight > 1"), (["price == 2.0"], "price == 2"),
            // Sums need no parentheses on the left side.
            (["price + id + seats > 1", "seats + (id + price) > 1"], "id + price + seats > 1"),
            (["price - (id - seats) > 1"], "price - (id - seats) > 1"),
            // A date between two microseconds equals no stored date.
            (
                ["bought < T0:1", "bought <= T0:1", "bought <= T0:0", "bought < T0:999"],
                "bought <= 1970-01-01T00:00:00Z"
            ),
            (["bought > T0:1", "bought >= T0:1"], "bought > 1970-01-01T00:00:00Z"),
            (["bought > T0:-1"], "bought > 1969-12-31T23:59:59.999999Z"),
            (["bought == T0:1", "bought IN {T0:1, T0:2}", "T0:1 == T0:2", "T0:1 < T0:0"], "FALSEPREDICATE"),
            (["T0:1 < T0:2", "T0:1 != T0:0", "bought != T0:1", "T0:1 == 1970-01-01T00:00:00.000000001"], "Car"),
            (["any == 1 AND NOT any > 1", "any = 1 and not any > 1"], "\\any <= 1 AND \\any == 1"),
            (["owners.@sum.age > 5", "owners.age.@sum > 5", "5 < owners.@sum.age"], "owners.@sum.age > 5"),
            (["owners.@max.home.doors > 5", "owners.home.doors.@max > 5"], "owners.@max.home.doors > 5"),
            (["sizes.@avg > 5", "sizes.@values.@avg > 5"], "sizes.@avg > 5"),
            (["owners[FIRST].age > 5", "owners[0].age > 5", "owners[first].age > 5"], "owners[0].age > 5"),
            (["owners[LAST] == 'a'"], "owners[LAST] == \"a\""),
            (["tags == {'b', 'a'}", "{'b', 'a'} = tags"], "tags == {\"b\", \"a\"}"),
            (["scores == {2, 1, 2}", "scores == {1, 2}"], "scores == {1, 2}"),
            (["NOT tags == {'a'}", "tags != {'a'}"], "tags != {\"a\"}"),
            (
                [
                    "SUBQUERY(owners, $x, $x.age > 5).@count > 0", "SUBQUERY(owners, $abc, 5 < $abc.age).@size > 0",
                    "subquery(owners, $x, $x.age > 5 && TRUEPREDICATE).@count > 0",
                ], "SUBQUERY(owners, $v1, $v1.age > 5).@count > 0"
            ),
            (
                ["SUBQUERY(owners, $a, SUBQUERY($a.friends, $b, $b == $a).@count > price).@count > 0"],
                "SUBQUERY(owners, $v1, SUBQUERY($v1.friends, $v2, $v1 == $v2).@count > price).@count > 0"
            ),
            (
                ["owners.age == ANY owners.friends.age", "ANY owners.friends.age == ANY owners.age"],
                "ANY owners.age == ANY owners.friends.age"
            ),
            (["NONE owners.age > owners.friends.age"], "ALL owners.age <= ALL owners.friends.age"),
            (["ANY owners.age < ALL {5, 6}"], "ANY owners.age < ALL {5, 6}"),
            (["note.@type == 'string'", "note.@type != 'null'", "note != NULL"], "note != NULL"),
            (["price.@type == 'numeric'", "price.@type IN {'int', 'string'}"], "Car"),
            (["tags.@count > 2", "tags.@size > 2", "tags[SIZE] > 2"], "tags.@count > 2"),
            (["sizes['a b'] > 2"], "sizes[\"a b\"] > 2"),
            (["sizes.left > 2", "sizes['left'] > 2"], "sizes[\"left\"] > 2"),
            (["sizes[*] > 2", "ANY sizes.@values > 2", "ANY sizes > 2"], "ANY sizes > 2"),
            (
                [
                    "bought > 2013-01-31@10:00:00", "bought > 2013-01-31T10:00:00Z", "bought > T1359626400:0",
                    "bought > 2013-01-31T11:00:00.000+01:00", "bought > 2013-01-31@10:00:00:400",
                ], "bought > 2013-01-31T10:00:00Z"
            ),
            (["bought > T-99999999999:0"], "bought > T-99999999999:0"),
            (["data == B64\"AQI=\""], "data == B64\"AQI=\""),
            (["data == binary('ab')", "data == bin(B64'YWI=')"], "data == B64\"YWI=\""),
            (["name == 'a\\'\\\"\\n\\u0041\\ud83d\\ude00'"], "name == \"a'\\\"\\nA😀\""),
            (["1 == 1", "'a' CONTAINS 'a'", "2 IN {1, 2.0}", "1 < 2.5 AND NULL == nil"], "Car"),
            (
                ["price == 1 AND (name == 'b' OR name == 'a' OR TRUEPREDICATE)", "price == 1 && price == 1"],
                "price == 1"
            ),
            (
                ["(price > 1 OR price < 0) AND (name == 'b' AND (isNew == true AND name == 'b'))"],
                "isNew == true AND name == \"b\" AND (price < 0 OR price > 1)"
            ),
            (["NOT (price > 1 OR name == 'b')", "price <= 1 AND name != 'b'"], "name != \"b\" AND price <= 1"),
            (["price == {1, 2}", "price == ANY {1, 2}", "price IN {1, 2}"], "price IN {1, 2}"),
            (["price < ALL {1, 2}"], "price < 1 AND price < 2"),
            (["price < {1, 2}", "price < ANY {1, 2}"], "price < 1 OR price < 2"),
            (["price == NONE {1, 2}"], "NOT price IN {1, 2}"),
        ] as [([String], String)])
    func equalConditions(spellings: [String], canonical: String) throws {
        for spelling in spellings {
            #expect(try Fixtures.canonical(spelling) == canonical, "\(spelling)")
            let query = try Query.parse(spelling, className: "Car", schema: Fixtures.schema)
            #expect(try Query.parse(query.canonicalText, schema: Fixtures.schema) == query)
        }
    }

    @Test(
        "Clauses have one canonical text",
        arguments: [
            ("Car", "Car"), ("Car WHERE TRUEPREDICATE", "Car"), ("Car LIMIT(5) LIMIT(3)", "Car LIMIT(3)"),
            ("Car SORT(price DESC, name ASCENDING, price DESC)", "Car SORT(price DESC, name ASC)"),
            ("Car SORT(price) SORT(name DESC)", "Car SORT(name DESC, price ASC)"),
            ("Car SORT(id ASC, name ASC)", "Car SORT(id ASC)"),
            ("Car SORT(owner.name DESC, owner.home.label ASC)", "Car SORT(owner.name DESC, owner.home.label ASC)"),
            (
                "Car EXCLUDE(owners.friends, note, owners.name) LIMIT(2)",
                "Car LIMIT(2) EXCLUDE(note, owners.friends, owners.name)"
            ),
            ("Car EXCLUDE(owners.friends) EXCLUDE(owners)", "Car EXCLUDE(owners)"),
            ("Car where price > 5 sort(price desc) limit(0)", "Car WHERE price > 5 SORT(price DESC) LIMIT(0)"),
            ("OBJECT(0123456789abcdef0123456789ABCDEF)", "OBJECT(0123456789abcdef0123456789abcdef)"),
        ] as [(String, String)])
    func clauses(text: String, canonical: String) throws {
        let query = try Fixtures.query(text)
        #expect(query.canonicalText == canonical)
        #expect(try query.rebound(to: Fixtures.schema) == query)
    }

    @Test func argumentsStandForValuesListsAndPaths() throws {
        #expect(
            try Fixtures.canonical("price < $0 AND name == $001", [.int(5), .string("a")])
                == "name == \"a\" AND price < 5")
        #expect(
            try Fixtures.canonical("price < %@ AND name == %@", [.int(5), .string("a")])
                == "name == \"a\" AND price < 5")
        #expect(try Fixtures.canonical("price IN $0", [.list([.int(2), .int(1)])]) == "price IN {1, 2}")
        #expect(try Fixtures.canonical("$K0 == $1", [.string("owner.name"), .null]) == "owner.name == NULL")
        #expect(try Fixtures.canonical("%K == %@", [.string("weight"), .int(1)]) == "weight == 1")
        #expect(try Fixtures.canonical("owner == $0", [.link(.string("s"))]) == "owner == \"s\"")
        #expect(try Fixtures.canonical("cost == $0", [.double(0.1)]) == "cost == 0.1")
    }

    @Test(arguments: [
        ("price < $0", ["9000"], "price < 9000"), ("price == $0", ["9007199254740993.0"], "price == 9007199254740993"),
        ("name == $0", ["it's"], "name == \"it's\""), ("weight < $0", ["INF"], "weight < inf"),
        ("isNew == $0", ["true"], "isNew == true"), ("bought < $0", ["T0:1"], "bought <= 1970-01-01T00:00:00Z"),
        ("data == $0", ["AQI="], "data == B64\"AQI=\""), ("owner == $0", ["12"], "owner == \"12\""),
        ("garage == $0", ["00000000000000070000000000000001"], "garage == oid(00000000000000070000000000000001)"),
        ("cost == $0", [".10"], "cost == 0.1"), ("price * $0 > $1", ["2", "3"], "2 * price > 3"),
        ("tags IN {$0, $1}", ["b", "a"], "ANY tags IN {\"a\", \"b\"}"), ("$0 IN tags", ["1"], "ANY tags == \"1\""),
        ("tags[$0] == $1", ["0", "1"], "tags[0] == \"1\""), ("name LIKE $0", ["a*"], "name BEGINSWITH \"a\""),
    ])
    func textArgumentsTakeTheTypeOfWhatTheyAreComparedWith(
        condition: String, arguments: [String], canonical: String
    ) throws {
        let syntax = try QuerySyntax.parse("Car WHERE " + condition, textArguments: arguments)
        #expect(try Query(syntax, schema: Fixtures.schema).canonicalText == "Car WHERE " + canonical)
    }

    @Test func aPositionBelowZeroIsRefused() throws {
        let path = PathSyntax([.init(.property("tags")), .init(.index(-1))])
        let built = PredicateSyntax.comparison(ComparisonSyntax(.path(path), .equal, .value(.string("a"))))
        let texts = [
            try QuerySyntax.parse("Car WHERE tags[$0] == 'a'", arguments: [.int(-1)]),
            try QuerySyntax.parse("Car WHERE tags[$0] == 'a'", textArguments: ["-1"]),
            QuerySyntax(.objects(className: "Car"), where: built),
        ]
        for syntax in texts {
            let error = #expect(throws: QueryError.self) { try Query(syntax, schema: Fixtures.schema) }
            #expect(error?.message.contains("positions begin with 0") == true, "\(error?.message ?? "")")
        }
    }

    @Test func queriesBuiltInSwiftMeetTheSameChecks() throws {
        let predicate: PredicateSyntax =
            !.comparison(ComparisonSyntax(.path(PathSyntax("owner", "age")), .less, .value(.int(5))))
            || .comparison(ComparisonSyntax(.path(PathSyntax("price")), .isIn, .values([.int(2), .int(1)])))
        let built = try Query(QuerySyntax(.objects(className: "Car"), where: predicate), schema: Fixtures.schema)
        #expect(try built == Fixtures.query("Car WHERE price IN {1, 2} OR NOT owner.age < 5"))
        #expect(built.hash == SHA256.truncatedID(of: Array(built.canonicalText.utf8)))
    }

    @Test func exclusionsFormATreeOfPositions() throws {
        let query = try Fixtures.query("Car EXCLUDE(note, owners.friends.name)")
        let (car, person) = (Fixtures.schema[0], Fixtures.schema[1])
        let note = try #require(car.index(of: "note"))
        let owners = try #require(car.index(of: "owners"))
        let owner = try #require(car.index(of: "owner"))
        let friends = try #require(person.index(of: "friends"))
        let name = try #require(person.index(of: "name"))
        let tree = query.exclusions
        #expect(Array(tree.excludedRootProperties) == [note])
        #expect(tree.next(following: note, at: ExclusionTree.root) == nil)
        #expect(tree.next(following: owner, at: ExclusionTree.root) == tree.free)
        let owned = try #require(tree.next(following: owners, at: ExclusionTree.root))
        #expect(!tree.isExcluded(property: name, at: owned))
        let befriended = try #require(tree.next(following: friends, at: owned))
        #expect(tree.isExcluded(property: name, at: befriended))
        #expect(tree.next(following: friends, at: befriended) == tree.free)
        #expect(tree.next(following: friends, at: tree.free) == tree.free)
        #expect(try Fixtures.query("Car").exclusions.free == ExclusionTree.root)
    }

    @Test func dependenciesNameEveryChainAndWhatIsReadAtItsEnd() throws {
        let query = try Fixtures.query(
            "Car WHERE owners.home.doors > 2 AND garage == NULL SORT(owner.name ASC, price ASC)")
        let car = Fixtures.schema[0]
        let names = query.dependencies.rootProperties.map { car.properties[$0].name }
        #expect(names.sorted() == ["garage", "owner", "owners", "price"])
        let chains = query.dependencies.linkPaths.map { path in
            path.links.map { Fixtures.schema[$0.classIndex].properties[$0.property].name }.joined(separator: ".") + ": "
                + path.properties.map { Fixtures.schema[path.targetClass].properties[$0].name }.joined(separator: ",")
        }
        #expect(chains.sorted() == ["garage: ", "owner: name", "owners.home: doors", "owners: home"])
        #expect(try Fixtures.query("Car WHERE price > 5").dependencies.linkPaths.isEmpty)
    }
}
