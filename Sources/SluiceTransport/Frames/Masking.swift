/// Masks and unmasks what clients send (RFC 6455, section 5.3).
enum Masking {
    /// XORs bytes with the mask, eight at a time. `source` and `target` must be the same memory, or not overlap.
    ///
    /// - Parameters:
    ///   - key: the four bytes of the mask in memory order.
    ///   - phase: how many bytes of the payload were masked before, modulo four.
    static func apply(
        _ key: UInt32, phase: Int, from source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer
    ) {
        guard let from = source.baseAddress, let to = target.baseAddress else { return }
        let shift = UInt32(phase & 3) * 8
        let little = UInt32(littleEndian: key)
        let turned = shift == 0 ? little : (little >> shift | little << (32 - shift))
        let wide = (UInt64(turned) << 32 | UInt64(turned)).littleEndian

        let count = source.count
        var position = 0
        while position &+ 8 <= count {
            let value = from.loadUnaligned(fromByteOffset: position, as: UInt64.self) ^ wide
            to.storeBytes(of: value, toByteOffset: position, as: UInt64.self)
            position &+= 8
        }
        while position < count {
            let byte = UInt8(truncatingIfNeeded: turned >> (UInt32(position & 3) * 8))
            to.storeBytes(
                of: from.load(fromByteOffset: position, as: UInt8.self) ^ byte, toByteOffset: position, as: UInt8.self)
            position &+= 1
        }
    }
}
