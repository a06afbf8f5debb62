import SluiceModel
import Testing

@testable import SluiceQuery

/// Alternatives that fix the same values are looked up in a list instead of being tried one by one.
struct TupleTests {
    private let schema: Schema

    init() throws {
        schema = try Schema([
            ClassSchema(
                "Flight", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("month", .scalar(.int)), Property("day", .scalar(.int)),
                ])
        ])
    }

    private func query(_ count: Int) throws -> Query {
        let alternatives = (1...count).map { "(month == \($0) AND day == \($0 % 7))" }
        return try .parse("Flight WHERE " + alternatives.joined(separator: " OR "), schema: schema)
    }

    @Test func theEvaluatorComparesWithTheLogarithmOfTheAlternatives() throws {
        for count in [8, 150, 900] {
            guard case .or(let operands) = try query(count).predicate else {
                Issue.record("no alternatives")
                continue
            }
            let (memberships, others) = TupleMembership.split(operands, isConjunction: false)
            #expect(memberships.count == 1 && others.isEmpty)
            let test = TupleTest(try #require(memberships.first), isNegated: false, schema: schema)
            let world = TestWorld(schema)
            for (month, day, passes) in [(5, 5, true), (5, 6, false), (count, count % 7, true), (count + 1, 1, false)] {
                let row = Row(key: .int(1), values: [.int(1), .int(Int64(month)), .int(Int64(day))])
                var comparisonCount = 0
                let found = try EvaluationContext.with(row) { try test.passes($0, world, counting: &comparisonCount) }
                #expect(found == passes, "\(month), \(day) of \(count)")
                #expect(comparisonCount <= 4 * (Int.bitWidth - count.leadingZeroBitCount))
            }
        }
    }

    @Test func liveViewsAreFiledUnderTheValuesOfAlternatives() throws {
        let conditions = try query(5).rootConditions(schema: schema)
        #expect(
            conditions == [
                RootCondition(property: 2, .isIn((1...5).map { .int($0) })),
                RootCondition(property: 1, .isIn((1...5).map { .int($0) })),
            ])
        let mixed = try Query.parse(
            "Flight WHERE (month == 1 AND day == 1) OR (month == 2 AND day == 2) OR (month == 3 AND day == 3) "
                + "OR (month == 4 AND day == 4) OR day == 9", schema: schema)
        #expect(mixed.rootConditions(schema: schema).isEmpty)
    }
}
