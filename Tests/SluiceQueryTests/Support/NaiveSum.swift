/// Sums of doubles, computed in binary as on paper: without rounding before the end.
struct NaiveSum {
    /// The bits of a natural number, lowest first.
    private typealias Natural = [Bool]

    /// The sum of the numbers divided by `divisor`, which is 1 or more, rounded once.
    static func quotient(_ numbers: [Double], by divisor: Int) -> Double {
        if numbers.contains(where: \.isNaN) { return .nan }
        let infinities = Set(numbers.filter(\.isInfinite))
        if let infinity = infinities.first { return infinities.count > 1 ? .nan : infinity }
        let numbers = numbers.filter { $0 != 0 }
        guard let smallest = numbers.map({ Int($0.ulp.exponent) }).min() else { return 0 }
        // More bits after the last one than any quotient needs.
        let lowest = smallest - 128
        var (above, below): (Natural, Natural) = ([], [])
        for number in numbers {
            let integer = UInt64(number.magnitude / number.ulp)
            let zeros = [Bool](repeating: false, count: Int(number.ulp.exponent) - lowest)
            let bits = zeros + (0..<53).map { integer >> UInt64($0) & 1 == 1 }
            if number > 0 { above = sum(above, bits) } else { below = sum(below, bits) }
        }
        let difference = difference(above, below)
        let (bits, hasRest) = divide(difference.magnitude, by: divisor)
        let result = rounded(bits, hasRest, lowest)
        return difference.isNegative && result != 0 ? -result : result
    }

    private static func rounded(_ bits: Natural, _ hasRest: Bool, _ lowest: Int) -> Double {
        guard let highest = bits.lastIndex(of: true) else { return 0 }
        let cut = max(highest - 52, -1_074 - lowest)
        var kept: UInt64 = 0
        for index in (cut..<max(cut, highest + 1)).reversed() { kept = kept * 2 + (bits[index] ? 1 : 0) }
        let isHalf = cut - 1 < bits.count && bits[cut - 1]
        let isMore = hasRest || bits.prefix(cut - 1).contains(true)
        if isHalf, isMore || kept % 2 == 1 { kept += 1 }
        return Double(sign: .plus, exponent: cut + lowest, significand: Double(kept))
    }

    private static func sum(_ left: Natural, _ right: Natural) -> Natural {
        var result: Natural = []
        var carry = 0
        for index in 0..<max(left.count, right.count) + 1 {
            let total = carry + (bit(left, index) ? 1 : 0) + (bit(right, index) ? 1 : 0)
            result.append(total % 2 == 1)
            carry = total / 2
        }
        return result
    }

    private static func difference(_ left: Natural, _ right: Natural) -> (magnitude: Natural, isNegative: Bool) {
        let count = max(left.count, right.count)
        let highest = (0..<count).last { bit(left, $0) != bit(right, $0) }
        guard let highest else { return ([], false) }
        if bit(right, highest) { return (difference(right, left).magnitude, true) }
        var result: Natural = []
        var borrow = 0
        for index in 0..<count {
            let total = (bit(left, index) ? 1 : 0) - (bit(right, index) ? 1 : 0) - borrow
            result.append(total.magnitude % 2 == 1)
            borrow = total < 0 ? 1 : 0
        }
        return (result, false)
    }

    private static func divide(_ number: Natural, by divisor: Int) -> (quotient: Natural, hasRest: Bool) {
        var quotient = number
        let divisor = UInt128(divisor)
        var rest: UInt128 = 0
        for index in number.indices.reversed() {
            rest = rest * 2 + (number[index] ? 1 : 0)
            quotient[index] = rest >= divisor
            if rest >= divisor { rest -= divisor }
        }
        return (quotient, rest != 0)
    }

    private static func bit(_ number: Natural, _ index: Int) -> Bool { index < number.count && number[index] }
}
