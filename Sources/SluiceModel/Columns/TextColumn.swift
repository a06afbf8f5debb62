/// Texts of many rows as UTF-8 that others may read in place: each distinct one once, where the sender found out which
/// are.
package struct TextColumn: Sendable {
    /// Memory that never changes and stays where it is for as long as anybody has it.
    package final class Bytes: @unchecked Sendable {
        package let base: UnsafeRawPointer
        /// The same memory, written once in `init` and freed with this.
        private let memory: UnsafeMutableRawPointer

        package init(copying bytes: UnsafeRawBufferPointer) {
            memory = .allocate(byteCount: max(1, bytes.count), alignment: 1)
            if let source = bytes.baseAddress { memory.copyMemory(from: source, byteCount: bytes.count) }
            base = UnsafeRawPointer(memory)
        }

        deinit { memory.deallocate() }
    }

    package let bytes: Bytes
    /// Where each distinct text begins, and the end of the last.
    private let offsets: [Int]
    /// Which of the distinct texts each row has; nil where each row has its own.
    package private(set) var indexes: [Int32]?

    /// How many distinct texts there are at the most.
    package var distinctCount: Int { offsets.count - 1 }

    /// The distinct text of a row.
    package func index(ofRow row: Int) -> Int { indexes.map { Int($0[row]) } ?? row }

    /// A distinct text, where it is in ``bytes``.
    package func utf8(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes.base + offsets[index], count: offsets[index + 1] - offsets[index])
    }

    /// A distinct text.
    package func text(_ index: Int) -> String { String(decoding: utf8(index), as: UTF8.self) }

    /// - Parameters:
    ///   - offsets: where each distinct text begins, and the end of the last.
    ///   - indexes: which of the distinct texts each row has; nil where each row has its own.
    package init(_ bytes: Bytes, offsets: [Int], indexes: [Int32]?) {
        self.bytes = bytes
        self.offsets = offsets
        self.indexes = indexes
    }

    /// All distinct texts, one after the other.
    package var allBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes.base, count: offsets.last ?? 0) }

    /// The lengths of the distinct texts, in bytes.
    package var lengths: [Int64] { zip(offsets.dropFirst(), offsets).map { Int64($0 - $1) } }

    /// Whether each of the texts that lie one after the other is UTF-8.
    package static func areValid(_ source: UnsafeRawBufferPointer, _ offsets: [Int]) -> Bool {
        if isASCII(source) { return true }
        return (0..<offsets.count - 1).allSatisfy {
            isValid(UnsafeRawBufferPointer(rebasing: source[offsets[$0]..<offsets[$0 + 1]]))
        }
    }

    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var bits: UInt64 = 0
        var offset = 0
        while offset + 8 <= bytes.count {
            bits |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < bytes.count {
            bits |= UInt64(bytes[offset])
            offset += 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    private static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.withMemoryRebound(to: UInt8.self) { String(validating: $0, as: UTF8.self) != nil }
    }

    /// Spreads the texts over more rows.
    ///
    /// - Parameter rows: the row of each text, ascending; the others get any text.
    package func spread(over rows: [Int32], count: Int) -> TextColumn {
        var column = self
        var spread = [Int32](repeating: 0, count: count)
        for (position, row) in rows.enumerated() { spread[Int(row)] = Int32(index(ofRow: position)) }
        column.indexes = spread
        return column
    }
}
