/// The global, immutable identity of an object: 128 bits, unique across all stores and servers.
///
/// A keyless object draws its id from an ``ObjectIDGenerator`` before it is stored anywhere. The id of an object with a
/// primary key is computed from its class and key, see ``Identity/objectID``. The textual form is 32 lower-case
/// hexadecimal digits. Ids are ordered as unsigned 128-bit numbers, which is also the order of their text.
public struct ObjectID: Hashable, Sendable {
    /// The upper 64 bits: for a keyless object, the random origin of the process that made it.
    public let high: UInt64
    /// The lower 64 bits: for a keyless object, a counter within the origin.
    public let low: UInt64

    /// - Parameters:
    ///   - high: the upper 64 bits.
    ///   - low: the lower 64 bits.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

extension ObjectID: Comparable {
    @inlinable
    public static func < (left: ObjectID, right: ObjectID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

extension ObjectID: LosslessStringConvertible {
    /// Parses the textual form; nil unless `text` is exactly 32 hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for byte in text.utf8 {
            guard count < 32, let digit = Hexadecimal.value(of: byte) else { return nil }
            if count < 16 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
            count += 1
        }
        guard count == 32 else { return nil }
        self.init(high: high, low: low)
    }

    public var description: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            for index in 0..<16 {
                let shift = UInt64(60 - index * 4)
                buffer[index] = Hexadecimal.digit(UInt8(truncatingIfNeeded: high >> shift & 0xF))
                buffer[index + 16] = Hexadecimal.digit(UInt8(truncatingIfNeeded: low >> shift & 0xF))
            }
            return 32
        }
    }
}

extension ObjectID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ObjectID(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "an object id is 32 hexadecimal digits")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
