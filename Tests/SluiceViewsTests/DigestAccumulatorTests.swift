import FoundationEssentials
import SluiceModel
import Testing

@testable import SluiceViews

@Suite struct DigestAccumulatorTests {
    private func row(_ number: Int, _ values: [String: Value] = [:]) -> Row {
        TestSchema.row(TestSchema.object(number, ofClass: TestSchema.user), values)
    }

    private func digest(_ rows: [Row], properties: PropertySet = [0, 1, 2, 3, 4], isRoot: Bool = true) -> ObjectID {
        var accumulator = DigestAccumulator()
        for row in rows {
            accumulator.add(row, of: TestSchema.schema[TestSchema.user], properties: properties, isRoot: isRoot)
        }
        return accumulator.digest
    }

    @Test func orderDoesNotMatter() {
        let (first, second) = (row(1, ["name": .string("a")]), row(2, ["name": .string("b")]))
        #expect(digest([first, second]) == digest([second, first]))
        #expect(digest([first, second]) != digest([first]))
        #expect(digest([]) == ObjectID(high: 0, low: 0))
    }

    @Test func theRoleCounts() {
        #expect(digest([row(1)]) != digest([row(1)], isRoot: false))
    }

    @Test func onlyVisibleValuesCount() {
        let (first, second) = (row(1, ["age": .int(1)]), row(1, ["age": .int(2)]))
        #expect(digest([first]) != digest([second]))
        #expect(digest([first], properties: [0, 1]) == digest([second], properties: [0, 1]))
        #expect(digest([first], properties: [0, 1]) != digest([first], properties: [0, 1, 4]))
        var later = first
        later.version = 9
        #expect(digest([first]) == digest([later]))
    }

    @Test(arguments: [
        (Value.null, Value.int(0)), (.int(1), .double(1)), (.double(0), .double(-0.0)), (.float(0), .float(-0.0)),
        (.string(""), .data([])), (.list([]), .set([])),
        (.list([.string("ab"), .string("c")]), .list([.string("a"), .string("bc")])), (.bool(false), .bool(true)),
        (.link(.int(1)), .link(.string("1"))), (.string("\u{e9}"), .string("e\u{301}")),
        (.date(Timestamp(microseconds: 1)), .int(1)),
        (.map(ValueMap([("a", .int(1))])), .map(ValueMap([("b", .int(1))]))),
    ])
    func differentValuesHaveDifferentBytes(left: Value, right: Value) {
        var encoders = (DigestEncoder(), DigestEncoder())
        encoders.0.append(left)
        encoders.1.append(right)
        #expect(encoders.0.bytes != encoders.1.bytes)
    }

    @Test(arguments: [
        (Value.double(.nan), Value.double(-.nan)), (.float(.nan), .float(.signalingNaN)),
        (.decimal(Decimal(string: "1.0")!), .decimal(1)),
        (.decimal(Decimal(string: "100")!), .decimal(Decimal(string: "1e2")!)),
    ])
    func equalValuesHaveEqualBytes(left: Value, right: Value) {
        #expect(left == right)
        var encoders = (DigestEncoder(), DigestEncoder())
        encoders.0.append(left)
        encoders.1.append(right)
        #expect(encoders.0.bytes == encoders.1.bytes)
    }
}
