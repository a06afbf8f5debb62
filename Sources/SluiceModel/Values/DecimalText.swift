package import FoundationEssentials

/// Reads and writes decimals as text without changing them.
///
/// A decimal is an integer below 2^128 times a power of ten from 10^-128 to 10^127. `Decimal(string:)` drops digits
/// that do not fit; this parser reads a number exactly or says why it cannot.
package enum DecimalText {
    /// Why a text cannot be read as a decimal.
    package enum Failure: Error {
        /// The text is not a number.
        case malformed
        /// The digits make an integer of 2^128 or more.
        case tooManyDigits
        /// The number is too large, or has more than 128 decimal places.
        case outOfRange
    }

    /// The number of digits of 2^128 - 1, the largest significand.
    private static let digitCountMax = 39
    private static let exponents = -128...127

    /// The number as digits with an optional sign and point, without an exponent; or `NaN`.
    package static func text(of value: Decimal) -> String { value.isNaN ? "NaN" : value.description }

    /// Parses an optional sign, digits with an optional point among them, and an optional exponent.
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

    /// A number as it is written in a text.
    private struct Number {
        var isNegative = false
        /// The number of digits from the first to the last that is not zero.
        var digitCount = 0
        /// These digits as an integer; nil if it does not fit into 128 bits.
        var significand: UInt128? = 0
        /// The power of ten of the last of these digits.
        var exponent = 0

        /// Appends a digit that is not zero, and the zeros between it and the previous one.
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

        /// Reads the number that makes up the whole text; nil if the text is anything else.
        mutating func number() -> Number? {
            var number = Number()
            number.isNegative = skipSign()
            var hasDigits = false
            var isFraction = false
            // Zeros that belong to the significand only if another digit follows.
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

        /// Reads the exponent that comes next; 0 if there is none, nil if it has no digits.
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
