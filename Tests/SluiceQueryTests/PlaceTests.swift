import SluiceModel
import Testing

@testable import SluiceQuery

/// AFTER and BEFORE beside the other clauses.
@Suite struct PlaceTests {
    private let schema: Schema

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("price", .scalar(.double)),
                    Property("year", PropertyType(.scalar(.int), isOptional: true)), Property("after", .scalar(.int)),
                    Property("tags", PropertyType(.scalar(.string), container: .list)),
                ]),
            ClassSchema("Memo", properties: [Property("text", .scalar(.string)), Property("isNew", .scalar(.bool))]),
        ])
    }

    private func query(_ text: String) throws -> Query { try Query.parse(text, schema: schema) }

    private func failure(of text: String) -> QueryError? {
        do throws(QueryError) { _ = try Query.parse(text, schema: schema) } catch { return error }
        return nil
    }

    private static let id = "0123456789abcdef0123456789abcdef"

    @Test(arguments: [
        ("Car AFTER('a')", "Car AFTER(\"a\")"),
        ("Car SORT(price) AFTER(9, 'a') LIMIT(2)", "Car SORT(price ASC) AFTER(9, \"a\") LIMIT(2)"),
        ("Car SORT(price) BEFORE(9, 'b') AFTER(1.5, 'a')", "Car SORT(price ASC) AFTER(1.5, \"a\") BEFORE(9, \"b\")"),
        (
            "Car SORT(price) SORT(year DESC) AFTER(NULL, nan, 'a')",
            "Car SORT(year DESC, price ASC) AFTER(NULL, nan, \"a\")"
        ),
        (
            "Car SORT(vin DESC, price) AFTER('b', 'b') TOTAL LIMIT(3)",
            "Car SORT(vin DESC) AFTER(\"b\", \"b\") LIMIT(3) TOTAL"
        ),
        ("Car WHERE after > 3 AFTER('a') EXCLUDE(tags)", "Car WHERE after > 3 AFTER(\"a\") EXCLUDE(tags)"),
        (
            "Memo SORT(text, isNew) after('it\\'s', true, oid(\(id)))",
            "Memo SORT(\\text ASC, isNew ASC) AFTER(\"it's\", true, oid(\(id)))"
        ),
        (
            "Memo SORT(text) AFTER(' LIMIT(2)', oid(\(id))) LIMIT(3)",
            "Memo SORT(\\text ASC) AFTER(\" LIMIT(2)\", oid(\(id))) LIMIT(3)"
        ),
    ])
    func aPlaceHasOneFormInTheCanonicalText(text: String, canonical: String) throws {
        #expect(try query(text).canonicalText == canonical)
        #expect(try query(canonical).canonicalText == canonical)
    }

    @Test(arguments: [
        ("Car SORT(price) AFTER('a')", 16, QueryError.Code.typeMismatch, "a value for each key of SORT (price)"),
        ("Car AFTER(1, 'a')", 4, .typeMismatch, "the key of an object: 1 in all; found 2"),
        ("Car SORT(price) AFTER('x', 'a')", 22, .typeMismatch, "price"),
        ("Car SORT(year) AFTER(1.5, 'a')", 21, .typeMismatch, "AFTER takes what an object has"),
        ("Car SORT(price) AFTER(NULL, 'a')", 22, .typeMismatch, "AFTER takes what an object has"),
        ("Car SORT(year) AFTER(1.5, 'a')", 21, .typeMismatch, "is between two values of int"),
        ("Car SORT(year) AFTER(99999999999999999999, 'a')", 21, .typeMismatch, "is beyond the range of int"),
        ("Car SORT(year) BEFORE(-99999999999999999999, 'a')", 22, .typeMismatch, "BEFORE takes what an object has"),
        ("Car SORT(year) AFTER('1', 'a')", 21, .typeMismatch, "AFTER takes int as the value of 'year'; found string"),
        ("Car SORT(price) AFTER(NULL, 'a')", 22, .typeMismatch, "'price' of no object is null"),
        ("Car AFTER(3)", 10, .typeMismatch, "AFTER takes string as the value of 'vin'; found int"),
        ("Memo AFTER('a')", 11, .typeMismatch, "AFTER ends with oid(…)"),
        ("Car LIMIT(3) AFTER('a')", 13, .unsupported, "stands before LIMIT"),
        ("Car AFTER('a') SORT(price)", 15, .unsupported, "SORT stands before AFTER"),
        ("Car AFTER('a') AFTER('b')", 15, .syntax, "one AFTER"),
        ("Car AFTER('a') DISTINCT(price)", 4, .unsupported, "DISTINCT"),
        ("Car BEFORE('a') TOTAL", 16, .unsupported, "needs a LIMIT"),
        ("Car AFTER 'a'", 10, .syntax, "'(' after AFTER"),
        ("Car AFTER()", 10, .syntax, "a value"),
        ("Car AFTER('a'", 13, .syntax, "')'"),
        ("Car SORT(price) AFTER({1}, 'a')", 22, .syntax, "a value"),
    ])
    func whatIsNoPlaceInTheOrderIsRefusedWithItsPlace(
        text: String, position: Int, code: QueryError.Code, words: String
    ) throws {
        let error = try #require(failure(of: text))
        #expect(error.code == code && error.position == position, "\(error)")
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func placesOfOneOrderShareWhatTheyCountAndNotWhatTheyGrowFrom() throws {
        let pages = try ["", " AFTER(9, 'a')", " AFTER(10, 'a')"].map {
            try query("Car WHERE year > 3 SORT(price)\($0) LIMIT(20) TOTAL")
        }
        #expect(Set(pages.map(\.countingKey)).count == 1)
        #expect(Set(pages.map(\.growingKey)).count == 3)
        let grown = try query("Car WHERE year > 3 SORT(price) AFTER(9, 'a') LIMIT(40) TOTAL")
        #expect(grown.growingKey == pages[1].growingKey && grown.hash != pages[1].hash)
        #expect(
            try query("Car WHERE year > 3 SORT(price) AFTER(9, 'a') TOTAL LIMIT(40) EXCLUDE(tags)").growingKey
                != grown.growingKey)
        #expect(try query("Car SORT(price)").growingKey == nil)
        #expect(try query("Car LIMIT(3) SORT(price) LIMIT(2)").growingKey == nil)
        #expect(
            try query("Car WHERE year IN {1, 2} AND vin != 'LIMIT(3)' LIMIT(4)").growingKey
                == query("Car WHERE vin != 'LIMIT(3)' AND year IN {2, 1} LIMIT(9)").growingKey)
    }
}
