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

    // MARK: Lists that were edited

    private func bytes(_ list: ElementList) -> [UInt8] {
        var encoder = DigestEncoder()
        encoder.append(list.values, list.identity)
        return encoder.bytes
    }

    private func whole(_ values: [Value]) -> [UInt8] {
        var encoder = DigestEncoder()
        encoder.append(.list(values))
        return encoder.bytes
    }

    private let equals = ElementList([.int(7), .int(7), .int(8)])

    /// The list after an element was moved to a position.
    private func moving(_ position: Int, before next: Int, in list: ElementList, time: Int64 = 5) throws -> ElementList
    {
        let place = try #require(
            ElementPlace.between(
                next > 0 ? list[next - 1].place : nil, list[next].place, time: time, origin: 9))
        var moved = list
        moved.apply(ListEdits([list[position].id: .changed(place, nil)]))
        return moved
    }

    @Test func anElementThatWasMovedPastAnEqualOneCounts() throws {
        let moved = try moving(1, before: 0, in: equals)
        #expect(moved.values == equals.values && moved[0].id == equals[1].id)
        #expect(bytes(moved) != bytes(equals))
    }

    /// Where it was put decides what else comes beside it.
    @Test func thePlaceOfAnElementCounts() throws {
        let (early, late) = try (moving(1, before: 0, in: equals), moving(1, before: 0, in: equals, time: 6))
        #expect(early.elements.map(\.id) == late.elements.map(\.id))
        #expect(bytes(early) != bytes(late))
    }

    @Test func aListWithTheElementsOfOneThatWasSetAsAWholeCountsAsThat() {
        #expect(bytes(equals) == whole(equals.values))
        let shorter = ElementList([.int(7), .int(7)])
        var edited = equals
        edited.apply(ListEdits([equals[2].id: .erased]))
        #expect(edited.values == shorter.values)
        #expect(bytes(edited) != whole(shorter.values), "its elements are those of another list")
    }

    /// A run says how many elements it has, in few bytes.
    @Test func anIdentityOfMoreElementsThanTheListHasTakesNoMemory() throws {
        var run = try #require(equals.identity.runs.first)
        run.count = Int(Int32.max)
        var encoder = DigestEncoder()
        encoder.append(equals.values, ListIdentity(runs: [run]))
        #expect(encoder.bytes.count < 100 && encoder.bytes != whole(equals.values))
    }

    @Test func anEditedPropertyCountsInTheDigestOfItsRow() throws {
        let schema = try Schema([
            ClassSchema(
                "Note", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("lines", PropertyType(.scalar(.int), container: .list)),
                ])
        ])
        func digest(_ lines: ElementList) -> ObjectID {
            var row = Row(key: .int(1), values: [.int(1), .null])
            row.set(lines, of: 1)
            var accumulator = DigestAccumulator()
            accumulator.add(row, of: schema[0], properties: [0, 1], isRoot: true)
            return accumulator.digest
        }
        #expect(digest(equals) != digest(try moving(1, before: 0, in: equals)))
        var accumulator = DigestAccumulator()
        let row = Row(key: .int(1), values: [.int(1), .list(equals.values)])
        accumulator.add(row, of: schema[0], properties: [0, 1], isRoot: true)
        #expect(digest(equals) == accumulator.digest)
    }
}
