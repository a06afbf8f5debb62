internal import FoundationEssentials

/// A number that stands for the values of a list that was set as a whole, so that its elements are not taken for those
/// of another such list: edits of a list that is no longer there have no effect on the one that is.
///
/// All who have the list make the same number of it, by FNV-1a with 64 bits (Fowler, Noll and Vo, RFC 9923). Numbers
/// count as the nearest double, so that it stays the same when a property gets a wider type.
struct ListFingerprint {
    private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    init(_ values: [Value]) { for value in values { combine(value) } }

    /// The number; never 0.
    var number: UInt64 { hash == 0 ? 1 : hash }

    private mutating func combine(_ value: Value) {
        switch value {
        case .null: combine(byte: 0)
        case .bool(let value): combine(byte: value ? 2 : 1)
        case .int(let value): combine(Double(value))
        case .float(let value): combine(Double(value))
        case .double(let value): combine(value)
        case .decimal(let value): combine(Double(DecimalText.text(of: value)) ?? 0)
        case .date(let value): combine(UInt64(bitPattern: value.microseconds))
        case .string(let value): combine(bytes: value.utf8)
        case .data(let value): combine(bytes: value)
        case .uuid(let value): withUnsafeBytes(of: value.uuid) { combine(bytes: $0) }
        case .objectID(let value): combine(value)
        case .link(.id(let id)): combine(id)
        case .link(let key): combine(key.value)
        case .list(let elements), .set(let elements):
            combine(UInt64(elements.count))
            for element in elements { combine(element) }
        case .map(let map):
            combine(UInt64(map.entries.count))
            for entry in map.entries {
                combine(bytes: entry.key.utf8)
                combine(entry.value)
            }
        }
    }

    private mutating func combine(_ value: Double) {
        combine(value.isNaN ? Double.nan.bitPattern : value == 0 ? 0 : value.bitPattern)
    }

    private mutating func combine(_ id: ObjectID) {
        combine(id.high)
        combine(id.low)
    }

    private mutating func combine(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes in for byte in bytes { combine(byte: byte) } }
    }

    private mutating func combine(bytes: some Collection<UInt8>) {
        for byte in bytes { combine(byte: byte) }
        combine(UInt64(bytes.count))
    }

    private mutating func combine(byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
