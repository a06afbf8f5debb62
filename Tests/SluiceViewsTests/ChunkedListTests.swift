import CAllocationCounter
import SluiceModel
import TestSupport
import Testing

@testable import SluiceViews

@Suite(.ownThread) struct ChunkedListTests {
    /// Lists that grow from nothing until branches split, that shrink to nothing, and that stay large.
    @Test(arguments: [(UInt64(1), 0, 90), (2, 2_000, 20), (3, 1_000, 70), (4, 20_000, 50), (5, 0, 100)])
    func randomEditsEqualAnArray(seed: UInt64, count: Int, insertions: Int) {
        var generator = SeededGenerator(seed: seed)
        var array = Array(0..<count)
        var list = ChunkedList(array)
        for step in 0..<6_000 {
            if array.isEmpty || generator.chance(insertions) {
                let index = Int.random(in: 0...array.count, using: &generator)
                array.insert(step, at: index)
                list.insert(step, at: index)
            } else {
                let index = Int.random(in: 0..<array.count, using: &generator)
                array.remove(at: index)
                list.remove(at: index)
            }
            if step % 500 == 0 { #expect(Array(list) == array, "seed \(seed), step \(step)") }
        }
        #expect(list.count == array.count)
        #expect(Array(list) == array, "seed \(seed)")
    }

    @Test func copiesAreIndependent() {
        var list = ChunkedList(Array(0..<1_000))
        let copy = list
        list[500] = -1
        list.remove(at: 0)
        list.insert(7, at: 999)
        #expect(Array(copy) == Array(0..<1_000))
        #expect(list[499] == -1 && list[999] == 7)
    }

    @Test(arguments: [0, 1, 47, 48, 49, 2_304, 2_305, 10_000])
    func aPlaceIsFoundInEveryListThatIsSorted(count: Int) {
        var list = ChunkedList(Array(0..<count))
        for index in stride(from: 0, to: count, by: 7).reversed() { list.remove(at: index) }
        let elements = Array(list)
        for bound in [-1, 0, 1, count / 2, count - 1, count, count + 1] {
            #expect(list.partitionIndex { $0 < bound } == elements.count { $0 < bound })
        }
    }

    /// Elements that come before, among and behind those of lists of all sizes, few and many.
    @Test(arguments: [0, 1, 48, 65, 2_304, 7_000])
    func mergedElementsAreWhereSortingPutsThem(count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        var array = (0..<count).map { $0 * 1_000 }
        var list = ChunkedList(array)
        var known = Set(array)
        for round in 0..<24 {
            let range = [0..<(count + 1) * 1_000, 0..<500, count * 1_000..<count * 1_000 + 100_000][round % 3]
            let size = [1, 3, 100, 1_500][round % 4]
            let coming = Set((0..<size).map { _ in Int.random(in: range, using: &generator) }).subtracting(known)
            known.formUnion(coming)
            let copy = list
            let before = array
            array = (array + coming).sorted()
            let indices = list.merge(coming.sorted(), by: <)
            #expect(indices.map { array[$0] } == coming.sorted())
            #expect(list.count == array.count && Array(list) == array)
            #expect(Array(copy) == before)
            // Reading and editing find their way in what merging has left.
            for index in indices.prefix(5) { #expect(list[index] == array[index]) }
            if let index = indices.last {
                list.remove(at: index)
                #expect(known.remove(array.remove(at: index)) != nil)
                #expect(Array(list) == array)
            }
        }
    }

    @Test func elementsBehindAllOthersCopyLittleOfTheList() {
        func allocated(_ count: Int) -> Int {
            var list = ChunkedList(Array(0..<count))
            let copy = list
            let before = allocated_byte_count()
            _ = list.merge(Array(count..<count + 1_000), by: <)
            let bytes = Int(allocated_byte_count() - before)
            #expect(copy.count == count)
            return bytes
        }
        // 100,000 elements take 800,000 bytes.
        #expect(allocated(100_000) < allocated(1_000) + 80_000)
    }
}
