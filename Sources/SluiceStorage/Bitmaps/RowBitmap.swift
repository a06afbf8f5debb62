/// A set of local row ids in chunks of 65,536, each a sorted array or a bit set, whichever is smaller (Chambi, Lemire,
/// Kaser and Godin, "Better bitmap performance with Roaring bitmaps", 2016, without run containers).
struct RowBitmap: Hashable, Sendable {
    /// The chunks in ascending order of their base; none is empty.
    private(set) var chunks: [RowChunk] = []

    init() {}

    init(_ rows: some Sequence<Int64>) {
        for row in rows { insert(row) }
    }

    init(chunks: [RowChunk]) { self.chunks = chunks }

    var isEmpty: Bool { chunks.isEmpty }

    var count: Int { chunks.reduce(0) { $0 + $1.count } }

    func contains(_ row: Int64) -> Bool {
        let (index, isFound) = position(of: RowChunk.base(of: row))
        return isFound && chunks[index].contains(UInt16(truncatingIfNeeded: row))
    }

    /// - Returns: whether the row was not in the set.
    @discardableResult
    mutating func insert(_ row: Int64) -> Bool {
        let base = RowChunk.base(of: row)
        let (index, isFound) = position(of: base)
        if !isFound { chunks.insert(RowChunk(base: base), at: index) }
        return chunks[index].insert(UInt16(truncatingIfNeeded: row))
    }

    /// - Returns: whether the row was in the set.
    @discardableResult
    mutating func remove(_ row: Int64) -> Bool {
        let (index, isFound) = position(of: RowChunk.base(of: row))
        guard isFound, chunks[index].remove(UInt16(truncatingIfNeeded: row)) else { return false }
        if chunks[index].count == 0 { chunks.remove(at: index) }
        return true
    }

    /// The chunk of a base; nil if no row is in it.
    func chunk(base: Int64) -> RowChunk? {
        let (index, isFound) = position(of: base)
        return isFound ? chunks[index] : nil
    }

    /// Calls `body` with every row in ascending order, until it returns false.
    ///
    /// - Returns: whether all were visited.
    @discardableResult
    func forEach(_ body: (Int64) throws -> Bool) rethrows -> Bool {
        for chunk in chunks {
            for low in chunk.elements {
                guard try body(chunk.base << 16 | Int64(low)) else { return false }
            }
        }
        return true
    }

    /// The block of 64 rows that a row is in.
    static func word(of row: Int64) -> Int64 { row >> 6 }

    /// The bit of a row in its block of 64.
    static func bit(of row: Int64) -> UInt64 { 1 << UInt64(truncatingIfNeeded: row & 63) }

    /// Which rows of a block of 64 are in the set, with a bit for each.
    func word(_ number: Int64) -> UInt64 { chunk(base: number >> 10)?.word(Int(number & 1_023)) ?? 0 }

    /// Calls `body` with each block of 64 of which rows are in the set, ascending, and the bits of those.
    func forEachWord(_ body: (_ number: Int64, _ bits: UInt64) -> Void) {
        for chunk in chunks { chunk.forEachWord { body(chunk.base << 10 | Int64($0), $1) } }
    }

    mutating func formUnion(_ other: RowBitmap) {
        var merged: [RowChunk] = []
        merged.reserveCapacity(chunks.count + other.chunks.count)
        var index = 0
        for chunk in other.chunks {
            while index < chunks.count, chunks[index].base < chunk.base {
                merged.append(chunks[index])
                index += 1
            }
            if index < chunks.count, chunks[index].base == chunk.base {
                merged.append(chunks[index].union(chunk))
                index += 1
            } else {
                merged.append(chunk)
            }
        }
        merged.append(contentsOf: chunks[index...])
        chunks = merged
    }

    mutating func subtract(_ other: RowBitmap) {
        chunks = chunks.compactMap { chunk in
            guard let removed = other.chunk(base: chunk.base) else { return chunk }
            let rest = chunk.subtracting(removed)
            return rest.count == 0 ? nil : rest
        }
    }

    private func position(of base: Int64) -> (index: Int, isFound: Bool) {
        if let last = chunks.last {
            if last.base == base { return (chunks.count - 1, true) }
            if last.base < base { return (chunks.count, false) }
        }
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].base < base { low = middle + 1 } else { high = middle }
        }
        return (low, low < chunks.count && chunks[low].base == base)
    }
}
