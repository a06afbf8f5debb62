package import FoundationEssentials

/// Reads and writes decimals as text without changing them.
///
/// A decimal is a whole number below 2^128 times a power of ten from 10^-128 to 10^127. `Decimal(string:)` drops the
/// digits that do not fit; this reads a number exactly, or says why it cannot.
package enum DecimalText {
    /// Why a text cannot be read as a decimal.
    package enum Failure: Error {
        /// The text is not written as a number.
        case malformed
        /// The number has more digits than 2^128 - 1.
        case tooManyDigits
        /// The number is too large, or has more than 128 places.
        case outOfRange
    }

    /// Digits of the largest whole number below 2^128.
    private static let digitCountMax = 39
    private static let exponents = -128...127

    /// The number as digits with an optional sign and point, never with an exponent, or `NaN`.
    package static func text(of value: Decimal) -> String { value.isNaN ? "NaN" : value.description }

    /// Reads an optional sign, digits with an optional point among them, and an optional exponent.
    package static func parse(_ text: String) throws(Failure) -> Decimal {
        var scanner = Scanner(text.utf8)
        guard let number = scanner.number() else { throw .malformed }
        guard number.digitCount > 0 else { return 0 }
        guard let significand = number.significand else { throw .tooManyDigits }
        var scaled = significand
        var exponent = number.exponent
        guard exponent >= exponents.lowerBound, exponent <= exponents.upperBound + digitCountMax else {
            throw .outOfRange
        }
        while exponent > exponents.upperBound {
            let (product, overflow) = scaled.multipliedReportingOverflow(by: 10)
            if overflow { throw .outOfRange }
            scaled = product
            exponent -= 1
        }
        let digits = "\(number.isNegative ? "-" : "")\(scaled)e\(exponent)"
        guard let value = Decimal(string: digits) else { throw .outOfRange }
        return value
    }

    /// What a text says of a number.
    private struct Number {
        var isNegative = false
        /// How many digits there are from the first to the last that is not zero.
        var digitCount = 0
        /// These digits as a number; nil if 128 bits do not hold it.
        var significand: UInt128? = 0
        /// The power of ten that the digits count.
        var exponent = 0

        /// Adds a digit that is not zero, and the zeros between it and the one before.
        mutating func append(_ digit: UInt8, afterZeros zeroCount: Int) {
            digitCount += zeroCount + 1
            guard digitCount <= DecimalText.digitCountMax, var number = significand else {
                significand = nil
                return
            }
            for position in 0...zeroCount {
                let (product, overflow) = number.multipliedReportingOverflow(by: 10)
                let (sum, carries) = product.addingReportingOverflow(position == zeroCount ? UInt128(digit) : 0)
                guard !overflow, !carries else {
                    significand = nil
                    return
                }
                number = sum
            }
            significand = number
        }
    }

    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String.UTF8View) { rest = text[...] }

        /// The number that fills the text; nil if something else does.
        mutating func number() -> Number? {
            var number = Number()
            number.isNegative = skipSign()
            var hasDigits = false
            var isFraction = false
            // Zeros that count only if another digit follows.
            var zeroCount = 0
            while let byte = rest.first {
                if byte == UInt8(ascii: "."), !isFraction {
                    isFraction = true
                } else if byte &- 0x30 <= 9 {
                    hasDigits = true
                    if isFraction { number.exponent -= 1 }
                    if byte == 0x30 {
                        if number.digitCount > 0 { zeroCount += 1 }
                    } else {
                        number.append(byte - 0x30, afterZeros: zeroCount)
                        zeroCount = 0
                    }
                } else {
                    break
                }
                rest.removeFirst()
            }
            number.exponent += zeroCount
            guard hasDigits, let scale = exponent(), rest.isEmpty else { return nil }
            number.exponent += scale
            return number
        }

        private mutating func skipSign() -> Bool {
            guard let byte = rest.first, byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") else { return false }
            rest.removeFirst()
            return byte == UInt8(ascii: "-")
        }

        /// The exponent that comes next, 0 if none does; nil for one without digits.
        private mutating func exponent() -> Int? {
            guard let byte = rest.first, byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") else { return 0 }
            rest.removeFirst()
            let isNegative = skipSign()
            guard let first = rest.first, first &- 0x30 <= 9 else { return nil }
            var exponent = 0
            while let byte = rest.first, byte &- 0x30 <= 9 {
                // Any exponent beyond a billion is out of range, however long the text is.
                exponent = min(exponent * 10 + Int(byte - 0x30), 1_000_000_000)
                rest.removeFirst()
            }
            return isNegative ? -exponent : exponent
        }
    }
}
