/// Hexadecimal digits: lower case in output, either case in input.
package enum Hexadecimal {
    /// The value of a digit; nil if `byte` is not a digit.
    @inlinable
    package static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x61 + 10
        case 0x41...0x46: byte - 0x41 + 10
        default: nil
        }
    }

    /// The digit for a value below 16.
    @inlinable
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x61 + value - 10
    }

    /// The textual form of bytes, two digits each.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            var index = 0
            for byte in bytes {
                buffer[index] = digit(byte >> 4)
                buffer[index + 1] = digit(byte & 0xF)
                index += 2
            }
            return index
        }
    }

    /// Decodes a textual form; nil for an odd number of digits, or anything that is not a digit.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let upper = value(of: digits[index]), let lower = value(of: digits[index + 1]) else { return nil }
            bytes.append(upper << 4 | lower)
        }
        return bytes
    }
}
