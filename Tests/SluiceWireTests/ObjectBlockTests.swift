import SluiceModel
import SluiceWire
import Testing

struct ObjectBlockTests {
    @Test func withoutSomeObjectsTheOthersKeepWhatIsSaidOfTheirLists() throws {
        var block = ObjectBlock()
        for key in 1...4 as ClosedRange<Int64> {
            var row = Row(key: .int(key), version: 3, values: [.int(key), .list([.string("a"), .string("b")])])
            if key.isMultiple(of: 2) { _ = row.edit(1) { ListEdits.erasing(0..<1, in: $0) } }
            block.append(row, classIndex: Int(key) / 4, role: .root, properties: PropertySet(all: 2))
        }
        let rest = block.without([ObjectRef(0, .int(1)), ObjectRef(0, .int(2))])
        #expect(rest.count == 2)
        #expect(rest.groups.map(\.keys) == [[.int(3)], [.int(4)]])
        #expect(rest.groups.map { $0.notes.map(\.row) } == [[], [0]])
        #expect(rest.groups[1] == block.groups[1])
        #expect(rest.groups[1].estimatedSize == block.groups[1].estimatedSize)
        #expect(block.without([]) == block)
        #expect(block.without(Set(block.rows.map(\.object))).isEmpty)
    }
}
