import TestSupport
import Testing

@testable import SluiceViews

@Suite struct ChunkedListTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func randomEditsEqualAnArray(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var array = Array(0..<(seed == 1 ? 0 : 1_000))
        var list = ChunkedList(array)
        for step in 0..<3_000 {
            if array.isEmpty || generator.chance(seed == 2 ? 30 : 70) {
                let index = Int.random(in: 0...array.count, using: &generator)
                array.insert(step, at: index)
                list.insert(step, at: index)
            } else {
                let index = Int.random(in: 0..<array.count, using: &generator)
                array.remove(at: index)
                list.remove(at: index)
            }
            if step % 100 == 0 { #expect(Array(list) == array, "seed \(seed), step \(step)") }
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
}
