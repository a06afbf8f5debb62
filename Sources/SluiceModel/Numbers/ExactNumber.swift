/// A finite number of any size and precision, held exactly: what a text says before it takes a type. Constants of
/// queries, cells of files and members of JSON are all read as such.
///
/// The value is 0.d₁d₂… × 10^exponent. Parsing and comparing cost time linear in the digits; no number is ever rounded.
package struct ExactNumber: Sendable {
    private let isNegative: Bool
    /// The significant digits, 0 to 9, without zeros at either end; empty for zero.
    private let digits: [UInt8]
    private let exponent: Int
    /// The power of ten of the last digit that was written, zeros too: 0 for `120`, -2 for `1.20`, 3 for `12e3`.
    private let lastPlace: Int

    /// The greatest exponent read; the digits alone of the longest query cannot reach it.
    private static let exponentMax = 1 << 40

    /// Parses a number such as `-12.50e3`; nil for text that is not a finite number. O(length).
    ///
    /// An exponent beyond ±2^40 is read as ±2^40, which is far beyond the exponents of all numeric types.
    package init?(_ text: String) {
        var digits: [UInt8] = []
        var exponent = 0
        var lastPlace = 0
        var hasDigits = false
        var isFraction = false
        var bytes = Substring(text).utf8
        isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative || bytes.first == UInt8(ascii: "+") { bytes.removeFirst() }
        while let byte = bytes.first, byte != UInt8(ascii: "e"), byte != UInt8(ascii: "E") {
            bytes.removeFirst()
            switch byte {
            case UInt8(ascii: ".") where !isFraction: isFraction = true
            case 0x30...0x39:
                hasDigits = true
                if isFraction { lastPlace -= 1 }
                if byte == 0x30, digits.isEmpty {
                    if isFraction { exponent -= 1 }
                } else {
                    digits.append(byte - 0x30)
                    if !isFraction { exponent += 1 }
                }
            default: return nil
            }
        }
        guard hasDigits else { return nil }
        if !bytes.isEmpty {
            guard let written = Self.exponent(bytes.dropFirst()) else { return nil }
            exponent += written
            lastPlace += written
        }
        while digits.last == 0 { digits.removeLast() }
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent
        self.lastPlace = lastPlace
    }

    private static func exponent(_ bytes: Substring.UTF8View) -> Int? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative || bytes.first == UInt8(ascii: "+") ? bytes.dropFirst() : bytes
        guard !digits.isEmpty else { return nil }
        var exponent = 0
        for byte in digits {
            guard (0x30...0x39).contains(byte) else { return nil }
            exponent = min(exponent * 10 + Int(byte - 0x30), exponentMax)
        }
        return isNegative ? -exponent : exponent
    }

    /// Where a number is among the integers of 64 bits.
    package enum IntegerPlace {
        case equal(Int64)
        /// Between this integer and the next.
        case above(Int64)
        case belowAll
        case aboveAll
    }

    package var integerPlace: IntegerPlace {
        guard !digits.isEmpty else { return .equal(0) }
        guard exponent <= 19 else { return isNegative ? .belowAll : .aboveAll }
        var magnitude: UInt64 = 0
        for index in 0..<max(exponent, 0) {
            magnitude = magnitude * 10 + UInt64(index < digits.count ? digits[index] : 0)
        }
        let limit = isNegative ? Int64.min.magnitude : UInt64(Int64.max)
        let hasFraction = digits.count > max(exponent, 0)
        guard magnitude < limit || magnitude == limit && !hasFraction else { return isNegative ? .belowAll : .aboveAll }
        let whole = Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude)
        guard hasFraction else { return .equal(whole) }
        return .above(isNegative ? whole - 1 : whole)
    }

    /// The integer of 64 bits that the number is; nil if it is none.
    package var integer: Int64? { if case .equal(let integer) = integerPlace { integer } else { nil } }

    /// Whether a floating-point number, the nearest to this one, says all that was written.
    ///
    /// Rounding a fraction is what these types are for. But from 2^53 on (2^24 for floats) they leave out whole
    /// numbers, so a number that is written to its units must be one that they have. One whose last digit is above the
    /// units, such as 6.022e23, was rounded by who wrote it.
    package func isKept<Number: BinaryFloatingPoint>(as nearest: Number) -> Bool {
        guard nearest.isFinite else { return false }
        guard nearest.ulp > 1, lastPlace <= 0 else { return true }
        return ExactNumber(FloatingText.of(Double(nearest))) == self
    }
}

extension ExactNumber: Comparable {
    package static func == (left: ExactNumber, right: ExactNumber) -> Bool { compare(left, right) == 0 }

    package static func < (left: ExactNumber, right: ExactNumber) -> Bool { compare(left, right) < 0 }

    private static func compare(_ left: ExactNumber, _ right: ExactNumber) -> Int {
        if left.sign != right.sign { return left.sign < right.sign ? -1 : 1 }
        let isLess =
            left.exponent == right.exponent
            ? left.digits.lexicographicallyPrecedes(right.digits) : left.exponent < right.exponent
        if !isLess, left.exponent == right.exponent, left.digits == right.digits { return 0 }
        return isLess == left.isNegative ? 1 : -1
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }
}
