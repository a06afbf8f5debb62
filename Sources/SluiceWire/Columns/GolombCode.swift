/// Numbers around a centre in exponential Golomb codes: the nearer to the centre, the fewer bits.
///
/// A code of order k is that of u + 2^k, where u is the zigzag of a number's distance from the centre: as many zeros as
/// the sum has bits beyond k + 1, a one, then the bits of the sum below its highest (Teuhola, "A compression method for
/// clustered bit-vectors", 1978). Unlike packed numbers, a few that are far away cost the others nothing.
struct GolombCode {
    /// No sum has more bits than this and one, so that a code fits in a word.
    static let orderMax = 31
    /// Fewer numbers than this are not worth the search for an order.
    static let countMin = 16

    private let centre: Int64
    private let order: Int

    private init(centre: Int64, order: Int) {
        self.centre = centre
        self.order = order
    }

    /// The code that takes the fewest bits, about, and how many; nil where one of the numbers is too far away.
    static func best(for numbers: [Int64]) -> (code: GolombCode, bitCount: Int)? {
        let centre = middle(of: numbers)
        var counts = [Int](repeating: 0, count: 65)
        counts.withUnsafeMutableBufferPointer { counts in
            for number in numbers { counts[BitPacking.width(of: ZigZag.encode(number &- centre))] += 1 }
        }
        guard let widthMax = counts.lastIndex(where: { $0 > 0 }), widthMax <= orderMax else { return nil }
        var best = (code: GolombCode(centre: centre, order: 0), bitCount: Int.max)
        for order in 0...min(widthMax, orderMax - 1) {
            var bitCount = 0
            for width in 0...widthMax {
                let zeros = width <= order ? 0 : max(1, width - 1 - order)
                bitCount += counts[width] * (2 * zeros + 1 + order)
            }
            if bitCount < best.bitCount { best = (GolombCode(centre: centre, order: order), bitCount) }
        }
        return best
    }

    /// The median of some of the numbers.
    private static func middle(of numbers: [Int64]) -> Int64 {
        let step = max(1, numbers.count / 64)
        let samples = stride(from: 0, to: numbers.count, by: step).map { numbers[$0] }.sorted()
        return samples.isEmpty ? 0 : samples[samples.count / 2]
    }

    /// The size of numbers, with centre and order, in bytes.
    func size(of numbers: [Int64]) -> Int {
        var bitCount = 0
        for number in numbers { bitCount += 2 * (63 - sum(number).leadingZeroBitCount) }
        return IntegerSequence.varintSize(ZigZag.encode(centre)) + 1
            + BitPacking.size(bitCount: bitCount + numbers.count * (1 - order))
    }

    @inline(__always)
    private func sum(_ number: Int64) -> UInt64 { ZigZag.encode(number &- centre) + 1 << UInt64(order) }

    /// Appends centre, order and codes.
    func encode(_ numbers: [Int64], into writer: inout ByteWriter) {
        writer.zigzag(centre)
        writer.byte(UInt8(order))
        var bits = PackedBits()
        for number in numbers {
            let sum = sum(number)
            let top = 63 - sum.leadingZeroBitCount
            let zeros = top - order
            let code = (sum ^ 1 << UInt64(top)) << UInt64(zeros + 1) | 1 << UInt64(zeros)
            bits.append(code, width: top + zeros + 1, into: &writer)
        }
        bits.finish(into: &writer)
    }

    /// Reads centre, order and `count` codes.
    ///
    /// - Parameter first: what stands before the numbers in the result.
    static func decode(
        count: Int, after first: Int64? = nil, from reader: inout ByteReader
    ) throws(WireError) -> [Int64] {
        let centre = try reader.zigzag()
        let order = Int(try reader.byte())
        guard order <= orderMax else { throw reader.malformed("codes of the order \(order)") }
        let bytes = reader.rest
        // A code takes at least a bit more than its order.
        try reader.require(BitPacking.size(count: count, width: order + 1) ?? .max)
        var numbers: [Int64] = []
        numbers.reserveCapacity(count + 1)
        if let first { numbers.append(first) }
        var bit = 0
        for _ in 0..<count {
            let word = BitPacking.word(at: bit, width: 64, of: bytes)
            let zeros = word.trailingZeroBitCount
            let top = zeros + order
            guard top <= orderMax else { throw reader.malformed("a code of \(zeros) zeros and the order \(order)") }
            bit += top + zeros + 1
            guard bit <= bytes.count * 8 else { throw reader.truncated(by: 1) }
            let sum = word >> UInt64(zeros + 1) & ((1 << UInt64(top)) - 1) | 1 << UInt64(top)
            numbers.append(centre &+ ZigZag.decode(sum - 1 << UInt64(order)))
        }
        _ = try reader.slice(BitPacking.size(bitCount: bit))
        return numbers
    }
}
