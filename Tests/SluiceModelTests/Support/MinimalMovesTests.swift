import SluiceModel
import Testing

@Suite struct MinimalMovesTests {
    @Test(
        arguments: [
            ([], []), ([0], []), ([0, 1, 2], []), ([1, 2, 0], [2]), ([2, 0, 1], [0]), ([1, 0], nil),
            ([3, 2, 1, 0], nil),
        ] as [([Int], [Int]?)])
    func theRestIsInOrder(ranks: [Int], expected: [Int]?) {
        let moved = MinimalMoves.moved(ranks.map { ($0, 1) })
        if let expected { #expect(moved == expected) }
        let rest = ranks.indices.filter { !moved.contains($0) }.map { ranks[$0] }
        #expect(rest == rest.sorted())
        #expect(ranks.isEmpty || !rest.isEmpty)
    }

    @Test func aHeavyItemStaysInsteadOfManyLightOnes() {
        #expect(MinimalMoves.moved([(rank: 2, weight: 10), (rank: 0, weight: 1), (rank: 1, weight: 1)]) == [1, 2])
        #expect(MinimalMoves.moved([(rank: 2, weight: 1), (rank: 0, weight: 1), (rank: 1, weight: 1)]) == [0])
    }
}
