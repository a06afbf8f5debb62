package import SluiceModel

extension SeededGenerator {
    /// True with a probability of `percent` percent.
    package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// A number from 0 to below `bound`.
    package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Picks one of the elements, each with the same probability.
    ///
    /// - Precondition: `elements` is not empty.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// Picks one of the elements, with a probability in proportion to its weight.
    ///
    /// - Precondition: the weights are not negative, and one is above 0.
    package mutating func pick<Element>(weighted elements: [(Element, Int)]) -> Element {
        var rest = below(elements.reduce(0) { $0 + $1.1 })
        for (element, weight) in elements {
            if rest < weight { return element }
            rest -= weight
        }
        return elements[elements.count - 1].0
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// Letters that compression hardly shortens.
    package mutating func text(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8.random(in: 0x30...0x7A, using: &self) }, as: UTF8.self)
    }
}
