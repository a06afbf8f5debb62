/// Finds which of a column's values are equal: open addressing with linear probing over indexes of distinct values.
///
/// Probing gives up after a bounded number of steps and takes the value as new, so that values crafted to collide cost
/// a worse dictionary and no time.
struct DistinctTable {
    private static let probeCountMax = 32
    private var slots: [Int32]
    private let mask: Int
    /// How many distinct values were seen.
    private(set) var count = 0

    /// - Parameter capacity: the most values that will be looked up.
    init(capacity: Int) {
        var size = 16
        while size < capacity * 2 { size *= 2 }
        slots = Array(repeating: -1, count: size)
        mask = size - 1
    }

    /// The index of the distinct value with this hash that `isEqual` accepts; a new index if there is none.
    @inline(__always)
    mutating func index(hash: UInt64, isEqual: (Int) -> Bool) -> (index: Int, isNew: Bool) {
        var slot = Int(truncatingIfNeeded: hash >> 16) & mask
        for _ in 0..<Self.probeCountMax {
            let candidate = Int(slots[slot])
            if candidate < 0 {
                slots[slot] = Int32(count)
                break
            }
            if isEqual(candidate) { return (candidate, false) }
            slot = (slot + 1) & mask
        }
        count += 1
        return (count - 1, true)
    }

    /// A multiplicative hash of bytes, eight at a time (the mixing step is that of Steele and Vigna's "splitmix").
    @inline(__always)
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var tail: UInt64 = 0
        while offset < bytes.count {
            tail = tail << 8 | UInt64(bytes[offset])
            offset += 1
        }
        return mix(hash ^ tail)
    }

    @inline(__always)
    static func mix(_ value: UInt64) -> UInt64 {
        let product = (value ^ value >> 32).multipliedFullWidth(by: 0xBF58_476D_1CE4_E5B9)
        return product.low ^ product.high
    }
}
