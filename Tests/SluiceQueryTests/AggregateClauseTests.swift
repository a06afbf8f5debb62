import SluiceModel
import Testing

@testable import SluiceQuery

/// AGGREGATE and GROUP beside the other clauses.
@Suite struct AggregateClauseTests {
    private let schema: Schema

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Flight", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("delay", .scalar(.int, isOptional: true)),
                    Property("carrier", .scalar(.string)), Property("distance", .scalar(.double)),
                    Property("fare", .scalar(.decimal)), Property("due", .scalar(.date)),
                    Property("plane", .link("Plane")),
                    Property("tags", PropertyType(.scalar(.string), container: .list)),
                    Property("stops", .links("Plane")), Property("group", .scalar(.int)),
                ]),
            ClassSchema(
                "Plane", primaryKey: "tail",
                properties: [Property("tail", .scalar(.string)), Property("seats", .scalar(.int))]),
        ])
    }

    private func failure(of query: String) -> QueryError? {
        do throws(QueryError) { _ = try Query.parse(query, schema: schema) } catch { return error }
        return nil
    }

    @Test(arguments: [
        ("Flight AGGREGATE(@count)", "Flight AGGREGATE(@count)"),
        ("Flight aggregate(@count, @count)", "Flight AGGREGATE(@count)"),
        (
            "Flight WHERE delay > 60 AGGREGATE(@count, @avg.delay) AGGREGATE(@max.delay)",
            "Flight WHERE delay > 60 AGGREGATE(@count, @avg.delay, @max.delay)"
        ),
        ("Flight AGGREGATE(@min.due, @sum.plane.seats, @max.stops.@count)", nil),
        ("Flight AGGREGATE(@sum.fare, @sum.distance, @max.stops.@sum.seats)", nil),
        ("Flight AGGREGATE(@count) GROUP(carrier)", "Flight GROUP(carrier) AGGREGATE(@count)"),
        ("Flight GROUP(plane, carrier, plane) AGGREGATE(@count)", "Flight GROUP(plane, carrier) AGGREGATE(@count)"),
        ("Flight GROUP(plane.seats) AGGREGATE(@avg.delay)", nil),
        ("Flight GROUP(distance, fare) AGGREGATE(@avg.delay)", nil),
        (
            "Flight GROUP(carrier) AGGREGATE(@count, @avg.delay) SORT(@count DESC) LIMIT(5)",
            "Flight GROUP(carrier) AGGREGATE(@count, @avg.delay) SORT(@count DESC) LIMIT(5)"
        ),
        (
            "Flight LIMIT(5) SORT(carrier) GROUP(carrier) LIMIT(9) AGGREGATE(@count)",
            "Flight GROUP(carrier) AGGREGATE(@count) SORT(carrier ASC) LIMIT(5)"
        ),
        (
            "Flight GROUP(carrier) AGGREGATE(@count) SORT(carrier) SORT(@count DESC, @count DESC)",
            "Flight GROUP(carrier) AGGREGATE(@count) SORT(@count DESC, carrier ASC)"
        ),
        ("Flight WHERE group > 3 GROUP(group) AGGREGATE(@count)", nil),
    ])
    func theCanonicalTextHasOneOrderOfClauses(query: String, canonical: String?) throws {
        let parsed = try Query.parse(query, schema: schema)
        #expect(parsed.canonicalText == canonical ?? query)
        let again = try Query.parse(parsed.canonicalText, schema: schema)
        #expect(again == parsed && again.canonicalText == parsed.canonicalText)
        #expect(parsed.hasFigures && parsed.isPartial && parsed.limit == 0 && parsed.growingKey == nil)
    }

    @Test(arguments: [
        ("Flight AGGREGATE", 16, QueryError.Code.syntax, "'(' after AGGREGATE"),
        ("Flight AGGREGATE(delay)", 17, .syntax, "AGGREGATE takes @count"),
        ("Flight AGGREGATE(@coun)", 17, .syntax, "'@coun'; did you mean '@count'? AGGREGATE takes @count"),
        ("Flight AGGREGATE(@median.delay)", 17, .syntax, "'@median'; AGGREGATE takes @count"),
        ("Flight AGGREGATE()", 17, .syntax, "expected @count, or @sum, @avg, @min or @max and a property"),
        ("Flight GROUP(carrier) AGGREGATE(@count) SORT(count DESC)", 45, .unknownProperty, "did you mean '@count'?"),
        (
            "Flight GROUP(carrier) AGGREGATE(@avg.delay) SORT(avg.delay)", 49, .unknownProperty,
            "did you mean '@avg.delay'?"
        ),
        ("Flight AGGREGATE(@count.delay)", 24, .syntax, "takes no property"),
        ("Flight AGGREGATE(@avg)", 17, .syntax, "needs a property"),
        ("Flight AGGREGATE(@avg.carrier)", 22, .typeMismatch, "'carrier' is string"),
        ("Flight AGGREGATE(@sum.due)", 22, .typeMismatch, "works on numbers"),
        ("Flight AGGREGATE(@max.plane)", 22, .typeMismatch, "works on numbers and dates"),
        ("Flight AGGREGATE(@max.stops.seats)", 22, .typeMismatch, "has many"),
        ("Flight AGGREGATE(@max.delays)", 22, .unknownProperty, "did you mean 'delay'"),
        ("Flight GROUP(carrier)", 7, .unsupported, "add one"),
        ("Flight GROUP(tags) AGGREGATE(@count)", 13, .typeMismatch, "has many"),
        ("Flight GROUP(carier) AGGREGATE(@count)", 13, .unknownProperty, "did you mean 'carrier'"),
        ("Flight GROUP(id, group, due, carrier, plane) AGGREGATE(@count)", 38, .limitExceeded, "at most 4"),
        ("Plane GROUP(@links.Flight.plane.carrier) AGGREGATE(@count)", 12, .typeMismatch, "has many"),
        ("Plane GROUP(@links.Flight.plane.@count) AGGREGATE(@count)", 12, .unsupported, "@links"),
        ("Flight AGGREGATE(@count) LIMIT(5)", 25, .unsupported, "GROUP makes groups to limit"),
        ("Flight SORT(delay) AGGREGATE(@count)", 7, .unsupported, "GROUP makes groups to sort"),
        ("Flight AGGREGATE(@count) TOTAL", 25, .unsupported, "AGGREGATE(@count) says"),
        ("Flight AGGREGATE(@count) EXCLUDE(delay)", 25, .unsupported, "no objects are sent"),
        ("Flight DISTINCT(delay) AGGREGATE(@count)", 7, .unsupported, "everything that the condition finds"),
        ("Flight AFTER(3) AGGREGATE(@count)", 7, .unsupported, "AGGREGATE goes with no AFTER"),
        ("Flight BEFORE(3) AGGREGATE(@count)", 7, .unsupported, "AGGREGATE goes with no BEFORE"),
        ("Flight GROUP(carrier) AGGREGATE(@count) SORT(delay)", 45, .unsupported, "carrier, @count"),
        ("Flight GROUP(carrier) AGGREGATE(@count) SORT(@avg.delay)", 45, .unsupported, "'@avg.delay' is not among it"),
        ("Flight GROUP(carrier) AGGREGATE(@count) SORT(@count, @count DESC)", 53, .repeatedSortKey, "twice"),
        ("Flight SORT(@count DESC) LIMIT(5)", 12, .unsupported, "orders groups"),
        ("OBJECT(00000000000000000000000000000001) AGGREGATE(@count)", 41, .syntax, "the end of the query"),
    ])
    func whatCannotBeComputedIsRefusedWithItsPlace(
        query: String, position: Int, code: QueryError.Code, words: String
    ) throws {
        let error = try #require(failure(of: query))
        #expect(error.code == code && error.position == position, "\(error)")
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func atMostSixteenFunctionsAreTaken() throws {
        let paths = (0..<17).map { "@max.stops[\($0)].seats" }.joined(separator: ", ")
        let error = try #require(failure(of: "Flight AGGREGATE(\(paths))"))
        #expect(error.code == .limitExceeded && error.message.contains("at most 16"))
    }

    @Test func aHiddenPropertyIsNamedByNoFunctionAndNoGroup() throws {
        let context = ReadContext(
            rules: [try Query.parse("Flight", schema: schema), try Query.parse("Plane", schema: schema)],
            veils: [0: ReadVeil(properties: [1, 2]), 1: ReadVeil(properties: [1])], denying: ReadDenial(schema))
        for text in [
            "Flight AGGREGATE(@avg.delay)", "Flight GROUP(carrier) AGGREGATE(@count)",
            "Flight AGGREGATE(@max.plane.seats)", "Flight WHERE delay > 3 AGGREGATE(@count)",
            "Flight AGGREGATE(@max.stops.@sum.seats)",
        ] {
            let query = try Query.parse(text, schema: schema)
            #expect(throws: HiddenPropertyError.self, "\(text)") { try query.checkIsReadable(in: context) }
        }
        try Query.parse("Flight GROUP(plane) AGGREGATE(@count, @max.due)", schema: schema).checkIsReadable(in: context)
    }
}
