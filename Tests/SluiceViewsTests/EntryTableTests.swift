import SluiceModel
import TestSupport
import Testing

@testable import SluiceViews

@Suite(.ownThread) struct EntryTableTests {
    private func entry(_ number: Int, version: UInt64 = 0) -> ResultEntry {
        let key = ObjectKey.int(Int64(number))
        return ResultEntry(
            object: ObjectRef(0, key), position: SortPosition(values: [], id: ObjectID(high: 0, low: UInt64(number))),
            row: Row(key: key, version: version, values: []))
    }

    /// Tables that grow and shrink, also to nothing, and that are so small that entries are often in each other's way.
    @Test(arguments: [(UInt64(1), 8), (2, 20), (3, 100), (4, 3_000)])
    func randomEditsEqualADictionary(seed: UInt64, range: Int) {
        var random = SeededGenerator(seed: seed)
        var table = EntryTable()
        var dictionary: [ObjectRef: UInt64] = [:]
        for step in 0..<20_000 {
            let number = Int.random(in: 0..<range, using: &random)
            let object = ObjectRef(0, .int(Int64(number)))
            // Stretches of mostly adding and of mostly removing.
            if Int.random(in: 0..<100, using: &random) < (step / 2_000 % 2 == 0 ? 75 : 25) {
                table[object] = entry(number, version: UInt64(step))
                dictionary[object] = UInt64(step)
            } else {
                table[object] = nil
                dictionary[object] = nil
            }
            #expect(table.count == dictionary.count)
            let other = ObjectRef(0, .int(Int64.random(in: 0..<Int64(range), using: &random)))
            #expect(table[other]?.row.version == dictionary[other])
            guard step % 1_000 == 0 else { continue }
            for number in 0..<range {
                let object = ObjectRef(0, .int(Int64(number)))
                #expect(table[object]?.row.version == dictionary[object])
            }
        }
    }

    @Test func anEntryTakesFewBytes() {
        var table = EntryTable()
        let entries = (0..<100_000).map { entry($0) }
        table.reserveCapacity(100_000)
        for entry in entries { table[entry.object] = entry }
        #expect(table.count == 100_000)
        #expect(table.byteCount <= 100_000 * 22)
    }
}
