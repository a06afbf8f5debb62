import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceQuery

/// The documented limits. A query within them runs in SQLite, whose parser accepts no more than 100 symbols at once,
/// and finds what the evaluator finds. A query beyond a limit is rejected with the message of that limit.
@Suite(.ownThread) struct LimitTests {
    /// A query that one number makes larger, the largest such number, and the message beyond it.
    struct Growth: CustomTestStringConvertible, Sendable {
        let name: String
        let most: Int
        /// Nil if this number has no limit of its own.
        let refusal: String?
        let text: @Sendable (Int) -> String

        init(_ name: String, _ most: Int, _ refusal: String?, _ text: @escaping @Sendable (Int) -> String) {
            self.name = name
            self.most = most
            self.refusal = refusal
            self.text = text
        }

        var testDescription: String { name }
    }

    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static func joined(_ count: Int, by separator: String, _ part: (Int) -> String) -> String {
        (0..<count).map(part).joined(separator: separator)
    }

    private static let nested = "nested more than 64 deep"
    private static let terms = "arithmetic has more than 64 numbers"

    static let growths: [Growth] = [
        Growth("a sum", 64, terms) { "Car WHERE \(joined($0, by: " + ") { _ in "price" }) == 640" },
        Growth("a difference", 64, terms) { "Car WHERE \(joined($0, by: " - ") { _ in "seats" }) < 3" },
        Growth("a product of constants", 64, terms) { "Car WHERE \(joined($0, by: " * ") { _ in "1" }) == 1" },
        Growth("a sum over a collection", 30, "arithmetic goes through more than 30 links and collections") {
            "Car WHERE ANY \(joined($0, by: " + ") { _ in "owners.age" }) > 100"
        },
        Growth("sums and products in turn", 32, terms) {
            "Car WHERE \(repeated("(", $0 - 1))price\(joined($0 - 1, by: "") { $0 % 2 == 0 ? " * 2 + 1)" : " / 2 - 1)" }) > 3"
        },
        Growth("sums on the right", 64, terms) {
            "Car WHERE \(repeated("price - (", $0 - 1))seats\(repeated(")", $0 - 1)) != 3"
        },
        Growth("sums of subqueries", 64, terms) {
            "Car WHERE \(joined($0, by: " + ") { _ in "SUBQUERY(owners, $x, $x.age > price).@count" }) > 3"
        },
        Growth("sums of aggregates", 64, terms) {
            "Car WHERE \(joined($0, by: " - ") { _ in "owners.@sum.age" }) < owners.friends.@sum.age"
        },
        Growth("parentheses", 64, nested) { "Car WHERE \(repeated("(", $0))price > 10\(repeated(")", $0))" },
        Growth("negations", 64, nested) { "Car WHERE \(repeated("NOT ", $0))weight > 1" },
        Growth("AND and OR in turn", 64, nested) {
            "Car WHERE \(joined($0, by: "") { $0 % 2 == 0 ? "price > \($0) AND (" : "seats == \($0) OR (" })weight < 3\(repeated(")", $0))"
        },
        Growth("AND and OR in turn, the deepest in the middle", 64, nested) {
            "Car WHERE \(joined($0, by: "") { "price > \($0) AND (seats == \($0) OR " })weight < 3\(joined($0, by: "") { _ in " OR owners.age > 3)" })"
        },
        Growth("NOT of AND", 64, nested) {
            "Car WHERE \(joined($0, by: "") { "NOT (owners.home.doors != \($0) AND " })weight < 3\(repeated(")", $0))"
        },
        Growth("conditions", 2_000, "2000 conditions") {
            "Car WHERE \(joined($0, by: " OR ") { "price < \($0 - 1990)" })"
        },
        Growth("conditions behind links", 2_000, "2000 conditions") {
            "Car WHERE \(joined($0, by: " AND ") { "owners.age > \(-$0)" })"
        },
        Growth("a path to one", 16, "more than 16 components") {
            "Node WHERE \(repeated("next.", $0 - 1))name == 'n1'"
        },
        Growth("a path to one from which nothing is", 16, "more than 16 components") {
            "Node WHERE \(repeated("next.", $0 - 1))name == NULL"
        },
        Growth("a path to one that is compared with another", 16, "more than 16 components") {
            "Node WHERE \(repeated("next.", $0 - 1))name == \(repeated("next.", $0 - 2))name"
        },
        Growth("a path to many", 16, "more than 16 components") {
            "Node WHERE \(repeated("all.", $0 - 1))name == 'n1'"
        },
        Growth("a path to many, to an object", 16, "more than 16 components") {
            "Node WHERE \(repeated("all.", $0 - 1))all == 'n1'"
        },
        Growth("all of a path to many", 16, "more than 16 components") {
            "Node WHERE ALL \(repeated("all.", $0 - 1))name > NULL OR NONE \(repeated("all.", $0 - 1))name == name"
        },
        Growth("a path to many beside another", 16, "more than 16 components") {
            "Node WHERE ANY \(repeated("all.", $0 - 1))name == ALL \(repeated("all.", $0 - 1))name"
        },
        Growth("an aggregate at the end of a path", 16, "more than 16 components") {
            "Node WHERE \(repeated("all.", max(1, $0 - 2)))@max.size > \(repeated("next.", $0 - 2))size + 1"
        },
        Growth("backlinks of backlinks", 16, "more than 16 components") {
            "Node WHERE \(repeated("@links.Node.all.", $0 - 1))name == 'n1' AND \(repeated("@links.Node.next.", $0 - 2))@links.@count == 0"
        },
        Growth("elements of lists", 7, "more than 16 components") {
            "Node WHERE \(repeated("all[0].", $0 - 1))map['a'].name == 'n1'"
        },
        Growth("subqueries", 8, "subqueries are nested more than 8 deep") { count in
            let open = joined(count, by: "") {
                "SUBQUERY(\($0 == 0 ? "all" : "$x\($0 - 1).all"), $x\($0), $x\($0).size >= 0 AND "
            }
            return "Node WHERE \(open)$x\(count - 1).size > size\(repeated(").@count > 0", count))"
        },
        Growth("subqueries that count", 8, "subqueries are nested more than 8 deep") { count in
            let open = joined(count, by: "") {
                "SUBQUERY(\($0 == 0 ? "all.all" : "$x\($0 - 1).next.all"), $x\($0), size + $x\($0).size < "
            }
            return "Node WHERE \(open)$x0.size + 3\(repeated(").@count * 2", count - 1))).@count > 1"
        },
        Growth("clauses in turn", 16, "clauses in turn; the limit is 16") {
            "Node WHERE all.name != NULL "
                + joined($0, by: " ") { $0 % 2 == 0 ? "SORT(size ASC, next.name DESC)" : "LIMIT(\(40 - $0))" }
        },
        Growth("DISTINCT and SORT in turn", 16, "clauses in turn; the limit is 16") {
            joined(1, by: "") { _ in "Node " }
                + joined($0, by: " ") { $0 % 2 == 0 ? "DISTINCT(size, next.next.name)" : "SORT(all.@max.size ASC)" }
        },
        Growth("keys of a sort", 16, "keys; the limit is 16") {
            "Node SORT(\(joined($0, by: ", ") { repeated("next.", $0 % 14) + ($0 < 14 ? "size" : "all.@count") }))"
        },
        Growth("elements of a set that is compared as a whole", 9_000, nil) {
            "Node WHERE set == {\(joined($0, by: ",") { "'\(String($0, radix: 36))'" })}"
        },
        Growth("elements of a list that is compared as a whole", 10_000, "more than 10000 elements") {
            "Node WHERE all == {\(joined($0, by: ",") { _ in "'n'" })}"
        },
        Growth("elements of a list that every value is compared with", 10_000, "more than 10000 elements") {
            "Node WHERE ALL all.size > ANY {\(joined($0, by: ", ") { "\($0)" })}"
        },
    ]

    private static func schema() throws -> Schema {
        try Schema(
            Fixtures.schema.classes + [
                ClassSchema(
                    "Node", primaryKey: "name",
                    properties: [
                        Property("name", .scalar(.string)), Property("size", .scalar(.int)),
                        Property("next", .link("Node")), Property("all", .links("Node")),
                        Property("set", PropertyType(.link("Node"), container: .set)),
                        Property("map", PropertyType(.link("Node"), container: .map)),
                    ])
            ])
    }

    /// Two nodes that link to each other, and one that links to nothing.
    private static func world(_ schema: Schema) throws -> TestWorld {
        let world = TestWorld(schema)
        func link(_ name: String) -> Value { .link(.string(name)) }
        for (name, next) in [("n0", "n1"), ("n1", "n0")] {
            try world.insert(
                "Node", .string(name),
                [
                    "size": .int(name == "n0" ? 1 : 2), "next": link(next), "all": .list([link(next)]),
                    "set": .set(of: [link(next), link(name)]), "map": .map(ValueMap([("a", link(next))])),
                ])
        }
        try world.insert("Node", .string("n2"), [:])
        for number in 1...4 {
            try world.insert(
                "Car", .int(Int64(number)),
                [
                    "price": .int(Int64(number * 10)), "seats": number == 3 ? .null : .int(Int64(number)),
                    "weight": .double(Double(number)), "owners": .list(number == 2 ? [] : [link("p")]),
                ])
        }
        try world.insert("Person", .string("p"), ["age": .int(35), "friends": .list([link("p")])])
        return world
    }

    @Test("What is within a limit runs, and what is beyond it is refused", arguments: growths)
    func limit(growth: Growth) throws {
        let schema = try Self.schema()
        let world = try Self.world(schema)
        let compiler = SQLCompiler(schema: schema)
        let database = try world.database()
        // The largest ask most of SQLite's parser; what alternates ends differently with an even and an odd number.
        for count in growth.most > 100 ? [2, growth.most] : Set([2, 3, growth.most - 1, growth.most]).sorted() {
            let query = try Query.parse(growth.text(count), schema: schema)
            #expect(try Query.parse(query.canonicalText, schema: schema) == query)
            let expected = try world.evaluate(query)
            for restriction in [nil, "1"] as [SQLStatement?] {
                let statement = compiler.select(query, restrictedTo: restriction)
                let found = try world.keys(database.integers(statement), ofClass: query.classIndex)
                #expect(found == expected, "\(growth.name) of \(count)")
                let counted = try database.integers(
                    compiler.select(query, .count, restrictedTo: restriction, limit: 100))
                #expect(counted == [Int64(expected.count)], "\(growth.name) of \(count)")
            }
        }
        guard let refusal = growth.refusal else { return }
        let error = #expect(throws: QueryError.self) {
            try Query.parse(growth.text(growth.most + 1), schema: schema)
        }
        #expect(error?.message.contains(refusal) == true, "\(error?.message ?? "")")
        #expect(error?.position != nil)
    }

    @Test("Everything at once runs", arguments: 1...6 as ClosedRange<UInt64>)
    func nestedAtRandom(seed: UInt64) throws {
        let schema = try Self.schema()
        let world = try Self.world(schema)
        let compiler = SQLCompiler(schema: schema)
        let database = try world.database()
        var random = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<40 {
            var variables: [String] = []
            let text = "Node WHERE " + Self.condition(&random, &variables, depth: random.pick([4, 8, 16, 40]))
            guard let query = try? Query.parse(text, schema: schema) else { continue }
            accepted += 1
            let expected = try world.evaluate(query).count
            for restriction in [nil, "1"] as [SQLStatement?] {
                let statement = compiler.select(query, .count, restrictedTo: restriction)
                #expect(try database.integers(statement) == [Int64(expected)], "seed \(seed): \(text)")
            }
        }
        #expect(accepted > 20)
    }

    private static func condition(
        _ random: inout SeededGenerator, _ variables: inout [String], depth: Int
    ) -> String {
        guard depth > 0 else { return comparison(&random, &variables, depth: 0) }
        switch random.pick([0, 0, 1, 1, 2, 3, 3]) {
        case 0:
            return
                "\(comparison(&random, &variables, depth: 0)) AND (\(condition(&random, &variables, depth: depth - 1)))"
        case 1:
            return
                "(\(condition(&random, &variables, depth: depth - 1))) OR \(comparison(&random, &variables, depth: 0))"
        case 2: return "NOT (\(condition(&random, &variables, depth: depth - 1)))"
        default: return comparison(&random, &variables, depth: depth - 1)
        }
    }

    private static func comparison(
        _ random: inout SeededGenerator, _ variables: inout [String], depth: Int
    ) -> String {
        var left = number(&random, variables)
        if depth > 0, variables.count < 7 {
            let collection = path(&random, variables, ending: "all")
            variables.append("$x\(variables.count)")
            let inner = condition(&random, &variables, depth: depth)
            let variable = variables.removeLast()
            left += " + SUBQUERY(\(collection), \(variable), \(inner)).@count"
        }
        for _ in 0..<random.pick([0, 0, 1, 2, 20]) {
            left = "(\(left)) \(random.pick(["+", "-", "*"])) \(number(&random, variables))"
        }
        return "\(left) \(random.pick(["==", "<", ">=", "!="])) \(number(&random, variables))"
    }

    private static func number(_ random: inout SeededGenerator, _ variables: [String]) -> String {
        switch random.pick([0, 1, 2, 3]) {
        case 0: "\(Int.random(in: 0...3, using: &random))"
        case 1: path(&random, variables, ending: random.pick(["@max.size", "@sum.size"]), links: "all.")
        default: path(&random, variables, ending: random.pick(["size", "all.@count"]))
        }
    }

    private static func path(
        _ random: inout SeededGenerator, _ variables: [String], ending: String, links: String = ""
    ) -> String {
        let start = variables.last.map { random.chance(70) ? $0 + "." : "" } ?? ""
        return start + repeated("next.", random.pick([0, 0, 1, 3, 7])) + links + ending
    }
}
