package import SluiceModel

/// Parses numbers from bytes, for the inner loop of imports.
package enum NumberText {
    /// The value of `-?(0|[1-9][0-9]*)` that fits into 64 bits; nil for anything else. Leading zeros and `-0` are not
    /// integers, because they would be printed differently.
    package static func integer(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var index = 0
        let isNegative = bytes.count > 1 && bytes[0] == 0x2D
        if isNegative { index = 1 }
        guard index < bytes.count, bytes.count - index <= 19 else { return nil }
        if bytes[index] == 0x30 { return bytes.count == 1 ? 0 : nil }
        var magnitude: UInt64 = 0
        while index < bytes.count {
            let digit = bytes[index] &- 0x30
            guard digit <= 9 else { return nil }
            magnitude = magnitude &* 10 &+ UInt64(digit)
            index += 1
        }
        if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
        return Int64(exactly: magnitude)
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// The value of a finite decimal number in the syntax of JSON, rounded correctly; nil for anything else, also for
    /// leading zeros.
    ///
    /// Up to 15 digits and an exact power of ten need only one operation (Clinger, "How to Read Floating Point Numbers
    /// Accurately", 1990); other numbers are parsed by the standard library.
    package static func double(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
        var index = 0
        let isNegative = bytes.count > 1 && bytes[0] == 0x2D
        if isNegative { index = 1 }
        guard index < bytes.count, bytes[index] &- 0x30 <= 9 else { return nil }
        if bytes[index] == 0x30, index + 1 < bytes.count, bytes[index + 1] &- 0x30 <= 9 { return nil }
        var mantissa: UInt64 = 0
        var digits = 0
        var fraction = 0
        func isDigit(_ index: Int) -> Bool { index < bytes.count && bytes[index] &- 0x30 <= 9 }
        while isDigit(index) {
            mantissa = mantissa &* 10 &+ UInt64(bytes[index] &- 0x30)
            digits += 1
            index += 1
        }
        if index < bytes.count, bytes[index] == 0x2E {
            index += 1
            guard isDigit(index) else { return nil }
            while isDigit(index) {
                mantissa = mantissa &* 10 &+ UInt64(bytes[index] &- 0x30)
                digits += 1
                fraction += 1
                index += 1
            }
        }
        if index == bytes.count {
            guard digits <= 15, fraction <= 22 else { return slow(bytes) }
            let value = Double(mantissa) / powersOfTen[fraction]
            return isNegative ? -value : value
        }
        guard bytes[index] == 0x65 || bytes[index] == 0x45 else { return nil }
        index += 1
        if index < bytes.count, bytes[index] == 0x2B || bytes[index] == 0x2D { index += 1 }
        guard isDigit(index) else { return nil }
        while isDigit(index) { index += 1 }
        return index == bytes.count ? slow(bytes) : nil
    }

    private static func slow(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
        guard let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// The value of an ISO 8601 date, with a fast path for `YYYY-MM-DDTHH:MM:SSZ`; nil for anything else.
    package static func date(_ bytes: UnsafeBufferPointer<UInt8>) -> Timestamp? {
        guard bytes.count >= 10, bytes[0] &- 0x30 <= 9 || bytes[0] == 0x2B || bytes[0] == 0x2D else { return nil }
        func number(_ start: Int, _ count: Int) -> Int64? {
            var value: Int64 = 0
            for index in start..<start + count {
                let digit = bytes[index] &- 0x30
                guard digit <= 9 else { return nil }
                value = value * 10 + Int64(digit)
            }
            return value
        }
        guard bytes.count == 20, bytes[19] == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), bytes[4] == UInt8(ascii: "-"),
            bytes[7] == UInt8(ascii: "-"), let year = number(0, 4), let month = number(5, 2), let day = number(8, 2),
            let hour = number(11, 2), hour < 24, let minute = number(14, 2), minute < 60, let second = number(17, 2),
            second < 60, let days = CivilDate.daysSince1970(year: year, month: month, day: day)
        else { return Timestamp(iso8601: String(decoding: bytes, as: UTF8.self)) }
        return Timestamp(microseconds: (days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000)
    }
}
