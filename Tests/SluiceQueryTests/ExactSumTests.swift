import SluiceModel
import TestSupport
import Testing

@testable import SluiceQuery

/// Sums and averages of floating-point numbers are exact and rounded once, in any order.
struct ExactSumTests {
    private static func quotient(_ numbers: [Double], by divisor: Int = 1) -> Double {
        var sum = ExactSum()
        for number in numbers { sum.add(number) }
        return sum.divided(by: divisor)
    }

    @Test(
        "Sums that adding one after the other gets wrong are right",
        arguments: [
            ([], 1, 0), ([1e16, 1, -1e16], 1, 1), ([1, 1e100, 1, -1e100], 1, 2), ([0.1, 0.2, 0.3], 1, 0.6),
            ([1e308, 1e308, -1e308], 1, 1e308), ([1e308, 1e308], 1, .infinity), ([1e308, 1e308], 2, 1e308),
            ([-1e308, -1e308], 1, -.infinity), ([0x1p-1074, 0x1p-1074], 1, 0x1p-1073), ([0x1p-1074], 2, 0),
            ([0x1p-1074 * 3], 2, 0x1p-1073),
            ([0x1p-1074, -1e308, 1e308], 1, 0x1p-1074), ([-0x1p-1074], 2, 0),
            ([-0x1p-1074, -0x1p-1074], 2, -0x1p-1074),
            // Ties go to the even number, and a little more than a tie is rounded up.
            ([0x1p53, 1], 1, 0x1p53), ([0x1p53, 1, 0x1p-1074], 1, 0x1p53 + 2), ([0x1p53, 2, 1], 1, 0x1p53 + 4),
            ([.greatestFiniteMagnitude, 0x1p969], 1, .greatestFiniteMagnitude),
            ([.greatestFiniteMagnitude, 0x1p970], 1, .infinity),
            ([.infinity, 1], 3, .infinity), ([.infinity, -.infinity], 1, .nan), ([.nan, 1], 1, .nan),
            ([-0.0, -0.0], 1, 0),
            ([1, 1, 0], 3, 2.0 / 3), ([-7], 3, -7.0 / 3), ([4, -1e300, 1e300], 3, 4.0 / 3),
        ] as [([Double], Int, Double)])
    func known(numbers: [Double], divisor: Int, expected: Double) {
        #expect(Value.double(Self.quotient(numbers, by: divisor)) == .double(expected))
        #expect(Value.double(Self.quotient(numbers.reversed(), by: divisor)) == .double(expected))
        #expect(Value.double(NaiveSum.quotient(numbers, by: divisor)) == .double(expected))
    }

    @Test("Sums are what they are on paper, in any order", arguments: 0..<6 as Range<UInt64>)
    func paper(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<60 {
            let spread: Int = generator.pick([3, 60, 300])
            let centre: Int = generator.pick([-1_000, 0, 700])
            var numbers = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
                let bits = UInt64.random(in: 0..<1 << 52, using: &generator)
                let exponent = centre + Int.random(in: -spread...spread, using: &generator)
                let fraction = generator.chance(50) ? bits : bits & (0xF << 48)
                return Double(
                    sign: generator.chance(50) ? .minus : .plus, exponent: min(exponent, 1_000),
                    significand: 1 + Double(fraction) / 0x1p52)
            }
            if generator.chance(30) { numbers += numbers.dropLast().map { -$0 } }
            let divisor = generator.pick([1, numbers.count, 3, Int.max])
            let expected = Value.double(NaiveSum.quotient(numbers, by: divisor))
            #expect(Value.double(Self.quotient(numbers, by: divisor)) == expected, "seed \(seed): \(numbers)")
            numbers.shuffle(using: &generator)
            #expect(Value.double(Self.quotient(numbers, by: divisor)) == expected, "seed \(seed): \(numbers)")
        }
    }

    @Test func carriesArePassedOnBeforeDigitsOverflow() {
        let largest = Double(sign: .plus, exponent: 52, significand: 2 - .ulpOfOne)
        var sum = ExactSum()
        for _ in 0..<5_000 { sum.add(largest) }
        #expect(sum.divided(by: 5_000) == largest)
        for _ in 0..<10_000 { sum.add(-largest) }
        #expect(sum.divided(by: 5_000) == -largest)
    }
}
