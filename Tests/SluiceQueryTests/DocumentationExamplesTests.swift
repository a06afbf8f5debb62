import FoundationEssentials
import SluiceModel
import Testing

@testable import SluiceQuery

/// The examples of docs/query-language.md, as the page has them.
struct DocumentationExamplesTests {
    /// A line of a fenced block, and its expected result.
    private struct Example {
        let text: String
        /// The text after the arrow.
        let expected: String

        init(_ line: Substring) {
            let parts = line.split(separator: " ⇒", maxSplits: 1, omittingEmptySubsequences: false)
            text = String(parts[0])
            expected = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
    }

    /// The arguments that the page uses.
    private static let arguments: [Value] = [
        .int(9000), .string("Toyota"), .list([.int(2000), .int(2001)]), .string("dealer.city"),
    ]

    private let schema: Schema
    private let page: String

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("name", .scalar(.string)),
                    Property("price", .scalar(.double)), Property("year", .scalar(.int)),
                    Property("isNew", .scalar(.bool)), Property("note", .scalar(.string, isOptional: true)),
                    Property("weight", .scalar(.double, isOptional: true)), Property("bought", .scalar(.date)),
                    Property("serial", .scalar(.uuid)), Property("photo", .scalar(.data)),
                    Property("cost", .scalar(.decimal)), Property("dealer", .link("Dealer")),
                    Property("owners", .links("Owner")), Property("garage", .link("Garage")),
                    Property("tags", PropertyType(.scalar(.string), container: .list)),
                    Property("sizes", PropertyType(.scalar(.double), container: .map)),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [
                    Property("code", .scalar(.string)), Property("city", .scalar(.string, isOptional: true)),
                    Property("owner", .link("Owner")),
                ]),
            ClassSchema(
                "Owner", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)), Property("name", .scalar(.string)),
                    Property("age", .scalar(.int)), Property("friends", .links("Owner")),
                ]),
            ClassSchema("Garage", properties: [Property("label", .scalar(.string))]),
        ])
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        page = String(decoding: try Data(contentsOf: URL(filePath: "/\(root)/docs/query-language.md")), as: UTF8.self)
    }

    /// The lines of all blocks with this word after their fence. There must be at least `count`, so that a broken page
    /// is noticed.
    private func examples(_ info: String, atLeast count: Int) throws -> [Example] {
        var found: [Example] = []
        var isInside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = !isInside && line == "```\(info)"
            } else if isInside, !line.isEmpty {
                found.append(Example(line))
            }
        }
        try #require(found.count >= count)
        return found
    }

    private func query(_ text: String) throws -> Query {
        try Query.parse(text, arguments: Self.arguments, schema: schema)
    }

    @Test func queriesParseAndSoDoesTheirCanonicalText() throws {
        for example in try examples("sluice", atLeast: 30) {
            do {
                let query = try query(example.text)
                #expect(try Query.parse(query.canonicalText, schema: schema) == query, "\(example.text)")
            } catch {
                Issue.record("\(example.text): \(error)")
            }
        }
    }

    @Test func canonicalTextsAreAsShown() throws {
        for example in try examples("sluice canonical", atLeast: 10) {
            #expect(try query(example.text).canonicalText == example.expected, "\(example.text)")
        }
    }

    @Test func refusedQueriesHaveTheCodesShown() throws {
        for example in try examples("sluice refused", atLeast: 20) {
            let error = #expect(throws: QueryError.self, "\(example.text)") { try query(example.text) }
            #expect(error?.code.description == example.expected, "\(example.text)")
        }
    }

    @Test func conditionsFindTheCarsShown() throws {
        let world = try cars()
        for example in try examples("sluice results", atLeast: 20) {
            let query = try Query.parse(example.text + " SORT(vin ASC)", className: "Car", schema: schema)
            let found = try world.evaluate(query).map(\.description).joined(separator: " ")
            #expect(found == example.expected, "\(example.text)")
        }
    }

    /// The table above the examples with results.
    private func cars() throws -> TestWorld {
        func links(_ keys: String...) -> Value { .list(keys.map { .link(.string($0)) }) }
        let world = TestWorld(schema)
        try world.insert("Dealer", .string("D1"), ["city": .string("Ulm")])
        try world.insert("Owner", .string("ann"), ["age": .int(30)])
        try world.insert("Owner", .string("ben"), ["age": .int(17)])
        try world.insert(
            "Car", .string("a"),
            [
                "name": .string("Toyota"), "price": .double(9000), "weight": .double(1.5),
                "dealer": .link(.string("D1")), "owners": links("ann", "ben"),
                "tags": .list([.string("red"), .string("cheap")]),
            ])
        try world.insert(
            "Car", .string("b"),
            [
                "name": .string("toyota"), "price": .double(20_000), "note": .string(""), "weight": .double(.nan),
                "dealer": .link(.string("gone")),
            ])
        try world.insert(
            "Car", .string("c"),
            [
                "name": .string("Äpfel"), "price": .double(9000.5), "note": .string("x"), "owners": links("ben"),
                "tags": .list([.string("red")]),
            ])
        try world.insert(
            "Car", .string("d"),
            [
                "name": .string("Kia"), "price": .double(100), "weight": .double(2), "dealer": .link(.string("D1")),
                "owners": links("far"),
            ])
        return world
    }
}
