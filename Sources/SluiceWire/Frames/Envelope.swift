internal import CLZ4

/// A flags byte and content, compressed where that helps: the outermost form of frames and of shared blocks.
///
/// LZ4 takes bytes as `CChar`, which has the size and place of a byte, and each call tells it the room that there is.
enum Envelope {
    /// Content of at least this many bytes is compressed when that makes it smaller.
    static let compressionThreshold = 512
    /// LZ4 cannot expand by more than this.
    private static let ratioMax = 255

    private static let compressedFlag: UInt8 = 1

    /// Closes an envelope whose first byte was left for the flags.
    ///
    /// - Parameter incompressible: how much of the content is compressed already.
    static func seal(_ bytes: [UInt8], incompressible: Int = 0) -> [UInt8] {
        let content = bytes.count - 1
        guard content - incompressible >= compressionThreshold else { return bytes }
        var header = ByteWriter(reservingCapacity: 8)
        header.byte(compressedFlag)
        header.varint(content)
        guard content > header.count, content <= Int(Int32.max) else { return bytes }
        let room = content - header.count
        let sealed = [UInt8](unsafeUninitializedCapacity: header.count + room) { buffer, filled in
            _ = buffer.initialize(from: header.bytes)
            let size = bytes.withUnsafeBytes { source in
                LZ4_compress_default(
                    source.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) + 1 },
                    UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
                        .advanced(by: header.count),
                    Int32(content), Int32(room))
            }
            filled = size > 0 ? header.count + Int(size) : 0
        }
        return sealed.isEmpty ? bytes : sealed
    }

    /// Reads the content of an envelope that fills the rest of `reader`.
    static func open<Result>(
        _ reader: inout ByteReader, _ read: (inout ByteReader) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        let flags = try reader.byte()
        guard flags & ~compressedFlag == 0 else { throw reader.malformed("the flags \(flags)") }
        guard flags & compressedFlag != 0 else {
            let result = try read(&reader)
            try reader.expectEnd()
            return result
        }
        let expanded = try expand(&reader)
        let limits = reader.limits
        let budget = reader.budget
        let (result, left) = try expanded.withUnsafeBufferPointer { buffer throws(WireError) in
            var inner = ByteReader(UnsafeRawBufferPointer(buffer), limits: limits, budget: budget)
            let result = try read(&inner)
            try inner.expectEnd()
            return (result, inner.budget)
        }
        reader.budget = left
        return result
    }

    /// The first bytes of an envelope's content; fewer if it has no more. Nil if it is malformed.
    static func beginning(of bytes: [UInt8], byteCount: Int) -> [UInt8]? {
        guard let flags = bytes.first, flags & ~compressedFlag == 0 else { return nil }
        guard flags & compressedFlag != 0 else { return Array(bytes.dropFirst().prefix(byteCount)) }
        // The length of the content comes first, seven bits to a byte.
        guard let end = bytes.dropFirst().firstIndex(where: { $0 < 0x80 }) else { return nil }
        let compressed = bytes[(end + 1)...]
        let expanded = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, filled in
            let size = compressed.withUnsafeBytes { source in
                LZ4_decompress_safe_partial(
                    source.baseAddress?.assumingMemoryBound(to: CChar.self),
                    UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self),
                    Int32(compressed.count), Int32(byteCount), Int32(byteCount))
            }
            filled = max(0, Int(size))
        }
        return expanded.isEmpty ? nil : expanded
    }

    /// Expands the rest of `reader`, whose length comes first.
    private static func expand(_ reader: inout ByteReader) throws(WireError) -> [UInt8] {
        let announced = try reader.varint()
        guard announced <= UInt64(reader.budget.expansion) else {
            throw WireError(
                .limitExceeded, "compressed content of \(announced) bytes; \(reader.budget.expansion) may still come",
                offset: reader.offset)
        }
        let length = Int(announced)
        guard length <= reader.remaining * ratioMax + 64 else {
            throw reader.malformed("\(reader.remaining) bytes that expand to \(length)")
        }
        reader.budget.expansion -= length
        let compressed = try reader.slice(reader.remaining)
        let expanded = [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            let size = LZ4_decompress_safe(
                compressed.baseAddress?.assumingMemoryBound(to: CChar.self),
                UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self),
                Int32(compressed.count), Int32(length))
            filled = max(0, Int(size))
        }
        guard expanded.count == length, length > 0 else {
            throw reader.malformed("compressed content that does not expand to the \(length) bytes it announces")
        }
        return expanded
    }
}
