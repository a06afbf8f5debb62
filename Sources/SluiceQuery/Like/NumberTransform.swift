/// The discrete Fourier transform of integers modulo the prime 2⁶⁴ − 2³² + 1, which computes convolutions without
/// rounding.
struct NumberTransform {
    private static let prime: UInt64 = 0xFFFF_FFFF_0000_0001
    /// Its powers are all numbers from 1 to the prime.
    private static let generator: UInt64 = 7

    /// The length of a transformed sequence, a power of two.
    let size: Int
    /// The first half of the powers of a root of unity of order ``size``, and those of its inverse.
    private let roots: [UInt64]
    private let inverseRoots: [UInt64]
    private let inverseSize: UInt64

    /// How many pairs of numbers one transform combines.
    var stepCount: Int { size / 2 * size.trailingZeroBitCount }

    init(size: Int) {
        precondition(size >= 2 && size & (size - 1) == 0, "the size of a transform is a power of two")
        self.size = size
        let root = Self.power(Self.generator, (Self.prime - 1) / UInt64(size))
        roots = Self.powers(root, count: size / 2)
        inverseRoots = Self.powers(Self.power(root, Self.prime - 2), count: size / 2)
        inverseSize = Self.power(UInt64(size), Self.prime - 2)
    }

    func forward(_ values: inout [UInt64]) { transform(&values, roots) }

    func inverse(_ values: inout [UInt64]) {
        transform(&values, inverseRoots)
        for index in values.indices { values[index] = Self.multiply(values[index], inverseSize) }
    }

    /// Transforms in place, by the method of Cooley and Tukey.
    private func transform(_ values: inout [UInt64], _ roots: [UInt64]) {
        let unusedBitCount = UInt64(UInt64.bitWidth - size.trailingZeroBitCount)
        values.withUnsafeMutableBufferPointer { values in
            for index in 0..<size {
                let other = Int(Self.reversed(UInt64(index)) >> unusedBitCount)
                if index < other { values.swapAt(index, other) }
            }
            var half = 1
            while half < size {
                let stride = size / (2 * half)
                for start in Swift.stride(from: 0, to: size, by: 2 * half) {
                    for offset in 0..<half {
                        let left = values[start + offset]
                        let right = Self.multiply(values[start + offset + half], roots[offset * stride])
                        values[start + offset] = Self.add(left, right)
                        values[start + offset + half] = Self.subtract(left, right)
                    }
                }
                half *= 2
            }
        }
    }

    private static func reversed(_ word: UInt64) -> UInt64 {
        var word = word.byteSwapped
        word = (word >> 4) & 0x0F0F_0F0F_0F0F_0F0F | (word & 0x0F0F_0F0F_0F0F_0F0F) << 4
        word = (word >> 2) & 0x3333_3333_3333_3333 | (word & 0x3333_3333_3333_3333) << 2
        return (word >> 1) & 0x5555_5555_5555_5555 | (word & 0x5555_5555_5555_5555) << 1
    }

    private static func powers(_ base: UInt64, count: Int) -> [UInt64] {
        var powers: [UInt64] = [1]
        powers.reserveCapacity(count)
        while powers.count < count { powers.append(multiply(powers[powers.count - 1], base)) }
        return powers
    }

    private static func power(_ base: UInt64, _ exponent: UInt64) -> UInt64 {
        var (result, base, exponent): (UInt64, UInt64, UInt64) = (1, base, exponent)
        while exponent > 0 {
            if exponent & 1 == 1 { result = multiply(result, base) }
            base = multiply(base, base)
            exponent >>= 1
        }
        return result
    }

    // MARK: Arithmetic of remainders, each below the prime

    static func add(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (sum, isOver) = left.addingReportingOverflow(right)
        return isOver || sum >= prime ? sum &- prime : sum
    }

    static func subtract(_ left: UInt64, _ right: UInt64) -> UInt64 {
        left >= right ? left - right : left &- right &+ prime
    }

    /// Reduces the product by 2⁶⁴ = 2³² − 1 and 2⁹⁶ = −1, modulo the prime.
    static func multiply(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (high, low) = left.multipliedFullWidth(by: right)
        let lower = low >= prime ? low - prime : low
        let middle = (high & 0xFFFF_FFFF) * 0xFFFF_FFFF
        return add(subtract(lower, high >> 32), middle)
    }
}
