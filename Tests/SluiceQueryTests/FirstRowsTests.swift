import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceQuery

/// The first results in an order that no index has: SQL looks for a bound first, so that few ids are computed.
@Suite(.ownThread) struct FirstRowsTests {
    private let schema: Schema

    init() throws {
        func optional(_ type: ScalarType) -> PropertyType { PropertyType(.scalar(type), isOptional: true) }
        schema = try Schema([
            ClassSchema(
                "Sheet", primaryKey: "key",
                properties: [
                    Property("key", .scalar(.string)), Property("flag", .scalar(.bool)),
                    Property("count", optional(.int)),
                    Property("weight", optional(.double)), Property("name", optional(.string)),
                    Property("at", optional(.date)), Property("code", optional(.data)),
                    Property("rank", .scalar(.int), isIndexed: true),
                ]),
            ClassSchema("Memo", properties: [Property("count", .scalar(.int))]),
        ])
    }

    /// A world with few values of each property, among them null, NaN and infinity.
    private func world(_ random: inout SeededGenerator) throws -> TestWorld {
        let world = TestWorld(schema)
        let weights: [Value] = [
            .null, .double(.nan), .double(-.infinity), .double(.infinity), .double(0.5), .double(-2),
        ]
        let names: [Value] = [.null, .string(""), .string("a"), .string("A"), .string("\u{FFFF}")]
        let codes: [Value] = [.null, .data([]), .data([255, 255])]
        for number in 0..<random.pick([0, 1, 5, 30]) {
            try world.insert(
                "Sheet", .string("k\(number)"),
                [
                    "flag": .bool(random.chance(50)),
                    "count": random.pick([.null, .int(.min), .int(0), .int(1), .int(.max)]),
                    "weight": random.pick(weights), "name": random.pick(names), "code": random.pick(codes),
                    "at": random.pick([.null, .date(Timestamp(microseconds: 5)), .date(Timestamp(microseconds: -5))]),
                    "rank": .int(Int64(random.pick([1, 2]))),
                ])
        }
        return world
    }

    @Test("Pages of every order are those of the evaluator", arguments: seeds(6))
    func pagesAreThoseOfTheEvaluator(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let keys = ["flag", "count", "weight", "name", "at", "code", "rank", "key"]
        let conditions = [
            "TRUEPREDICATE", "FALSEPREDICATE", "count > 0", "count == NULL", "NOT weight < 1",
            "flag == true OR count < 1",
            "name CONTAINS 'a'",
        ]
        for _ in 0..<20 {
            let world = try world(&random)
            for _ in 0..<30 {
                let first = random.pick(keys)
                let sorted = random.chance(30) ? [first, random.pick(keys.filter { $0 != first })] : [first]
                let sort = sorted.map { "\($0) \(random.pick(["ASC", "DESC"]))" }
                let text = "Sheet WHERE \(random.pick(conditions)) SORT(\(sort.joined(separator: ", ")))"
                let query = try Query.parse(text, schema: schema)
                let results = try world.evaluate(query)
                let indices = results.isEmpty ? [] : [Int(random.next() % UInt64(results.count))]
                #expect(try world.pageDifference(query, results, at: indices) == nil, "seed \(seed), \(text)")
            }
        }
    }

    @Test(
        "A bound is looked for where ids cost more",
        arguments: [
            ("Sheet SORT(count ASC)", 50, true), ("Sheet SORT(name DESC, rank ASC)", 50, true),
            ("Sheet WHERE count > 3 SORT(weight ASC)", 8_192, true), ("Sheet SORT(count ASC)", 8_193, false),
            ("Sheet SORT(rank ASC)", 50, false), ("Sheet SORT(count ASC, key ASC)", 50, false),
            ("Sheet SORT(code ASC)", 50, false), ("Sheet WHERE name LIKE 'a*' SORT(count ASC)", 50, false),
            ("Memo SORT(count ASC)", 50, false), ("Sheet SORT(count ASC)", 0, false),
        ])
    func aBoundIsLookedForWhereIDsCostMore(text: String, limit: Int, isBounded: Bool) throws {
        let statement = SQLCompiler(schema: schema).select(try Query.parse(text, schema: schema), limit: limit)
        #expect(statement.text.contains("OFFSET") == isBounded)
    }
}
