/// Fixed-width unsigned numbers without gaps, lowest bits first.
enum BitPacking {
    /// How many bits it takes to write every number up to `maximum`; 0 for 0.
    static func width(of maximum: UInt64) -> Int { 64 - maximum.leadingZeroBitCount }

    /// The size of `count` numbers of `width` bits, in bytes; nil when that is beyond all buffers.
    static func size(count: Int, width: Int) -> Int? {
        let (bits, overflow) = count.multipliedReportingOverflow(by: width)
        return overflow ? nil : size(bitCount: bits)
    }

    /// The size of some bits, in bytes.
    static func size(bitCount: Int) -> Int { (bitCount >> 3) + (bitCount & 7 == 0 ? 0 : 1) }

    /// Appends `count` numbers of `width` bits (0 to 64).
    @inline(__always)
    static func pack(count: Int, width: Int, into writer: inout ByteWriter, _ number: (Int) -> UInt64) {
        guard width > 0, let size = size(count: count, width: width) else { return }
        writer.bytes.reserveCapacity(writer.count + size)
        var bits = PackedBits()
        for index in 0..<count { bits.append(number(index), width: width, into: &writer) }
        bits.finish(into: &writer)
    }

    /// Hands out `count` numbers of `width` bits (0 to 64) from `bytes`, which holds exactly as many as they take.
    @inline(__always)
    static func unpack(
        _ bytes: UnsafeRawBufferPointer, count: Int, width: Int, _ body: (Int, UInt64) -> Void
    ) {
        let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
        var bit = 0
        for index in 0..<count {
            body(index, word(at: bit, width: width, of: bytes) & mask)
            bit += width
        }
    }

    /// The bits from one on, of which the lowest `width` (0 to 64) are sure to be there; zeros follow the last.
    @inline(__always)
    static func word(at bit: Int, width: Int, of bytes: UnsafeRawBufferPointer) -> UInt64 {
        let start = bit >> 3
        let shift = UInt64(bit & 7)
        guard start + 8 <= bytes.count else {
            var tail: UInt64 = 0
            for offset in start..<bytes.count { tail |= UInt64(bytes[offset]) << UInt64(8 * (offset - start)) }
            return tail >> shift
        }
        let value = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)) >> shift
        guard shift > 0, Int(shift) + width > 64, start + 8 < bytes.count else { return value }
        return value | UInt64(bytes[start + 8]) << (64 - shift)
    }
}

/// Bits that do not fill a word yet.
struct PackedBits {
    private var buffer: UInt64 = 0
    private var filled = 0

    /// Appends the lowest `width` bits (1 to 64) of a number whose other bits are 0.
    @inline(__always)
    mutating func append(_ number: UInt64, width: Int, into writer: inout ByteWriter) {
        buffer |= number << UInt64(filled)
        filled += width
        guard filled >= 64 else { return }
        writer.fixed64(buffer)
        filled -= 64
        buffer = filled == 0 ? 0 : number >> UInt64(width - filled)
    }

    /// Appends what is left, and zeros to the end of its byte.
    mutating func finish(into writer: inout ByteWriter) {
        while filled > 0 {
            writer.byte(UInt8(truncatingIfNeeded: buffer))
            buffer >>= 8
            filled -= 8
        }
        filled = 0
    }
}
