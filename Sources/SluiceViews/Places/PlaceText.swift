internal import FoundationEssentials
package import SluiceModel
internal import SluiceQuery

/// Writes where a result stands in the order of a query as a text in ASCII, whose bytes order as the results do: for
/// readers that sort and do not evaluate queries.
///
/// Each value becomes bytes that order as the values, and of which none is the beginning of another: 0 for null, which
/// precedes all values; else 1, and then for a bool a byte; for an int or date eight bytes, for a number with a fraction
/// the bits of a double, ascending; for a decimal ``DecimalKey``, for text and data their bytes, ended and with zeros
/// escaped; for ids their 16 bytes; for a link those of the target's key. A descending key has its bytes complemented. The
/// 16 bytes of the object's id come last. Six bits at a time become characters of an alphabet that ascends in ASCII.
package struct PlaceText {
    private static let alphabet = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - values: one for each key of a sort, or more, of which the rest does not count.
    ///   - isAscending: the direction of each key.
    ///   - id: the object's id; nil of what is no object, and has other values than all others.
    package static func of(_ values: [Value], _ isAscending: [Bool], _ id: ObjectID? = nil) -> String {
        var text = PlaceText()
        for (value, isAscending) in zip(values, isAscending) {
            let start = text.bytes.count
            text.add(value)
            guard !isAscending else { continue }
            for index in start..<text.bytes.count { text.bytes[index] = ~text.bytes[index] }
        }
        if let id {
            text.add(id.high)
            text.add(id.low)
        }
        return text.encoded
    }

    private mutating func add(_ value: Value) {
        guard !value.isNull else { return bytes.append(0) }
        bytes.append(1)
        switch value {
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int(let number): add(UInt64(bitPattern: number) ^ 1 << 63)
        case .date(let time): add(UInt64(bitPattern: time.microseconds) ^ 1 << 63)
        case .float(let number): add(Self.ascending(Double(number)))
        case .double(let number): add(Self.ascending(number))
        case .decimal(let number): add(ended: DecimalKey.encode(number))
        case .string(let text): add(ended: text.utf8)
        case .data(let data): add(ended: data)
        case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
        case .objectID(let id):
            add(id.high)
            add(id.low)
        case .link(let key): add(key.value)
        // No query sorts by these.
        case .null, .list, .set, .map: break
        }
    }

    /// The bits of a double, ascending as the numbers; after NaN comes nothing, and 0 and -0 are equal.
    private static func ascending(_ number: Double) -> UInt64 {
        guard !number.isNaN else { return .max }
        let bits = (number == 0 ? 0 : number).bitPattern
        return number < 0 ? ~bits : bits | 1 << 63
    }

    private mutating func add(_ number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Adds bytes, with a zero among them as 0 and 255, and 0 and 0 after them.
    private mutating func add(ended content: some Sequence<UInt8>) {
        for byte in content {
            bytes.append(byte)
            if byte == 0 { bytes.append(0xFF) }
        }
        bytes.append(0)
        bytes.append(0)
    }

    private var encoded: String {
        String(unsafeUninitializedCapacity: (bytes.count * 8 + 5) / 6) { target in
            var (bits, count, length): (UInt32, UInt32, Int) = (0, 0, 0)
            for byte in bytes {
                bits = bits << 8 | UInt32(byte)
                count += 8
                while count >= 6 {
                    count -= 6
                    target[length] = Self.alphabet[Int(bits >> count & 63)]
                    length += 1
                }
            }
            if count > 0 {
                target[length] = Self.alphabet[Int(bits << (6 - count) & 63)]
                length += 1
            }
            return length
        }
    }
}
