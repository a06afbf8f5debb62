/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014): the same seed gives the
/// same numbers on every run.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter seed: equal seeds give equal numbers.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

extension SeededGenerator {
    /// True with a probability of `percent` percent.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// A number from 0 to below `bound`.
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Picks one of the elements, each with the same probability.
    ///
    /// - Precondition: `elements` is not empty.
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// Picks one of the elements, with a probability in proportion to its weight.
    mutating func pick<Element>(weighted elements: [(Element, Int)]) -> Element {
        var rest = below(elements.reduce(0) { $0 + $1.1 })
        for (element, weight) in elements {
            if rest < weight { return element }
            rest -= weight
        }
        return elements[elements.count - 1].0
    }
}
