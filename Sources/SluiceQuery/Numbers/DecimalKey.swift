package import FoundationEssentials
package import SluiceModel

/// Encodes decimals as bytes that sort (by `memcmp`, the shorter first) as the numbers do. Equal numbers have equal
/// bytes.
///
/// The first byte tells negative (1), zero (2), positive (3) and NaN (4), which comes last. The others then hold the
/// decimal exponent of 0.d₁d₂… with an offset of 32,768 in two bytes, and the significant digits in pairs, without
/// trailing zeros. Negative numbers have these bytes complemented, and 0xFF at the end.
package enum DecimalKey {
    package static func encode(_ number: Decimal) -> [UInt8] {
        number.isNaN ? [4] : encode(digitsOf: number.description)
    }

    /// The bytes of a number of any type; nil for a value that is not a number. A floating-point number has those of
    /// its ``FloatingText``; infinities come before and after all decimals.
    package static func encode(_ value: Value) -> [UInt8]? {
        switch value {
        case .decimal(let number): encode(number)
        case .int(let number): encode(digitsOf: number.description)
        case .float(let number): encode(Double(number), text: FloatingText.of(number))
        case .double(let number): encode(number, text: FloatingText.of(number))
        default: nil
        }
    }

    /// Compares two numbers: negative, zero or positive; nil if one is NaN or not a number.
    package static func compare(_ left: Value, _ right: Value) -> Int? {
        guard let left = encode(left), let right = encode(right), left != [4], right != [4] else { return nil }
        return left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in UTF8Order.compareBytes(left, right) }
        }
    }

    private static func encode(_ number: Double, text: String) -> [UInt8] {
        if number.isNaN { return [4] }
        if number.isInfinite { return number > 0 ? [3, 0xFF, 0xFF] : [1, 0] }
        return encode(digitsOf: text)
    }

    private static func encode(digitsOf text: String) -> [UInt8] {
        let (digits, exponent) = significantDigits(text)
        guard !digits.isEmpty else { return [2] }
        var body = [UInt8(truncatingIfNeeded: (exponent + 32_768) >> 8), UInt8(truncatingIfNeeded: exponent)]
        for index in stride(from: 0, to: digits.count, by: 2) {
            body.append(digits[index] * 10 + (index + 1 < digits.count ? digits[index + 1] : 0))
        }
        guard text.utf8.first == UInt8(ascii: "-") else { return [3] + body }
        return [1] + body.map { ~$0 } + [0xFF]
    }

    /// The decimal that ``encode(_:)`` made these bytes of; nil if it cannot have made them.
    package static func decode(_ bytes: [UInt8]) -> Decimal? {
        switch bytes {
        case [4]: return Decimal.nan
        case [2]: return 0
        default: break
        }
        guard let kind = bytes.first, kind == 3 || kind == 1 && bytes.last == 0xFF else { return nil }
        let body = kind == 3 ? Array(bytes.dropFirst()) : bytes.dropFirst().dropLast().map { ~$0 }
        guard body.count > 2, body.count <= 2 + 20, body.dropFirst(2).allSatisfy({ $0 < 100 }) else { return nil }
        let exponent = Int(body[0]) << 8 + Int(body[1]) - 32_768
        let digits = body.dropFirst(2).map { ($0 < 10 ? "0" : "") + String($0) }.joined()
        let text = "\(kind == 1 ? "-" : "")0.\(digits)e\(exponent)"
        guard let number = try? DecimalText.parse(text) else { return nil }
        return encode(number) == bytes ? number : nil
    }

    /// The digits of 0.d₁d₂… without zeros at either end, and the exponent that scales it to the number's magnitude.
    static func significantDigits(_ text: String) -> (digits: [UInt8], exponent: Int) {
        var digits: [UInt8] = []
        var exponent = 0
        var isFraction = false
        let parts = text.utf8.split(separator: UInt8(ascii: "e"), maxSplits: 1)
        for byte in parts.first ?? text.utf8[...] {
            switch byte {
            case UInt8(ascii: "."): isFraction = true
            case 0x30...0x39:
                if byte == 0x30, digits.isEmpty {
                    if isFraction { exponent -= 1 }
                } else {
                    digits.append(byte - 0x30)
                    if !isFraction { exponent += 1 }
                }
            default: break
            }
        }
        while digits.last == 0 { digits.removeLast() }
        if parts.count == 2 { exponent += Int(Substring(parts[1])) ?? 0 }
        return (digits, exponent)
    }
}
