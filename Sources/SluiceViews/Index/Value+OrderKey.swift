import SluiceModel

extension Value {
    /// A number that never descends where the values of one type ascend, so that most comparisons of two values can be
    /// comparisons of numbers. Different values may have the same number. Null, which precedes all values, has 0.
    var orderKey: UInt64 {
        switch self {
        case .null: 0
        case .bool(let value): value ? 2 : 1
        case .int(let value): Self.orderKey(value)
        case .float(let value): Self.orderKey(Double(value))
        case .double(let value): Self.orderKey(value)
        case .decimal(let value): Self.orderKey(Double("\(value)") ?? .nan)
        case .date(let value): Self.orderKey(value.microseconds)
        case .string(let text): Self.orderKey(text.utf8)
        case .data(let bytes): Self.orderKey(bytes)
        case .uuid, .objectID, .link, .list, .set, .map: 1
        }
    }

    /// Whether no other value of the type has the same order key. Null counts as no value here: the least value of a
    /// type may have its key.
    var hasExactOrderKey: Bool {
        switch self {
        case .null, .bool, .int, .float, .double, .date: true
        case .decimal, .string, .data, .uuid, .objectID, .link, .list, .set, .map: false
        }
    }

    private static func orderKey(_ number: Int64) -> UInt64 { UInt64(bitPattern: number) ^ (1 << 63) }

    /// After NaN comes nothing; 0 and -0 are equal.
    private static func orderKey(_ number: Double) -> UInt64 {
        guard !number.isNaN else { return .max }
        let bits = (number == 0 ? 0 : number).bitPattern
        return number < 0 ? ~bits : bits | 1 << 63
    }

    /// The first eight bytes.
    private static func orderKey(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var (key, shift): (UInt64, UInt64) = (0, 64)
        for byte in bytes.prefix(8) {
            shift -= 8
            key |= UInt64(byte) << shift
        }
        return key
    }
}
