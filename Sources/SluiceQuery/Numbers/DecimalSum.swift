internal import FoundationEssentials
internal import SluiceModel

/// A sum of decimals that stays exact until it is read: a fixed-point number that spans all decimals, as ``ExactSum``
/// spans all doubles.
struct DecimalSum: Sendable {
    /// The power of ten of the lowest digit of the lowest limb.
    private static let lowestExponent = -144
    private static let limbDigitCount = 18
    private static let limbCount = 20
    private static let base: Int64 = 1_000_000_000_000_000_000
    /// How many digits a decimal always holds.
    private static let digitCount = 38

    /// Limbs of 18 digits, the lowest first. Each is within ±10^18, except the last, which has room for the carries of
    /// many numbers.
    private var limbs = InlineArray<20, Int64>(repeating: 0)

    private static let powers: [Int64] = (0..<18).map { (0..<$0).reduce(1) { power, _ in power * 10 } }

    /// - Parameter number: not NaN.
    mutating func add(_ number: Decimal, isNegated: Bool = false) {
        let (digits, exponent) = DecimalKey.significantDigits(number.description)
        let isNegative = (number < 0) != isNegated
        for (index, digit) in digits.enumerated() where digit != 0 {
            let position = exponent - 1 - index - Self.lowestExponent
            let value = Int64(digit) * Self.powers[position % Self.limbDigitCount]
            limbs[position / Self.limbDigitCount] += isNegative ? -value : value
            // A limb takes nine numbers of its own size before it overflows.
            if index % 4 == 3 { passCarries() }
        }
        passCarries()
    }

    private mutating func passCarries() {
        for index in 0..<Self.limbCount - 1 {
            let carry = limbs[index] / Self.base
            guard carry != 0 else { continue }
            limbs[index] -= carry * Self.base
            limbs[index + 1] += carry
        }
    }

    /// The sign, the digits without zeros at either end, and the power of ten of the last one.
    private var magnitude: (isNegative: Bool, digits: [UInt8], exponent: Int) {
        var limbs = limbs
        let top = (0..<Self.limbCount).last { limbs[$0] != 0 }
        guard let top else { return (false, [], 0) }
        let isNegative = limbs[top] < 0
        var digits: [UInt8] = []
        if isNegative { for index in 0...top { limbs[index] = -limbs[index] } }
        // The highest limb is positive now, and lends to those below it.
        for index in 0..<top where limbs[index] < 0 {
            limbs[index] += Self.base
            limbs[index + 1] -= 1
        }
        for index in (0...top).reversed() {
            let text = String(limbs[index])
            digits += [UInt8](repeating: 0, count: max(0, Self.limbDigitCount - text.utf8.count))
            digits += text.utf8.map { $0 - 0x30 }
        }
        var exponent = Self.lowestExponent
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        digits.removeFirst(digits.firstIndex { $0 != 0 } ?? digits.count)
        return (isNegative, digits, exponent)
    }

    private static func decimal(_ digits: some Sequence<UInt8>, _ exponent: Int, _ isNegative: Bool) -> Decimal? {
        try? DecimalText.parse((isNegative ? "-" : "") + digits.map { String($0) }.joined() + "e\(exponent)")
    }

    /// The sum, rounded once to 38 digits, halves away from zero; nil if no decimal can hold it.
    var rounded: Decimal? {
        var (isNegative, digits, exponent) = magnitude
        guard !digits.isEmpty else { return 0 }
        if digits.count > Self.digitCount {
            let isUp = digits[Self.digitCount] >= 5
            exponent += digits.count - Self.digitCount
            digits.removeSubrange(Self.digitCount...)
            if isUp {
                var index = digits.count - 1
                while index >= 0, digits[index] == 9 {
                    digits[index] = 0
                    index -= 1
                }
                if index >= 0 { digits[index] += 1 } else { digits.insert(1, at: 0) }
            }
            while digits.last == 0 {
                digits.removeLast()
                exponent += 1
            }
        }
        return Self.decimal(digits, exponent, isNegative)
    }

    /// Decimals whose exact sum this is: none for zero, and most often one.
    var parts: [Decimal] {
        let (isNegative, digits, exponent) = magnitude
        var parts: [Decimal] = []
        for start in stride(from: 0, to: digits.count, by: Self.digitCount) {
            let end = min(start + Self.digitCount, digits.count)
            guard digits[start..<end].contains(where: { $0 != 0 }),
                let part = Self.decimal(digits[start..<end], exponent + digits.count - end, isNegative)
            else { continue }
            parts.append(part)
        }
        return parts
    }
}
