import FoundationEssentials
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

/// Compares values in stored rows with the same values as literals of the query language.
struct LiteralTests {
    @Test(arguments: ScalarType.allCases)
    func aStoredValueIsFoundByItsLiteralInTextAndAsAnArgument(type: ScalarType) throws {
        let declared = try ClassSchema(
            "One", properties: [Property("value", .scalar(type), isIndexed: true), Property("plain", .scalar(type))])
        let schema = try Schema([declared])
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        // A query has at most 65,536 bytes.
        let values = EdgeValues.edges(of: type).filter {
            if case .data(let data) = $0 { data.count < 10_000 } else { true }
        }
        try storage.write {
            _ = try storage.merge(schema, sides: ("a", "b"))
            for (index, value) in values.enumerated() {
                let key = ObjectKey.id(ObjectID(high: 0, low: UInt64(index)))
                try storage.insert(Row(key: key, values: [value, value]), ofClass: 0)
            }
        }
        for value in values where value == value && !isNotANumber(value) {
            for property in ["value", "plain"] {
                let query = try Query.parse("One WHERE \(property) == $0", arguments: [value], schema: schema)
                let expected = values.count { $0 == value }
                #expect(try storage.count(matching: query) == expected)
                // The canonical text contains the value as a literal.
                let again = try Query.parse(query.canonicalText, schema: schema)
                #expect(try storage.count(matching: again) == expected)
                let evaluator = Evaluator(again, schema: schema)
                let matches = try values.count { candidate in
                    try evaluator.matches(
                        Row(key: .id(ObjectID(high: 0, low: 1)), values: [candidate, candidate]), in: storage)
                }
                #expect(matches == expected)
            }
        }
        let distinct = try Query.parse("One WHERE TRUEPREDICATE DISTINCT(plain)", schema: schema)
        #expect(try storage.count(matching: distinct) == Set(values).count)
    }

    private func isNotANumber(_ value: Value) -> Bool {
        switch value {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        case .decimal(let number): number.isNaN
        default: false
        }
    }

    @Test(arguments: ["340282366920938463463374607431768211456", "0.1000000000000000055511151231257827021181583404541"])
    func aLiteralOfMoreDigitsThanADecimalHasIsRefused(digits: String) throws {
        let schema = try Schema([ClassSchema("One", properties: [Property("value", .scalar(.decimal))])])
        let error = #expect(throws: QueryError.self) { try Query.parse("One WHERE value == \(digits)", schema: schema) }
        #expect(error?.message.contains("more digits than a decimal") == true)
    }
}
