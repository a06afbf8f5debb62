import SluiceModel
import TestSupport
import Testing

@Suite struct PackedRowTests {
    private static let id = ObjectID(high: 5, low: 6)

    /// The row after packing and unpacking, and how many bytes it took; nil for one that is kept as it is.
    private func packed(_ row: Row) -> (row: Row, byteCount: Int?) {
        let id = if case .id(let own) = row.key { own } else { Self.id }
        let packed = PackedRow(row, id: id)
        defer { packed.deallocate(key: row.key) }
        #expect(packed.id(key: row.key) == id)
        return (packed.row(key: row.key), packed.byteCount)
    }

    private static let keys: [ObjectKey] = [
        .int(.min), .int(-1), .int(0), .int(.max), .string(""), .string("e\u{301}"), .string("a key of some length"),
        .id(ObjectID(high: .max, low: 1)), .id(ObjectID(high: 0, low: 0)),
    ]

    @Test(arguments: ScalarType.allCases.filter { $0 != .decimal })
    func everyValueComesBackBitForBit(type: ScalarType) {
        var random = SeededGenerator(seed: 7)
        let values = EdgeValues.edges(of: type) + (0..<500).map { _ in EdgeValues.scalar(type, using: &random) }
        for (index, value) in values.enumerated() {
            let key = Self.keys[index % Self.keys.count]
            let row = Row(
                key: key, version: UInt64.max >> UInt64(index % 64),
                values: [.null, value, .link(Self.keys[(index + 1) % Self.keys.count]), value],
                absent: index % 3 == 0 ? [0, 3] : [])
            let back = packed(row).row
            #expect(back.isIdentical(to: row) && back.key == row.key)
            #expect(zip(back.values, row.values).allSatisfy { EdgeValues.bits($0) == EdgeValues.bits($1) })
        }
    }

    @Test func integersOfAllSizesComeBack() {
        for shift in 0..<64 {
            for number in [Int64.max >> shift, Int64.min >> shift, 223, 224, 225, -1, -224] as [Int64] {
                let row = Row(key: .int(0), values: [.int(number), .double(Double(number)), .float(Float(number))])
                #expect(packed(row).row.isIdentical(to: row))
            }
        }
    }

    @Test func aRowOfSmallValuesTakesFewBytes() throws {
        let numbers: [Value] = (0..<10 as Range<Int64>).map { .int($0 * 20) }
        let others: [Value] = [.null, .bool(true), .link(.string("EWR")), .double(1_400)]
        let row = Row(key: .int(1), version: 100, values: numbers + others)
        // Three before the values, ten numbers, null and true, a link and a number.
        let byteCount = try #require(packed(row).byteCount)
        #expect(byteCount <= 23)
    }

    @Test func whatIsRareIsKeptAsItIs() {
        let rare: [Value] = [.list([.null]), .set([.int(1)]), .map(ValueMap()), EdgeValues.edges(of: .decimal)[0]]
        var rows = rare.map { Row(key: .int(1), values: [.int(1), $0]) }
        rows.append(Row(key: .string("a"), values: Array(repeating: .int(1), count: 70), absent: [65]))
        var edited = Row(key: Self.keys[7], values: [.list([.int(1)])])
        edited.setIdentity(ElementList([.int(1)]).identity, of: 0)
        rows.append(edited)
        for row in rows {
            #expect(packed(row).byteCount == nil)
            #expect(packed(row).row.isIdentical(to: row))
        }
        #expect(packed(Row(key: .int(1), values: [])).row == Row(key: .int(1), values: []))
    }

    @Test func rowsAreTheSameIfTheirValuesAre() {
        func areSame(_ left: Row, _ right: Row) -> Bool {
            let (one, other) = (PackedRow(left, id: Self.id), PackedRow(right, id: Self.id))
            defer {
                one.deallocate(key: left.key)
                other.deallocate(key: right.key)
            }
            return one.isIdentical(to: other, key: left.key)
        }
        let row = Row(key: .int(1), version: 3, values: [.int(5), .string("a"), .double(.nan)])
        #expect(areSame(row, row))
        var other = row
        other.values[2] = .double(Double(nan: 5, signaling: false))
        #expect(areSame(row, other))
        let changes: [(inout Row) -> Void] = [
            { $0.values[1] = .string("b") }, { $0.values[0] = .int(500) }, { $0.values[1] = .list([]) },
            { $0.version = 4 }, { $0.absent = [1] },
        ]
        for change in changes {
            var other = row
            change(&other)
            #expect(!areSame(row, other) && !areSame(other, row))
            #expect(areSame(other, other))
        }
    }
}
