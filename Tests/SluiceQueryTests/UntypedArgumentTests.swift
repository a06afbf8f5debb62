import SluiceModel
import SluiceQuery
import Testing

/// Arguments from JSON: a string stands for every value that JSON has no form of its own for.
@Suite struct UntypedArgumentTests {
    private static let id = "00000000000000070000000000000001"

    private func canonical(_ condition: String, _ arguments: [Value]) throws -> String {
        let query = try Query.parse(
            "Car WHERE " + condition, arguments: arguments, areTextsUntyped: true, schema: Fixtures.schema)
        return String(query.canonicalText.dropFirst("Car WHERE ".count))
    }

    @Test(
        arguments: [
            ("bought > $0", [.string("2013-01-01T00:00:00Z")], "bought > 2013-01-01T00:00:00Z"),
            ("bought == $0", [.string("1815-12-10T00:00:00Z")], "bought == T-4861728000:0"),
            ("bought == $0", [.string("+012013-01-01T00:00:00.000001Z")], "bought == T316926518400:1000"),
            ("bought IN {$0}", [.string("2013-01-01T00:00:00Z")], "bought == 2013-01-01T00:00:00Z"),
            (
                "bought IN $0", [.list([.string("2013-01-01T00:00:00Z"), .null])],
                "bought IN {NULL, 2013-01-01T00:00:00Z}"
            ),
            (
                "bought BETWEEN $0", [.list([.string("2013-01-01T00:00:00Z"), .string("2013-01-02T00:00:00Z")])],
                "bought <= 2013-01-02T00:00:00Z AND bought >= 2013-01-01T00:00:00Z"
            ),
            ("cost == $0", [.string("0.10")], "cost == 0.1"),
            ("price == $0", [.string("9007199254740993")], "price == 9007199254740993"),
            ("weight < $0", [.string("Infinity")], "weight < inf"), ("weight == $0", [.string("NaN")], "weight == nan"),
            ("data == $0", [.string("AQI=")], "data == B64\"AQI=\""),
            ("garage == $0", [.string(id)], "garage == oid(\(id))"),
            ("owner == $0", [.string("12")], "owner == \"12\""),
            ("name == $0", [.string("12")], "name == \"12\""), ("isNew == $0", [.bool(true)], "isNew == true"),
            ("price < $0 AND cost < $1", [.int(3), .double(0.5)], "cost < 0.5 AND price < 3"),
            ("tags[$0] == $1", [.int(0), .string("1")], "tags[0] == \"1\""),
            ("$K0 == $1", [.string("note"), .null], "note == NULL"),
            ("ANY tags IN $0", [.list([.string("1"), .string("2")])], "ANY tags IN {\"1\", \"2\"}"),
        ] as [(String, [Value], String)])
    func `a string takes the type of what it is compared with`(
        condition: String, arguments: [Value], expected: String
    ) throws {
        #expect(try canonical(condition, arguments) == canonical(expected, []))
    }

    @Test func `a place takes what rows had`() throws {
        let query = try Query.parse(
            "Car SORT(bought, cost) AFTER($0, $1, $2) LIMIT(3)",
            arguments: [.string("2013-01-01T00:00:00Z"), .string("2.5"), .string("7")], areTextsUntyped: true,
            schema: Fixtures.schema)
        #expect(
            query.canonicalText
                == "Car SORT(bought ASC, cost ASC) AFTER(2013-01-01T00:00:00Z, 2.5, 7) LIMIT(3)")
    }

    /// Elsewhere a string is text and nothing else: whoever gives a value of a type means that.
    @Test func `a string that is no date is refused with what a date looks like`() {
        for (untyped, words) in [(true, "the argument is not date"), (false, "unsupported comparison")] {
            let error = #expect(throws: QueryError.self) {
                try Query.parse(
                    "Car WHERE bought == $0", arguments: [.string("soon")], areTextsUntyped: untyped,
                    schema: Fixtures.schema)
            }
            #expect(error?.message.hasPrefix(words) == true && error?.position == 20, "\(error?.message ?? "")")
        }
    }

    @Test func `a key of a map is not taken for a position`() throws {
        let query = try Query.parse(
            "Car WHERE sizes[$0] > 2", arguments: [.string("0")], areTextsUntyped: true, schema: Fixtures.schema)
        #expect(query.canonicalText == "Car WHERE sizes[\"0\"] > 2")
    }
}
