import FoundationEssentials
import SluiceModel
import Testing

struct ValueTests {
    /// Distinct values in the total order.
    static let ascending: [Value] = [
        .null, .bool(false), .bool(true), .int(.min), .int(-1), .int(0), .int(.max),
        .float(-.infinity), .float(0), .float(1), .float(.infinity), .float(.nan),
        .double(-.infinity), .double(-1), .double(0), .double(.leastNonzeroMagnitude), .double(.infinity),
        .double(.nan),
        .decimal(-1), .decimal(0), .decimal(2), .decimal(.nan),
        .string(""), .string("Z"), .string("a"), .string("ab"), .string("e\u{301}"), .string("\u{E9}"),
        .string("\u{FFFD}"), .string("\u{1F600}"),
        .data([]), .data([0]), .data([0, 1]), .data([0x80]),
        .date(Timestamp(microseconds: -1)), .date(Timestamp(microseconds: 1)),
        .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9))),
        .uuid(UUID(uuid: (0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
        .objectID(ObjectID(high: 0, low: 9)), .objectID(ObjectID(high: 1, low: 0)),
        .link(.int(1)), .link(.int(2)),
        .list([]), .list([.int(1)]), .list([.int(1), .null]), .list([.int(2)]),
        .set([]), .set([.int(1)]),
        .map(ValueMap()), .map(ValueMap([("a", .int(1))])), .map(ValueMap([("a", .int(2))])),
        .map(ValueMap([("b", .int(0))])),
    ]

    @Test func valuesCompareInOneTotalOrderNullFirstAndNaNAfterEveryNumber() {
        let values = Self.ascending
        for left in values.indices {
            for right in values.indices {
                let order = Value.compare(values[left], values[right])
                #expect(order.signum() == (left - right).signum(), "\(values[left]) against \(values[right])")
                #expect((values[left] == values[right]) == (left == right), "\(values[left]) and \(values[right])")
                #expect((values[left] < values[right]) == (left < right))
            }
        }
        #expect(Set(values).count == values.count)
    }

    @Test func stringsThatOnlyLookAlikeAreTwoValues() {
        #expect(Value.string("\u{E9}") != .string("e\u{301}"))
        #expect(Set([Value.string("\u{E9}"), .string("e\u{301}")]).count == 2)
    }

    @Test(arguments: [
        (Value.double(0), Value.double(-0.0)), (.float(0), .float(-0.0)),
        (.double(.nan), .double(Double(nan: 5, signaling: false))), (.float(.nan), .float(-.nan)),
    ])
    func zerosAreOneValueAndSoAreAllNaN(left: Value, right: Value) {
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(Value.compare(left, right) == 0)
    }

    @Test func numbersOfDifferentTypesAreDifferentValues() {
        #expect(Value.int(1) != .double(1))
        #expect(Value.float(1) != .double(1))
    }

    @Test func aSetIsSortedAndHoldsEachElementOnce() {
        let set = Value.set(of: [.int(3), .string("\u{E9}"), .int(1), .int(3), .string("e\u{301}"), .null])
        #expect(set == .set([.null, .int(1), .int(3), .string("e\u{301}"), .string("\u{E9}")]))
    }
}
