import TestSupport
import Testing

@testable import SluiceViews

@Suite struct ChunkedListTests {
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
}
