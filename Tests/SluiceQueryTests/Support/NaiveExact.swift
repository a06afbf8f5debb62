/// A finite number as all of its decimal digits: the exact value of a text or of a double.
struct NaiveExact {
    /// The sign, and the digits before and after the point.
    private var isNegative: Bool
    private var whole: [Int]
    private var fraction: [Int]

    /// The value of a text such as `-12.5e-3`.
    init(text: String) {
        var rest = Substring(text)
        isNegative = rest.hasPrefix("-")
        if isNegative { rest.removeFirst() }
        let parts = rest.split(separator: "e", maxSplits: 1)
        let digits = parts[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        whole = digits[0].map { $0.wholeNumberValue! }
        fraction = digits.count > 1 ? digits[1].map { $0.wholeNumberValue! } : []
        var shift = parts.count > 1 ? Int(parts[1])! : 0
        while shift > 0 {
            whole.append(fraction.isEmpty ? 0 : fraction.removeFirst())
            shift -= 1
        }
        while shift < 0 {
            fraction.insert(whole.popLast() ?? 0, at: 0)
            shift += 1
        }
    }

    init(_ number: Int64) { self.init(text: "\(number)") }

    /// The value of a finite double: its significand, doubled or halved as often as its exponent says.
    init(_ number: Double) {
        self.init(text: "\(Int64(number.magnitude.significand * 0x1p52))")
        if number == 0 { return }
        let exponent = Int(number.exponent) - 52
        for _ in 0..<max(exponent, 0) { multiply(by: 2) }
        for _ in 0..<max(-exponent, 0) {
            // Halving multiplies by five tenths.
            multiply(by: 5)
            fraction.insert(whole.popLast() ?? 0, at: 0)
        }
        isNegative = number < 0
    }

    private mutating func multiply(by factor: Int) {
        var carry = 0
        for index in fraction.indices.reversed() {
            carry += fraction[index] * factor
            fraction[index] = carry % 10
            carry /= 10
        }
        for index in whole.indices.reversed() {
            carry += whole[index] * factor
            whole[index] = carry % 10
            carry /= 10
        }
        while carry > 0 {
            whole.insert(carry % 10, at: 0)
            carry /= 10
        }
    }

    /// Compares two numbers; the result is negative, zero or positive.
    static func order(_ left: NaiveExact, _ right: NaiveExact) -> Int {
        let width = max(left.whole.count, right.whole.count)
        let depth = max(left.fraction.count, right.fraction.count)
        let (own, other) = (left.padded(width, depth), right.padded(width, depth))
        let isZero = own.allSatisfy { $0 == 0 } && other.allSatisfy { $0 == 0 }
        if isZero { return 0 }
        if left.isNegative != right.isNegative {
            if own.allSatisfy({ $0 == 0 }) { return right.isNegative ? 1 : -1 }
            return left.isNegative ? -1 : 1
        }
        let order = own == other ? 0 : own.lexicographicallyPrecedes(other) ? -1 : 1
        return left.isNegative ? -order : order
    }

    private func padded(_ width: Int, _ depth: Int) -> [Int] {
        [Int](repeating: 0, count: width - whole.count) + whole + fraction
            + [Int](repeating: 0, count: depth - fraction.count)
    }
}
