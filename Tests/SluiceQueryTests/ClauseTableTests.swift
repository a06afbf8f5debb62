import Foundation
import SluiceModel
import Testing

@testable import SluiceQuery

/// The table of docs/query-language.md that says of each clause whether it goes with each other.
@Suite struct ClauseTableTests {
    private static let clauses = [
        "WHERE": "WHERE year > 3", "SORT": "SORT(price)", "AFTER": "AFTER('x')", "DISTINCT": "DISTINCT(name)",
        "LIMIT": "LIMIT(3)", "EXCLUDE": "EXCLUDE(note)", "TOTAL": "TOTAL", "GROUP": "GROUP(name)",
        "AGGREGATE": "AGGREGATE(@count)",
    ]
    private static let order = [
        "WHERE", "SORT", "AFTER", "DISTINCT", "LIMIT", "EXCLUDE", "TOTAL", "GROUP", "AGGREGATE",
    ]

    private func cells(_ line: Substring) -> [String] {
        line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test func eachClauseGoesWithEachOtherAsTheTableSays() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let page = try String(contentsOfFile: "\(root)/docs/query-language.md", encoding: .utf8)
        let lines = page.split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| beside | WHERE") })
        let titles = cells(lines[start])
        #expect(titles.dropFirst() == Self.order[...])
        let rows = lines[(start + 2)...].prefix { $0.hasPrefix("|") }
        try #require(rows.count == Self.order.count)
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("name", .scalar(.string)),
                    Property("price", .scalar(.double)), Property("year", .scalar(.int)),
                    Property("note", .scalar(.string)),
                ])
        ])
        for row in rows.map(cells) {
            for (other, cell) in zip(titles, row).dropFirst() {
                let first = try #require(Self.clauses[row[0]])
                let second = try #require(Self.clauses[other])
                // A condition stands first and once, and a place names what its order has.
                let pair = [(row[0], first), (other, second)].sorted {
                    Self.order.firstIndex(of: $0.0)! < Self.order.firstIndex(of: $1.0)!
                }
                var text = "Car " + pair.map(\.1).joined(separator: " ")
                if row[0] == "WHERE", other == "WHERE" { text = "Car WHERE year > 3 AND year > 3" }
                if Set([row[0], other]) == ["SORT", "AFTER"] { text = "Car SORT(price) AFTER(3, 'x')" }
                let isTaken = (try? Query.parse(text, schema: schema)) != nil
                #expect(isTaken == !cell.hasPrefix("no"), "\(text): \(cell)")
            }
        }
    }
}
