import SluiceModel
import TestSupport
import Testing

@testable import SluiceQuery

@Suite(.ownThread) struct ErrorTests {
    @Test(
        "A bad query names code, position and what would be right",
        arguments: [
            ("", QueryError.Code.syntax, 0, "found the end of the query, expected the name of a class"),
            ("Car price < 5", .syntax, 4, "found 'price', expected WHERE, GROUP, AGGREGATE, SORT, AFTER"),
            ("Carr WHERE price < 5", .unknownClass, 0, "there is no class 'Carr'; did you mean 'Car'?"),
            ("Car WHERE pric < 5", .unknownProperty, 10, "Car has no property 'pric'; did you mean 'price'?"),
            ("Car WHERE owner.nam == 'a'", .unknownProperty, 16, "Person has no property 'nam'; did you mean 'name'?"),
            ("Car WHERE owner.zzzzzz == 'a'", .unknownProperty, 16, "it has ssn, name, age, friends, home"),
            ("Car SORT(price ASC, price DESC)", .repeatedSortKey, 20, "'price' is sorted by twice, ascending and"),
            ("Car SORT(name DESC, price ASC, owner.name ASC, name ASC)", .repeatedSortKey, 47, "'name' is sorted by"),
            ("Car WHERE price.x == 1", .typeMismatch, 16, "Car.price is int; only a path through links goes on"),
            ("Car WHERE price <", .syntax, 17, "found the end of the query, expected a property or a value"),
            ("Car WHERE price", .typeMismatch, 15, "Car.price is int, expected a comparison operator after it"),
            ("Car WHERE NOT owner AND isNew", .typeMismatch, 20, "Car.owner is link, expected a comparison operator"),
            ("Car WHERE (owners.@count)", .typeMismatch, 25, "owners.@count is int, expected a comparison operator"),
            ("Car WHERE isNew true", .syntax, 16, "found 'true', expected a comparison operator"),
            ("Car WHERE true", .syntax, 14, "expected a comparison operator"),
            ("Car WHERE owners.@count == '5'", .typeMismatch, 27, "type 'int' (owners.@count) and type 'string'"),
            ("Car WHERE sizes.@keys == 5", .typeMismatch, 25, "type 'string' (sizes.@keys) and type 'int'"),
            ("Car WHERE (price < 5", .syntax, 20, "expected ')' to close a parenthesis"),
            ("Car WHERE price < 5)", .syntax, 19, "found ')', expected AND, OR, GROUP, AGGREGATE, SORT, AFTER, BEFORE"),
            ("Car WHERE name = JFK", .unknownProperty, 17, "if it is text, write it in quotes: 'JFK'"),
            ("Car WHERE owner == ann", .unknownProperty, 19, "if it is text, write it in quotes: 'ann'"),
            ("Car WHERE name IN {JFK}", .syntax, 19, "lists hold constants only, and text stands in quotes"),
            ("Car WHERE name = “JFK”", .syntax, 17, "found the typographic quote “; strings stand in straight quotes"),
            ("Car WHERE name = ‘a b’", .syntax, 17, "found the typographic quote ‘; strings stand in straight quotes"),
            ("Car WHERE name IN {«a»}", .syntax, 19, "found the typographic quote «"),
            ("Car WHERE price IN (1, 2)", .syntax, 19, "found '(', expected a list in braces, as in {1, 2}"),
            (
                "Car WHERE price IN [1, 2]", .syntax, 19,
                "found '[', expected the modifier [c], or a list in braces, as in {1, 2}"
            ),
            ("Car WHERE price BETWEEN (1, 3)", .syntax, 24, "found '(', expected a list in braces, as in {1, 5}"),
            (
                "Car WHERE price BETWEEN [1, 3]", .syntax, 24,
                "found '[', expected the modifier [c], or a list in braces, as in {1, 5}"
            ),
            ("Car WHERE price == (1, 2)", .syntax, 19, "found '(', expected a list in braces"),
            ("Car WHERE bought > '2013-01-31'", .typeMismatch, 19, "write a date without quotes, as in 2013-01-"),
            ("Car WHERE price == '5'", .typeMismatch, 19, "write a number without quotes"),
            ("Car WHERE serial == 'a'", .typeMismatch, 20, "write uuid(6ba7b810-9dad-11d1-80b4-00c04fd430c8)"),
            ("Car WHERE price % 2 == 0", .syntax, 16, "the operators are + - * /, and a - a / b * b is the remainder"),
            ("Car WHERE %x == 0", .syntax, 10, "an argument is '%@', '%K' or '$0'"),
            ("Car WHERE price < 'a'", .typeMismatch, 18, "type 'int' (Car.price) and type 'string'"),
            ("Car WHERE name == 5", .typeMismatch, 18, "type 'string' (Car.name) and type 'int'"),
            ("Car WHERE name == inf", .typeMismatch, 18, "Infinity not supported for string"),
            ("Car WHERE price < inf", .typeMismatch, 18, "Infinity not supported for int"),
            ("Car WHERE price IN 5.5", .typeMismatch, 19, "the keypath following 'IN' must contain a list"),
            ("Car WHERE 5 IN price", .typeMismatch, 15, "the keypath following 'IN' must contain a list"),
            ("Car WHERE ANY price == 5", .typeMismatch, 10, "the keypath following 'ANY' must contain a list"),
            ("Car WHERE SOME price == 5", .typeMismatch, 10, "the keypath following 'ANY' must contain a list"),
            ("Car WHERE isNew > true", .typeMismatch, 16, "operator '>' not supported for type 'bool' (Car.isNew)"),
            ("Car WHERE price CONTAINS 5", .typeMismatch, 16, "operator 'CONTAINS' not supported for type 'int'"),
            ("Car WHERE price ==[c] 5", .typeMismatch, 16, "operator '==[c]' not supported for type 'int'"),
            ("Car WHERE name ==[d] 'a'", .unsupported, 17, "the modifier [d] is not supported"),
            ("Car WHERE name <[c] 'a'", .typeMismatch, 16, "the operator < takes no [c]"),
            ("Car WHERE price BETWEEN {1}", .typeMismatch, 24, "exactly two values; this one has 1"),
            ("Car WHERE owners.age BETWEEN {1, 2}", .typeMismatch, 10, "BETWEEN works on a collection with ALL only"),
            ("Car WHERE owners == NULL", .typeMismatch, 20, "cannot compare linklist ('owners') with NULL"),
            ("Car WHERE owner == 5", .typeMismatch, 19, "compared with its primary key 'ssn', string; found int"),
            ("Car WHERE garage == 'x'", .typeMismatch, 20, "Garage, which is compared with oid(…)"),
            ("Car WHERE owner > 'x'", .typeMismatch, 16, "operator '>' not supported for type 'link'"),
            ("Car WHERE price == name", .typeMismatch, 16, "type 'int' (Car.price) and type 'string' (Car.name)"),
            ("Car WHERE price < $0", .missingArgument, 18, "argument $0 is missing: 0 are given"),
            ("Car WHERE name == 'abc", .syntax, 18, "inside the string that begins here"),
            ("Car WHERE name == 'a\\x'", .syntax, 20, "found an unknown escape"),
            ("Car WHERE name == '\\ud800'", .syntax, 19, "half of a surrogate pair"),
            ("Car WHERE price < 5abc", .syntax, 18, "found '5' followed by a letter"),
            ("Car WHERE price < 2013-13-01@00:00:00", .syntax, 18, "found a date that does not exist"),
            ("Car WHERE bought < 1800-01-01@00:00:00", .syntax, 19, "dates span 1900 to 9999"),
            ("Car WHERE bought < T5:-5", .syntax, 19, "seconds and nanoseconds differ in sign"),
            ("Car WHERE serial == uuid(12)", .syntax, 20, "8-4-4-4-12"),
            ("Car WHERE token == oid(12)", .syntax, 19, "expected 32 hexadecimal digits"),
            ("Car WHERE data == B64'%'", .syntax, 18, "not base64"),
            ("Car WHERE price < 5 # 3", .syntax, 20, "found the character '#'"),
            ("Car WHERE name + 1 < 5", .typeMismatch, 15, "operator '+' not supported for type 'string' (Car.name)"),
            ("Car WHERE price + 'a' < 5", .typeMismatch, 18, "operator '+' not supported for type 'string'"),
            ("Car WHERE price + {1} < 5", .typeMismatch, 18, "works on numbers; found a list"),
            ("Car WHERE price + < 5", .syntax, 18, "found '<', expected a property or a value"),
            ("Car WHERE price + 1 < 'a'", .typeMismatch, 22, "type 'int' (1 + price) and type 'string'"),
            ("Car WHERE (price > 1) + 1 > 2", .syntax, 22, "beside a condition, expected numbers on both sides"),
            (
                "Car WHERE ANY owners.age + ALL owners.age > 2", .typeMismatch, 27,
                "takes one quantifier; this has ANY and ALL"
            ),
            ("Car WHERE tags[x] == 'a'", .syntax, 15, "FIRST, LAST, SIZE"),
            (
                "Car WHERE name[0] == 'a'", .typeMismatch, 14,
                "only the elements of lists have positions; Car.name is string"
            ),
            ("Car WHERE scores[0] == 1", .typeMismatch, 16, "only the elements of lists have positions"),
            ("Car WHERE price['a'] == 1", .typeMismatch, 15, "only maps have keys; Car.price is int"),
            ("Car WHERE owner.@avg.age < 5", .typeMismatch, 16, "@avg needs a collection before it"),
            ("Car WHERE owners.@avg.name < 5", .typeMismatch, 17, "works on numbers; 'owners.name' holds string"),
            ("Car WHERE owners.@sum < 5", .typeMismatch, 17, "@sum works on numbers; 'owners' holds link"),
            ("Car WHERE owners.@sum.friends.age < 5", .typeMismatch, 17, "@sum needs a collection before it"),
            ("Car WHERE owners.@min.age.@max < 5", .typeMismatch, 26, "at most one collection operation per keypath"),
            (
                "Person WHERE @links.Car.owner.@sum.bought > 1", .typeMismatch, 30,
                "cannot sum or average date properties"
            ),
            ("Car WHERE owners.@count.age < 5", .typeMismatch, 24, "@count must appear at the end of a keypath"),
            ("Car WHERE name.@type == 'strin'", .typeMismatch, 24, "compares with the name of a type"),
            ("Car WHERE name.@type > 'string'", .typeMismatch, 21, "@type compares by ==, != and IN"),
            ("Car WHERE owners.@coun < 5", .syntax, 17, "did you mean '@count'?"),
            ("Car WHERE @links.Car.owner.@count > 1", .typeMismatch, 10, "@links.Car.owner needs a link to Car"),
            ("Person WHERE @links.Cat.owner.@count > 1", .unknownClass, 20, "did you mean 'Car'?"),
            ("Person WHERE @links.Car.ownr.@count > 1", .unknownProperty, 24, "did you mean 'owner'?"),
            ("Person WHERE @links.Car == 1", .syntax, 24, "expected '.' after the class of @links"),
            ("Person SORT(@links.@count ASC)", .unsupported, 12, "SORT takes no '@links'"),
            ("Person DISTINCT(@links.Car.owner.@count)", .unsupported, 16, "DISTINCT takes no '@links'"),
            ("Car WHERE SUBQUERY(owners, $x, $x.age > 5) > 0", .syntax, 43, "SUBQUERY must be followed by .@count"),
            ("Car WHERE SUBQUERY(owners, x, x.age > 5).@count > 0", .syntax, 27, "expected a variable such as $x"),
            (
                "Car WHERE SUBQUERY(owners, $x, $y.age > 5).@count > 0", .syntax, 31,
                "the variable '$y', which no SUBQUERY"
            ),
            (
                "Car WHERE SUBQUERY(owner, $x, $x.age > 5).@count > 0", .typeMismatch, 19,
                "needs a collection of objects"
            ),
            ("Car WHERE SUBQUERY(tags, $x, $x == 'a').@count > 0", .typeMismatch, 19, "needs a collection of objects"),
            ("Car WHERE SUBQUERY(owners, $x, $x.agee > 5).@count > 0", .unknownProperty, 34, "did you mean 'age'?"),
            ("Car WHERE scores < {1, 2}", .typeMismatch, 17, "a set as a whole ('scores') compares by == and !="),
            ("Car WHERE sizes.@keys == {'a'}", .typeMismatch, 10, "have no order to be compared in as a whole"),
            (
                "Person WHERE @links.Car.owner.price < friends.age", .typeMismatch, 13,
                "write ANY, ALL or NONE before one side"
            ),
            ("Car WHERE sizes == {1.5}", .typeMismatch, 16, "a map ('sizes') does not compare as a whole"),
            ("Car WHERE name TEXT 'a'", .unsupported, 15, "the operator TEXT is not supported"),
            ("Car SORT(owners.name ASC)", .typeMismatch, 9, "SORT needs one value of each object"),
            ("Car SORT(owner ASC)", .typeMismatch, 9, "SORT cannot order by the link 'owner'"),
            ("Car SORT(price UP)", .syntax, 15, "found 'UP', expected ASC, DESC"),
            ("Car DISTINCT(owners.age)", .typeMismatch, 13, "DISTINCT needs one value of each object"),
            (
                "Car EXCLUDE(note) DISTINCT(note)", .invalidExclusion, 12,
                "EXCLUDE cannot hide 'note': DISTINCT tells results apart by 'note'"
            ),
            (
                "Car SORT(note ASC) DISTINCT(note) EXCLUDE(note)", .invalidExclusion, 42,
                "EXCLUDE cannot hide 'note': the query sorts by 'note'"
            ),
            (
                "Car SORT(note ASC) DISTINCT(owner.name) EXCLUDE(owner)", .invalidExclusion, 48,
                "DISTINCT tells results apart by 'owner.name'"
            ),
            ("Car SORT(owners.@sum.age ASC) EXCLUDE(owners.age)", .invalidExclusion, 38, "sorts by 'owners.@sum.age'"),
            ("Car WHERE price > 1 LIMIT 5", .syntax, 26, "found '5', expected '(' after LIMIT, as in LIMIT(20)"),
            ("Car SORT BY price", .syntax, 9, "found 'BY', expected '(' after SORT"),
            ("Car WHERE price > 1 LIMIT", .syntax, 25, "found the end of the query, expected '(' after LIMIT"),
            ("Car WHER price > 1", .syntax, 4, "did you mean 'WHERE'?"),
            ("Car WHERE price > 1 LIMITS(3)", .syntax, 20, "did you mean 'LIMIT'?"),
            ("Car WHERE name BEGINSWTH 'a'", .syntax, 15, "a comparison operator; did you mean 'BEGINSWITH'?"),
            ("Car WHERE price In {1}", .syntax, 16, "a comparison operator; did you mean 'IN'?"),
            ("Car WHERE Any tags == 'a'", .syntax, 14, "'Any' is written ANY or any"),
            ("Car WHERE Not isNew == true", .syntax, 14, "'Not' is written NOT or not"),
            ("Car WHERE isNew == True", .unknownProperty, 19, "did you mean 'true'?"),
            ("Car WHERE price BETWEEN 1 AND 5", .syntax, 24, "BETWEEN takes a list of two values, as in {1, 5}"),
            ("Car WHERE note IS NULL", .syntax, 15, "write == NULL or != NULL"),
            ("Car WHERE price NOT IN {1}", .syntax, 16, "write NOT before the property"),
            ("Car WHERE 'price' > 5", .typeMismatch, 18, "quotes make a string and never the name of a property"),
            ("Car WHERE bought == 2013-01-31", .syntax, 20, "found a date without time; write 2013-01-31@00:00:00"),
            ("Car\u{A0}WHERE price > 1", .syntax, 0, "found the character U+A0 in a name"),
            ("Car WHERE ratio == 3.5e38", .typeMismatch, 19, "the number 3.5e38 is beyond the range of floats"),
            ("Car WHERE weight < 1e400", .typeMismatch, 19, "the number 1e400 is beyond the range of doubles"),
            ("Car WHERE owners.friends[0].age.x > 1", .typeMismatch, 32, "Person.age is int; only a path"),
            (
                "Car WHERE owners['a'] == 1", .typeMismatch, 16,
                "only maps have keys; Car.owners is a list of links to Person"
            ),
            ("Car WHERE seats.x == 1", .typeMismatch, 16, "Car.seats is optional int; only a path"),
            ("Car LIMIT(x)", .syntax, 10, "expected a whole number in LIMIT"),
            ("Car WHERE note GEOWITHIN geoCircle([1, 2], 3)", .unsupported, 15, "there are no geographical types"),
            ("Car WHERE note MATCHES 'a'", .unsupported, 15, "there are no regular expressions"),
            ("Car EXCLUDE(id)", .invalidExclusion, 12, "EXCLUDE cannot hide Car.id: it is the primary key"),
            ("Car EXCLUDE(owner.ssn)", .invalidExclusion, 18, "EXCLUDE cannot hide Person.ssn"),
            ("Car EXCLUDE(price) SORT(price ASC)", .invalidExclusion, 12, "the query sorts by 'price'"),
            ("Car SORT(owner.name ASC) EXCLUDE(owner)", .invalidExclusion, 33, "the query sorts by 'owner.name'"),
            ("Car EXCLUDE(nope)", .unknownProperty, 12, "Car has no property 'nope'"),
            ("OBJECT(12)", .syntax, 7, "found '12' as an object's id"),
            ("OBJECT(0123456789abcdef0123456789abcdef) LIMIT(1)", .syntax, 41, "the end of the query after OBJECT(id)"),
        ] as [(String, QueryError.Code, Int, String)])
    func badQuery(text: String, code: QueryError.Code, position: Int, message: String) {
        let error = #expect(throws: QueryError.self) { try Fixtures.query(text) }
        #expect(error?.code == code)
        #expect(error?.position == position)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(
        "Each limit has its own message",
        arguments: [
            ("Car WHERE name == '" + String(repeating: "a", count: 70_000) + "'", "70020 bytes long"),
            (
                "Car WHERE " + String(repeating: "(", count: 65) + "price < 1" + String(repeating: ")", count: 65),
                "nested more than 64 deep"
            ),
            ("Car WHERE " + String(repeating: "!", count: 60_000) + "price < 1", "nested more than 64 deep"),
            ("Car WHERE price IN {" + String(repeating: "1,", count: 10_001) + "1}", "more than 10000 elements"),
            (
                "Car WHERE " + (0...2_000).map { "price < \($0)" }.joined(separator: " OR "),
                "more than 2000 conditions"
            ),
            ("Car WHERE owner" + String(repeating: ".friends", count: 20) + ".age > 1", "more than 16 components"),
            (
                "Car WHERE price" + String(repeating: " + 1", count: 70) + " > 1",
                "arithmetic has more than 64 numbers"
            ),
            (
                "Car WHERE " + (0..<9).map { "SUBQUERY(owners, $x\($0), " }.joined() + "TRUEPREDICATE"
                    + String(repeating: ").@count > 0", count: 9),
                "subqueries are nested more than 8 deep"
            ),
            (
                "Car" + String(repeating: " LIMIT(1) SORT(price ASC)", count: 9),
                "has 18 clauses in turn; the limit is 16"
            ),
            ("Car SORT(" + (0..<17).map { "sizes['\($0)'] ASC" }.joined(separator: ", ") + ")", "sorts by 17 keys"),
            (
                "Car WHERE price IN {" + String(repeating: "1,", count: 9_999) + "1} OR seats IN {"
                    + String(repeating: "1,", count: 9_999) + "1} OR price == 1",
                "more than 20000 constants"
            ),
        ] as [(String, String)])
    func limit(text: String, message: String) {
        let error = #expect(throws: QueryError.self) { try Fixtures.query(text) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.position != nil)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(
        "A limit that is met after parsing names the clause, the condition or the deepest comparison",
        arguments: [
            ("Car WHERE price > 1 LIMIT(1) SORT(" + keys(17) + ")", 29, "sorts by 17 keys"),
            ("Car SORT(price ASC) SORT(" + keys(16) + ")", 20, "sorts by 17 keys"),
            ("Car LIMIT(3) DISTINCT(" + keys(17).replacing(" ASC", with: "") + ")", 13, "is distinct by 17 keys"),
            ("Car" + String(repeating: " LIMIT(1) SORT(price ASC)", count: 9), 204, "has 18 clauses in turn"),
            ("Car EXCLUDE(" + String(repeating: "note,", count: 1_000) + "price)", 5_012, "excludes 1001 paths"),
            (
                "Car WHERE " + (0..<1_100).map { "price BETWEEN {\($0 * 3), \($0 * 3 + 1)}" }.joined(separator: " OR "),
                10, "has 2200 conditions; the limit is 2000"
            ),
            (
                "Car WHERE TRUEPREDICATE AND (" + list(0..<5_500) + " OR " + list(5_500..<11_000) + ")", 29,
                "has 11000 elements in a list; the limit is 10000"
            ),
            ("Car WHERE NOT name == '" + String(repeating: "\u{1}", count: 20_000) + "'", 14, "canonical text is 120"),
        ] as [(String, Int, String)])
    func limitAfterParsing(text: String, position: Int, message: String) {
        let error = #expect(throws: QueryError.self) { try Fixtures.query(text) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.position == position)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    private static func keys(_ count: Int) -> String {
        (0..<count).map { "sizes['\($0)'] ASC" }.joined(separator: ", ")
    }

    private static func list(_ numbers: Range<Int>) -> String {
        "price IN {" + numbers.map(String.init).joined(separator: ",") + "}"
    }

    @Test func longNamesAreCutInMessages() throws {
        for text in [
            "\(Self.long) WHERE price > 1", "Car WHERE \(Self.long) > 1", "Car WHERE owners.@\(Self.long) > 1",
        ] {
            let error = #expect(throws: QueryError.self) { try Fixtures.query(text) }
            #expect(error?.message.contains("…") == true)
            #expect(try #require(error).message.utf8.count < 400)
        }
    }

    private static let long = String(repeating: "x", count: 60_000)

    @Test func whatWasBuiltInSwiftHasNoPosition() {
        let object = QuerySyntax(.object(ObjectID(high: 1, low: 1)), clauses: [.limit(1)])
        let error = #expect(throws: QueryError.self) { try Query(object, schema: Fixtures.schema) }
        #expect(error?.code == .syntax)
        #expect(error?.position == nil)
        let placed = QuerySyntax(.object(ObjectID(high: 1, low: 1)), clauses: [.limit(1, position: 7)])
        #expect(throws: QueryError(.syntax, error?.message ?? "", at: 7)) { try Query(placed, schema: Fixtures.schema) }
    }

    @Test func theDeepestAllowedNestingParses() throws {
        let text = "Car WHERE " + String(repeating: "(", count: 64) + "price < 1" + String(repeating: ")", count: 64)
        #expect(try Fixtures.query(text).canonicalText == "Car WHERE price < 1")
    }

    @Test func deepSyntaxBuiltInSwiftIsRefusedAndFlatSyntaxIsNot() throws {
        let leaf = PredicateSyntax.comparison(ComparisonSyntax(.path(PathSyntax("price")), .less, .value(.int(5))))
        let deep = (0..<1_000).reduce(leaf) { syntax, _ in .not(syntax) }
        #expect(throws: QueryError.self) {
            try Query(QuerySyntax(.objects(className: "Car"), where: deep), schema: Fixtures.schema)
        }
        let flat = (0..<1_000).reduce(leaf) { syntax, _ in syntax && leaf }
        #expect(
            try Query(QuerySyntax(.objects(className: "Car"), where: flat), schema: Fixtures.schema).canonicalText
                == "Car WHERE price < 5")
    }

    @Test(
        "Random text is refused or parsed, never a crash, and canonical text is a fixed point",
        arguments: 0..<8 as Range<UInt64>)
    func randomText(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let words = [
            "Car", "WHERE", "price", "name", "owner", "owners", "tags", "sizes", ".", ".", "@count", "(", ")", "{", "}",
            "[c]",
            "[", "]", "==", "!=", "<", ">=", "AND", "OR", "NOT", "!", "ANY", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS",
            "LIKE", "+", "-", "*", "/", "SUBQUERY(", "$x", "@links", "@sum", "@links.Car.owner", "DISTINCT(", "[0]",
            "[LAST]",
            "5", "-5.5", "1e9", "0xF", "inf", "nan", "NULL", "true", "'a'", "\"*b?\"", "B64\"YQ==\"", "uuid(",
            "oid(",
            "T1:2", "2013-01-01@00:00:00", "$0", "%@", "%K", "SORT(", "LIMIT(", "EXCLUDE(", ",", "ASC", "\\", "é",
            "\u{0}",
        ]
        var parsed = 0
        for _ in 0..<3_000 {
            var text = generator.pick([
                "", "Car WHERE price ", "Car WHERE price == 5 ", "Car WHERE NOT name LIKE 'a' OR ",
            ])
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                text +=
                    generator.chance(90)
                    ? generator.pick(words) + " " : String(UnicodeScalar(UInt8.random(in: 0...255, using: &generator)))
            }
            do {
                let query = try Fixtures.query(text, [.int(1), .string("name"), .list([.int(1)])])
                parsed += 1
                #expect(try Fixtures.query(query.canonicalText) == query, "seed \(seed): \(text)")
            } catch let error as QueryError {
                let position = error.position ?? 0
                #expect(position >= 0 && position <= text.utf8.count, "seed \(seed): \(text)")
            }
        }
        #expect(parsed > 0, "seed \(seed)")
    }
}
