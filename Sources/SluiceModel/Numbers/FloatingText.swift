/// Converts floating-point numbers to the decimal texts by which they are compared with decimals: the shortest text
/// that reads as the number again, so that 0.1 is 0.1, but all digits of a whole number beyond 2^53, whose shortest
/// text may be that of another whole number.
///
/// A whole number therefore compares with integers as it does with decimals, and all numbers have one order.
package enum FloatingText {
    package static func of(_ number: Double) -> String {
        guard number.isFinite, number.magnitude > 0x1p53 else { return number.description }
        return (number < 0 ? "-" : "") + digits(significand: number.magnitude)
    }

    package static func of(_ number: Float) -> String {
        number.isFinite && number.magnitude > 0x1p24 ? of(Double(number)) : number.description
    }

    /// All digits of a whole number from 2^53.
    private static func digits(significand number: Double) -> String {
        // Nine decimal digits in each limb, the lowest first.
        var limbs: [UInt64] = []
        var significand = UInt64(number.significandBitPattern) | 1 << 52
        while significand > 0 {
            limbs.append(significand % 1_000_000_000)
            significand /= 1_000_000_000
        }
        var shift = Int(number.exponent) - 52
        while shift > 0 {
            let step = min(shift, 32)
            var carry: UInt64 = 0
            for index in limbs.indices {
                let product = limbs[index] << UInt64(step) + carry
                limbs[index] = product % 1_000_000_000
                carry = product / 1_000_000_000
            }
            while carry > 0 {
                limbs.append(carry % 1_000_000_000)
                carry /= 1_000_000_000
            }
            shift -= step
        }
        let highest = limbs.last.map(String.init) ?? "0"
        return limbs.dropLast().reversed().reduce(highest) { text, limb in
            let digits = String(limb)
            return text + String(repeating: "0", count: 9 - digits.utf8.count) + digits
        }
    }
}
