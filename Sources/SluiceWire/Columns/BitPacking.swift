/// Fixed-width unsigned numbers without gaps, lowest bits first.
enum BitPacking {
    /// How many bits it takes to write every number up to `maximum`; 0 for 0.
    static func width(of maximum: UInt64) -> Int { 64 - maximum.leadingZeroBitCount }

    /// The size of `count` numbers of `width` bits, in bytes; nil when that is beyond all buffers.
    static func size(count: Int, width: Int) -> Int? {
        let (bits, overflow) = count.multipliedReportingOverflow(by: width)
        return overflow ? nil : (bits >> 3) + (bits & 7 == 0 ? 0 : 1)
    }

    /// Appends `count` numbers of `width` bits (0 to 64).
    @inline(__always)
    static func pack(count: Int, width: Int, into writer: inout ByteWriter, _ number: (Int) -> UInt64) {
        guard width > 0, let size = size(count: count, width: width) else { return }
        writer.bytes.reserveCapacity(writer.count + size)
        var buffer: UInt64 = 0
        var filled = 0
        for index in 0..<count {
            let value = number(index)
            buffer |= value << UInt64(filled)
            filled += width
            guard filled >= 64 else { continue }
            writer.fixed64(buffer)
            filled -= 64
            buffer = filled == 0 ? 0 : value >> UInt64(width - filled)
        }
        while filled > 0 {
            writer.byte(UInt8(truncatingIfNeeded: buffer))
            buffer >>= 8
            filled -= 8
        }
    }

    /// Hands out `count` numbers of `width` bits (0 to 64) from `bytes`, which holds exactly as many as they take.
    @inline(__always)
    static func unpack(
        _ bytes: UnsafeRawBufferPointer, count: Int, width: Int, _ body: (Int, UInt64) -> Void
    ) {
        let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
        var bit = 0
        for index in 0..<count {
            let start = bit >> 3
            let shift = UInt64(bit & 7)
            var value: UInt64
            if start + 8 <= bytes.count {
                value = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)) >> shift
                if shift > 0, Int(shift) + width > 64 {
                    value |= UInt64(bytes[start + 8]) << (64 - shift)
                }
            } else {
                var tail: UInt64 = 0
                for offset in start..<bytes.count { tail |= UInt64(bytes[offset]) << UInt64(8 * (offset - start)) }
                value = tail >> shift
            }
            body(index, value & mask)
            bit += width
        }
    }
}
