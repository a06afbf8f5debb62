/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014): the same numbers for the
/// same seed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// True with a probability of `percent` percent.
    package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// Picks one of the elements.
    ///
    /// - Precondition: `elements` is not empty.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &self)! }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// Letters that compression hardly shortens.
    package mutating func text(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8.random(in: 0x30...0x7A, using: &self) }, as: UTF8.self)
    }
}
