/// A sum of floating-point numbers that stays exact until it is read, so that neither their order nor their sizes
/// matter.
///
/// It is a fixed-point number that spans all doubles (U. Kulisch, "Computer Arithmetic and Validity", 2nd edition,
/// chapter 8: the long accumulator), in digits that postpone carries (R. M. Neal, "Fast Exact Summation Using Small and
/// Large Superaccumulators", arXiv:1505.05571, section 3). Adding costs a few nanoseconds; nothing is ever allocated.
struct ExactSum: Sendable {
    private static let digitCount = 67
    /// How many numbers below 2^52 a digit can take before it may overflow.
    private static let additionsMax = 1_024

    /// Digits of 32 bits; the lowest is worth 2^-1074. Until carries are passed on, each may exceed 32 bits or be
    /// negative; after that only the last may, which has room for the carries of 2^63 numbers.
    private var digits = InlineArray<67, Int64>(repeating: 0)
    private var additionsLeft = ExactSum.additionsMax
    /// The sum of the infinities and NaNs that were added.
    private var nonFinite = 0.0

    /// - Parameter positions: how many times the number counts twice as much, from 0 to ``largeShift``.
    mutating func add(_ number: Double, shiftedBy positions: Int = 0) {
        let bits = number.bitPattern
        let exponent = Int(truncatingIfNeeded: bits >> 52 & 0x7FF)
        guard exponent != 0x7FF else {
            nonFinite += number
            return
        }
        if additionsLeft == 0 { passCarries() }
        additionsLeft -= 1
        let fraction = Int64(truncatingIfNeeded: bits & (1 << 52 - 1))
        // Subnormal numbers have the exponent of the smallest normal ones, and no leading one.
        let significand = exponent == 0 ? fraction : fraction | 1 << 52
        let position = max(exponent, 1) - 1 + positions
        let shift = Int64(truncatingIfNeeded: position & 31)
        let low = significand &<< shift & 0xFFFF_FFFF
        let high = significand &>> (32 &- shift)
        if number.sign == .plus {
            digits[position >> 5] &+= low
            digits[position >> 5 + 1] &+= high
        } else {
            digits[position >> 5] &-= low
            digits[position >> 5 + 1] &-= high
        }
    }

    /// The sum divided by a positive number and rounded once, to the nearest double, ties to even. NaN if NaN was
    /// added, or infinities of both signs.
    func divided(by divisor: Int) -> Double {
        if nonFinite.isNaN { return .nan }
        if nonFinite != 0 { return nonFinite }
        var magnitude = self
        magnitude.passCarries()
        let isNegative = magnitude.digits[Self.digitCount - 1] < 0
        if isNegative { magnitude.negate() }
        let quotient = Self.quotient(of: magnitude.digits.span, by: UInt128(divisor))
        return isNegative && quotient != 0 ? -quotient : quotient
    }

    /// By how many bits numbers beyond the range of doubles are shifted to be within it.
    static let largeShift = 64

    /// Doubles whose exact sum this is, the greatest first, all of one sign: each has the 53 highest bits of what those
    /// before it leave. None for zero. Those beyond the range of doubles are given apart, shifted by ``largeShift``.
    var parts: (large: [Double], others: [Double]) {
        var magnitude = self
        magnitude.passCarries()
        let isNegative = magnitude.digits[Self.digitCount - 1] < 0
        if isNegative { magnitude.negate() }
        var (large, others): ([Double], [Double]) = ([], [])
        var index = Self.digitCount - 1
        while index >= 0 {
            guard magnitude.digits[index] != 0 else {
                index -= 1
                continue
            }
            var bits: UInt128 = 0
            for place in 0..<3 {
                bits = bits << 32 | (index < place ? 0 : UInt128(magnitude.digits[index - place]))
            }
            let dropped = max(UInt128.bitWidth - bits.leadingZeroBitCount - 53, 0)
            let kept = UInt64(truncatingIfNeeded: bits >> dropped)
            let sign = isNegative ? FloatingPointSign.minus : .plus
            let exponent = dropped + 32 * (index - 2) - 1_074
            let part = Double(sign: sign, exponent: exponent, significand: Double(kept))
            if part.isFinite {
                others.append(part)
            } else {
                large.append(Double(sign: sign, exponent: exponent - Self.largeShift, significand: Double(kept)))
            }
            let rest = bits & (UInt128(1) << dropped - 1)
            for place in 0..<3 where index >= place {
                magnitude.digits[index - place] = Int64(truncatingIfNeeded: rest >> (32 * (2 - place)) & 0xFFFF_FFFF)
            }
        }
        return (large, others)
    }

    private mutating func passCarries() {
        var digits = self.digits.mutableSpan
        for index in 0..<Self.digitCount - 1 {
            digits[index + 1] += digits[index] >> 32
            digits[index] &= 0xFFFF_FFFF
        }
        additionsLeft = Self.additionsMax
    }

    private mutating func negate() {
        var digits = self.digits.mutableSpan
        for index in 0..<Self.digitCount { digits[index] = -digits[index] }
        passCarries()
    }

    /// Long division, from the highest digit until the bits of a double and at least one more are known.
    private static func quotient(of digits: Span<Int64>, by divisor: UInt128) -> Double {
        var remainder: UInt128 = 0
        var result: UInt128 = 0
        var index = digits.count
        // One digit below the smallest double decides how to round to it.
        while index > -1, result >> 64 == 0 {
            index -= 1
            remainder = remainder << 32 | (index < 0 ? 0 : UInt128(digits[index]))
            result <<= 32
            guard remainder >= divisor else { continue }
            result |= remainder / divisor
            remainder %= divisor
        }
        var hasRest = remainder != 0
        for lower in 0..<max(index, 0) where digits[lower] != 0 { hasRest = true }
        return rounded(result, lowestBit: index * 32, hasRest: hasRest)
    }

    /// The double nearest to `bits`, the lowest of which is worth 2^(lowestBit - 1074).
    ///
    /// - Parameter hasRest: whether the number has more bits below.
    private static func rounded(_ bits: UInt128, lowestBit: Int, hasRest: Bool) -> Double {
        let highestBit = lowestBit + UInt128.bitWidth - bits.leadingZeroBitCount - 1
        let lastBit = max(highestBit - 52, 0)
        let dropped = lastBit - lowestBit
        let half = UInt128(1) << (dropped - 1)
        let rest = bits & (half << 1 - 1)
        let kept = UInt64(truncatingIfNeeded: bits >> dropped)
        // The leading one of a normal number adds one to the exponent.
        var pattern = UInt64(lastBit) << 52 + kept
        if rest > half || rest == half && (hasRest || kept & 1 == 1) { pattern += 1 }
        return Double(bitPattern: min(pattern, Double.infinity.bitPattern))
    }
}
