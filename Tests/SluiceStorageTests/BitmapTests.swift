import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

struct BitmapTests {
    /// Ranges of rows: close together, so that chunks become dense, or far apart.
    private static let ranges: [ClosedRange<Int64>] = [
        0...7_000, 60_000...70_000, 0...500_000, 1 << 40...(1 << 40) + 300,
    ]

    @Test(arguments: Array(1...12) as [UInt64])
    func bitmapBehavesAsASet(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let range = Self.ranges[Int(seed) % Self.ranges.count]
        var bitmap = RowBitmap()
        var oracle: Set<Int64> = []
        for step in 0..<12_000 {
            // Growing and then shrinking, so that chunks change their form in both directions.
            let row = Int64.random(in: range, using: &random)
            if Int.random(in: 0..<10, using: &random) < (step < 8_000 ? 8 : 1) {
                #expect(bitmap.insert(row) == oracle.insert(row).inserted)
            } else {
                let row = step < 8_000 ? row : oracle.randomElement(using: &random) ?? row
                #expect(bitmap.remove(row) == (oracle.remove(row) != nil))
            }
        }
        check(bitmap, oracle, seed)
        var words: [Int64: UInt64] = [:]
        for row in oracle { words[RowBitmap.word(of: row), default: 0] |= RowBitmap.bit(of: row) }
        var numbers: [Int64] = []
        bitmap.forEachWord { number, bits in
            numbers.append(number)
            #expect(bits == words[number] && bits == bitmap.word(number), "seed \(seed)")
        }
        #expect(numbers == words.keys.sorted(), "seed \(seed)")
        for _ in 0..<200 {
            let row = Int64.random(in: range, using: &random)
            #expect(bitmap.contains(row) == oracle.contains(row), "seed \(seed)")
        }
    }

    @Test(arguments: Array(1...12) as [UInt64])
    func unionAndDifferenceAreThoseOfSets(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func sample() -> Set<Int64> {
            let range = Self.ranges.randomElement(using: &random)!
            let count = [10, 1_000, 9_000].randomElement(using: &random)!
            return Set((0..<count).map { _ in Int64.random(in: range, using: &random) })
        }
        let left = sample().union(sample())
        let right = sample().union(sample())
        var union = RowBitmap(left)
        union.formUnion(RowBitmap(right))
        check(union, left.union(right), seed)
        var difference = RowBitmap(left)
        difference.subtract(RowBitmap(right))
        check(difference, left.subtracting(right), seed)
        difference.subtract(difference)
        #expect(difference.isEmpty)
    }

    @Test(arguments: [1, 4_095, 4_096, 65_536])
    func storedFormGivesTheChunkAgain(count: Int) throws {
        let bitmap = RowBitmap((0..<Int64(count)).map { 1 << 20 | $0 })
        let chunk = try #require(bitmap.chunks.first)
        #expect(chunk.bytes.count <= 8_192)
        #expect(RowChunk(base: chunk.base, bytes: chunk.bytes) == chunk)
    }

    @Test(arguments: [
        [], [1], [1, 0, 1, 0], [2, 0, 1, 0], [UInt8](repeating: 0, count: 8_192), [UInt8](repeating: 1, count: 8_194),
    ])
    func bytesThatAreNoChunkAreRefused(bytes: [UInt8]) {
        #expect(RowChunk(base: 0, bytes: bytes) == nil)
    }

    private func check(_ bitmap: RowBitmap, _ oracle: Set<Int64>, _ seed: UInt64) {
        var rows: [Int64] = []
        bitmap.forEach { row in
            rows.append(row)
            return true
        }
        #expect(rows == oracle.sorted(), "seed \(seed)")
        #expect(bitmap.count == oracle.count)
        #expect(bitmap.isEmpty == oracle.isEmpty)
    }
}
