#if PostgreSQL

internal import CLZ4
internal import SluiceStorage

/// A group as the column `record` has it: a format byte, and the group's bytes as they are, or their number (four bytes,
/// the lowest first) and an LZ4 block.
///
/// LZ4 takes bytes as `CChar`, which has the size and place of a byte, and each call tells it the room that there is.
enum RecordBytes {
    private static let plain: UInt8 = 1
    private static let compressed: UInt8 = 2
    /// Shorter groups are stored as they are, in bytes.
    private static let compressionThreshold = 1 << 10
    private static let headerCount = 5

    /// O(bytes).
    static func pack(_ group: [UInt8]) -> [UInt8] {
        guard group.count >= compressionThreshold, let packed = compress(group) else { return [plain] + group }
        return packed
    }

    /// Nil if the group does not get smaller.
    private static func compress(_ group: [UInt8]) -> [UInt8]? {
        let packed = [UInt8](unsafeUninitializedCapacity: group.count) { buffer, filled in
            buffer[0] = compressed
            for index in 0..<4 { buffer[1 + index] = UInt8(truncatingIfNeeded: group.count >> (8 * index)) }
            let size = group.withUnsafeBytes { source in
                LZ4_compress_default(
                    source.baseAddress?.assumingMemoryBound(to: CChar.self),
                    UnsafeMutableRawPointer(buffer.baseAddress)?.advanced(by: headerCount)
                        .assumingMemoryBound(to: CChar.self),
                    Int32(group.count), Int32(group.count - headerCount))
            }
            filled = size > 0 ? headerCount + Int(size) : 0
        }
        return packed.isEmpty ? nil : packed
    }

    /// Memory is bounded by 255 times the bytes, and by the size of a group.
    ///
    /// - Throws: ``StorageError/Code/journal`` if the bytes are no record that this version can read.
    static func unpack(_ bytes: [UInt8]) throws(StorageError) -> [UInt8] {
        switch bytes.first {
        case plain: return Array(bytes.dropFirst())
        case compressed: break
        case nil: throw StorageError(.journal, "a record of the journal is empty")
        case let format?:
            throw StorageError(
                .journal,
                "a record of the journal has format \(format); this version reads \(plain) and \(compressed). Update it"
            )
        }
        let count = bytes.dropFirst().prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        let group = try expand(bytes, to: count)
        guard group.count == count, count > 0 else {
            throw StorageError(.journal, "a record of the journal does not expand to the group that it announces")
        }
        return group
    }

    private static func expand(_ bytes: [UInt8], to count: Int) throws(StorageError) -> [UInt8] {
        let content = bytes.count - headerCount
        guard content > 0, count <= JournalGroup.byteCountMax, count <= content * 255 + 64 else {
            throw StorageError(.journal, "a record of the journal announces \(count) bytes in \(content)")
        }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let size = bytes.withUnsafeBytes { source in
                LZ4_decompress_safe(
                    source.baseAddress?.advanced(by: headerCount).assumingMemoryBound(to: CChar.self),
                    UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self),
                    Int32(content), Int32(count))
            }
            filled = max(0, Int(size))
        }
    }
}

#endif
