/// Guesses what a mistyped word was meant to be.
package enum Suggestion {
    /// The candidate nearest to `word`; nil when none is near enough to be a likely typing error. Letters of the other
    /// case count as the same, and decide between candidates that are as near as each other.
    package static func closest(to word: String, among candidates: [String]) -> String? {
        let folded = Array(word.lowercased().utf8)
        let distances = candidates.map { candidate in
            (
                candidate: candidate, distance: distance(folded, Array(candidate.lowercased().utf8)),
                exact: distance(Array(word.utf8), Array(candidate.utf8))
            )
        }
        guard let best = distances.min(by: { ($0.distance, $0.exact) < ($1.distance, $1.exact) }) else { return nil }
        return best.distance <= max(1, best.candidate.utf8.count / 3) ? best.candidate : nil
    }

    /// The number of insertions, deletions, substitutions and transpositions of neighbours that turn one word into the
    /// other (optimal string alignment).
    package static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let substitution = last[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(substitution, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
