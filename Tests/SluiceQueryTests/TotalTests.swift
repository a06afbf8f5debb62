import SluiceModel
import Testing

@testable import SluiceQuery

/// TOTAL beside the other clauses.
@Suite struct TotalTests {
    private let schema: Schema

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Bill", primaryKey: "number",
                properties: [
                    Property("number", .scalar(.int)), Property("total", .scalar(.int)),
                    Property("isPaid", .scalar(.bool)), Property("city", .scalar(.string)),
                ]),
            ClassSchema("Total", properties: [Property("total", .scalar(.bool))]),
        ])
    }

    private func text(_ query: String) throws -> String { try Query.parse(query, schema: schema).canonicalText }

    private func failure(of query: String) -> QueryError? {
        do throws(QueryError) { _ = try Query.parse(query, schema: schema) } catch { return error }
        return nil
    }

    /// The table of the specification: TOTAL with each other clause, in whatever order they are written.
    @Test(arguments: [
        ("Bill TOTAL", "Bill TOTAL"),
        ("Bill total", "Bill TOTAL"),
        ("Bill WHERE total > 3 TOTAL", "Bill WHERE total > 3 TOTAL"),
        ("Bill WHERE number > total TOTAL", "Bill WHERE number > total TOTAL"),
        ("Bill WHERE isPaid TOTAL LIMIT(2)", "Bill WHERE isPaid == true LIMIT(2) TOTAL"),
        ("Bill TOTAL SORT(total) LIMIT(2)", "Bill SORT(total ASC) LIMIT(2) TOTAL"),
        ("Bill SORT(total) TOTAL LIMIT(9) LIMIT(2)", "Bill SORT(total ASC) LIMIT(2) TOTAL"),
        ("Bill LIMIT(2) TOTAL EXCLUDE(city) TOTAL", "Bill LIMIT(2) EXCLUDE(city) TOTAL"),
        ("Bill LIMIT(0) TOTAL TOTAL", "Bill LIMIT(0) TOTAL"),
        ("Total TOTAL", "Total TOTAL"),
        ("Total WHERE total TOTAL", "Total WHERE total == true TOTAL"),
        ("Total WHERE NOT total AND total TOTAL", "Total WHERE total == false AND total == true TOTAL"),
    ])
    func totalHasOnePlaceInTheCanonicalText(query: String, canonical: String) throws {
        #expect(try text(query) == canonical)
        #expect(try text(canonical) == canonical)
    }

    @Test(arguments: [
        ("Bill DISTINCT(city) LIMIT(2) TOTAL", 29, QueryError.Code.unsupported, "DISTINCT"),
        ("Bill LIMIT(9) SORT(total) TOTAL", 26, .unsupported, "SORT behind LIMIT"),
        ("Bill TOTAL(3)", 10, .syntax, "after TOTAL"),
        ("Bill TOTAL SRT(total)", 11, .syntax, "after TOTAL; did you mean 'SORT'?"),
        ("Bill TOTAL LIMT(3)", 11, .syntax, "after TOTAL; did you mean 'LIMIT'?"),
        ("Bill TOTAL LIMIT 3", 17, .syntax, "'(' after LIMIT"),
        ("Bill SORT(total) TOTAL AND LIMIT(3)", 23, .syntax, "another clause or the end of the query after TOTAL"),
        ("Bill TOTAL WHERE total > 3", 11, .syntax, "'WHERE'"),
        ("Bill LIMIT(2) TOTL", 14, .syntax, "did you mean 'TOTAL'"),
        ("OBJECT(00000000000000000000000000000001) TOTAL", 41, .syntax, "the end of the query"),
    ])
    func whatCannotBeCountedIsRefusedWithItsPlace(
        query: String, position: Int, code: QueryError.Code, words: String
    ) throws {
        let error = try #require(failure(of: query))
        #expect(error.code == code && error.position == position, "\(error)")
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func aTotalMakesAnotherQueryThatCountsOnlyWithALimit() throws {
        let limited = try Query.parse("Bill LIMIT(2)", schema: schema)
        let counted = try Query.parse("Bill LIMIT(2) TOTAL", schema: schema)
        #expect(limited.hash != counted.hash && limited.form.key != counted.form.key)
        #expect(!limited.countsMatches && counted.countsMatches)
        #expect(try !Query.parse("Bill TOTAL", schema: schema).countsMatches)
        #expect(try !Query.parse("Bill TOTAL", schema: schema).isOfWholeClass)
    }

    @Test func windowsOfOneConditionCountTheSame() throws {
        func key(_ text: String) throws -> Query.Key { try Query.parse(text, schema: schema).countingKey }
        let first = try key("Bill WHERE total > 3 SORT(city) LIMIT(2) TOTAL")
        #expect(try key("Bill WHERE total > 3 LIMIT(20) EXCLUDE(city) TOTAL") == first)
        #expect(try key("Bill WHERE total > 4 SORT(city) LIMIT(2) TOTAL") != first)
        #expect(try key("Bill LIMIT(2) TOTAL") != first)
    }
}
