/// Finds a sequence in which some elements are wildcards, in time proportional to the length of the text times the
/// logarithm of the length of the sequence.
///
/// With p for the sequence, t for the text, and w being 0 for a wildcard and 1 otherwise, the sequence fits at i where
/// Σ wⱼ(pⱼ − tᵢ₊ⱼ)² is zero. Its three sums are convolutions, which ``NumberTransform`` computes for many i at once
/// (Clifford and Clifford, *Simple deterministic wildcard matching*, 2007).
struct WildcardSearch {
    private let count: Int
    private let transform: NumberTransform
    /// Σ wⱼpⱼ².
    private let squares: UInt64
    /// The transformed sequences wⱼ and −2wⱼpⱼ, both in reverse.
    private let weights: [UInt64]
    private let products: [UInt64]
    /// How many pairs of numbers were combined.
    private(set) var stepCount = 0

    init(for sequence: ArraySlice<UInt32>, wildcard: UInt32) {
        count = sequence.count
        var size = 2
        while size < 2 * sequence.count { size *= 2 }
        transform = NumberTransform(size: size)
        var weights = [UInt64](repeating: 0, count: size)
        var products = weights
        var squares: UInt64 = 0
        for (index, element) in sequence.enumerated() where element != wildcard {
            let place = sequence.count - 1 - index
            weights[place] = 1
            products[place] = NumberTransform.subtract(0, 2 * UInt64(element))
            squares = NumberTransform.add(squares, UInt64(element) * UInt64(element))
        }
        self.squares = squares
        transform.forward(&weights)
        transform.forward(&products)
        self.weights = weights
        self.products = products
        stepCount = 2 * transform.stepCount
    }

    /// The first place where the sequence fits; nil if there is none. The sum is exact for sequences of up to four
    /// million elements; for a longer one the caller must check the place.
    mutating func firstIndex(in text: ArraySlice<UInt32>) -> Int? {
        let startCount = transform.size - count + 1
        for start in stride(from: text.startIndex, through: text.endIndex - count, by: startCount) {
            let part = text[start..<min(text.endIndex, start + transform.size)]
            if let offset = sums(part)[(count - 1)..<part.count].firstIndex(of: 0) {
                return start + offset - (count - 1)
            }
        }
        return nil
    }

    /// For each element of the text, the sum for the place at which the sequence would end there. The sums of the first
    /// elements, before which there is no room for a whole sequence, have no meaning.
    private mutating func sums(_ text: ArraySlice<UInt32>) -> [UInt64] {
        let padding = [UInt64](repeating: 0, count: transform.size - text.count)
        var values = text.map { UInt64($0) } + padding
        var squared = text.map { UInt64($0) * UInt64($0) } + padding
        transform.forward(&values)
        transform.forward(&squared)
        for index in values.indices {
            values[index] = NumberTransform.add(
                NumberTransform.multiply(squared[index], weights[index]),
                NumberTransform.multiply(values[index], products[index]))
        }
        transform.inverse(&values)
        stepCount += 3 * transform.stepCount
        return values.map { NumberTransform.add($0, squares) }
    }
}
