import SluiceModel
import Testing

struct ValueMapTests {
    @Test func entriesStandInTheOrderOfTheirKeysBytesWhateverTheOrderOfInsertion() {
        let map = ValueMap([("b", .int(1)), ("\u{E9}", .int(2)), ("B", .int(3)), ("e\u{301}", .int(4)), ("", .int(5))])
        #expect(map.entries.map { Array($0.key.utf8) } == [[], [0x42], [0x62], [0x65, 0xCC, 0x81], [0xC3, 0xA9]])
        #expect(map.entries.map(\.value) == [.int(5), .int(3), .int(1), .int(4), .int(2)])
    }

    @Test func ofEntriesWithOneKeyTheLastStays() {
        #expect(
            ValueMap([("a", .int(1)), ("b", .int(2)), ("a", .int(3))]) == ValueMap([("a", .int(3)), ("b", .int(2))]))
    }

    @Test func aKeyIsReadReplacedAndRemoved() {
        var map = ValueMap([("a", .int(1)), ("c", .int(3))])
        #expect(map["b"] == nil)
        map["b"] = .null
        #expect(map["b"] == .null)
        map["c"] = .int(4)
        #expect(map["c"] == .int(4))
        map["a"] = nil
        map["z"] = nil
        #expect(map.entries.map(\.key) == ["b", "c"])
    }

    @Test func keysThatOnlyLookAlikeHoldTwoValues() {
        var map = ValueMap([("\u{E9}", .int(1))])
        #expect(map["e\u{301}"] == nil)
        map["e\u{301}"] = .int(2)
        #expect(map.entries.count == 2)
        #expect(map["\u{E9}"] == .int(1))
    }
}
