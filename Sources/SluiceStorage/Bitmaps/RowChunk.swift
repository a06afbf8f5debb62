/// The part of a ``RowBitmap`` for 65,536 consecutive row ids. Its elements are the lower 16 bits of the ids.
struct RowChunk: Hashable, Sendable {
    /// From this many elements on, a bit set is no larger than the array.
    private static let denseCountMin = 4_096
    private static let wordCount = 1_024

    /// The upper bits that all rows of the chunk share.
    let base: Int64
    private(set) var count = 0
    /// The elements in ascending order; empty in a dense chunk.
    private var sparse: [UInt16] = []
    /// A bit for each element; empty in a sparse chunk.
    private var dense: [UInt64] = []

    init(base: Int64) { self.base = base }

    /// The base of the last rows that there can be.
    static let baseMax = base(of: .max)

    static func base(of row: Int64) -> Int64 { row >> 16 }

    private var isDense: Bool { !dense.isEmpty }

    func contains(_ low: UInt16) -> Bool {
        if isDense { return dense[Int(low >> 6)] >> UInt64(low & 63) & 1 == 1 }
        let index = position(of: low)
        return index < sparse.count && sparse[index] == low
    }

    mutating func insert(_ low: UInt16) -> Bool {
        if isDense {
            let bit: UInt64 = 1 << UInt64(low & 63)
            guard dense[Int(low >> 6)] & bit == 0 else { return false }
            dense[Int(low >> 6)] |= bit
        } else {
            let index = position(of: low)
            guard index == sparse.count || sparse[index] != low else { return false }
            sparse.insert(low, at: index)
        }
        count += 1
        if !isDense, count >= Self.denseCountMin { makeDense() }
        return true
    }

    mutating func remove(_ low: UInt16) -> Bool {
        if isDense {
            let bit: UInt64 = 1 << UInt64(low & 63)
            guard dense[Int(low >> 6)] & bit != 0 else { return false }
            dense[Int(low >> 6)] &= ~bit
        } else {
            let index = position(of: low)
            guard index < sparse.count, sparse[index] == low else { return false }
            sparse.remove(at: index)
        }
        count -= 1
        // Well below the threshold, so that a chunk near it does not change its form with every call.
        if isDense, count < Self.denseCountMin / 2 { makeSparse() }
        return true
    }

    /// The elements in ascending order.
    var elements: [UInt16] {
        guard isDense else { return sparse }
        var elements: [UInt16] = []
        elements.reserveCapacity(count)
        for (index, word) in dense.enumerated() {
            var bits = word
            while bits != 0 {
                elements.append(UInt16(index << 6 | bits.trailingZeroBitCount))
                bits &= bits - 1
            }
        }
        return elements
    }

    /// The elements of a block of 64, with a bit for each.
    func word(_ index: Int) -> UInt64 {
        if isDense { return dense[index] }
        return sparse[position(of: UInt16(index << 6))...].prefix { Int($0 >> 6) == index }
            .reduce(0) { $0 | 1 << UInt64($1 & 63) }
    }

    /// Calls `body` with each block of 64 that has elements, ascending, and the bits of those.
    func forEachWord(_ body: (_ index: Int, _ bits: UInt64) -> Void) {
        if isDense {
            for (index, bits) in dense.enumerated() where bits != 0 { body(index, bits) }
            return
        }
        var rest = sparse[...]
        while let first = rest.first {
            let index = Int(first >> 6)
            var bits: UInt64 = 0
            while let low = rest.first, Int(low >> 6) == index {
                bits |= 1 << UInt64(low & 63)
                rest.removeFirst()
            }
            body(index, bits)
        }
    }

    func union(_ other: RowChunk) -> RowChunk { combined(other) { $0 | $1 } }

    func subtracting(_ other: RowChunk) -> RowChunk {
        if !isDense {
            var result = RowChunk(base: base)
            result.sparse = sparse.filter { !other.contains($0) }
            result.count = result.sparse.count
            return result
        }
        return combined(other) { $0 & ~$1 }
    }

    private func combined(_ other: RowChunk, _ operation: (UInt64, UInt64) -> UInt64) -> RowChunk {
        let left = words
        let right = other.words
        var result = RowChunk(base: base)
        result.dense = (0..<Self.wordCount).map { operation(left[$0], right[$0]) }
        result.count = result.dense.reduce(0) { $0 + $1.nonzeroBitCount }
        if result.count < Self.denseCountMin { result.makeSparse() }
        return result
    }

    private var words: [UInt64] {
        if isDense { return dense }
        var words = [UInt64](repeating: 0, count: Self.wordCount)
        for low in sparse { words[Int(low >> 6)] |= 1 << UInt64(low & 63) }
        return words
    }

    private mutating func makeDense() {
        dense = words
        sparse = []
    }

    private mutating func makeSparse() {
        sparse = elements
        dense = []
    }

    private func position(of low: UInt16) -> Int {
        if let last = sparse.last, last < low { return sparse.count }
        var start = 0
        var end = sparse.count
        while start < end {
            let middle = (start + end) / 2
            if sparse[middle] < low { start = middle + 1 } else { end = middle }
        }
        return start
    }
}

extension RowChunk {
    /// The stored form: 8,192 bytes of bits, or two bytes for each element; little-endian.
    var bytes: [UInt8] {
        isDense
            ? dense.flatMap { word in withUnsafeBytes(of: word.littleEndian, Array.init) }
            : sparse.flatMap { low in [UInt8(truncatingIfNeeded: low), UInt8(low >> 8)] }
    }

    /// Decodes the stored form; nil for bytes that are not one.
    init?(base: Int64, bytes: [UInt8]) {
        self.base = base
        if bytes.count == Self.wordCount * 8 {
            dense = (0..<Self.wordCount).map { index in
                bytes[index * 8..<index * 8 + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
            count = dense.reduce(0) { $0 + $1.nonzeroBitCount }
        } else {
            guard bytes.count % 2 == 0, bytes.count < Self.denseCountMin * 2 else { return nil }
            sparse = stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
            guard zip(sparse, sparse.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
            count = sparse.count
        }
        guard count > 0 else { return nil }
    }
}
