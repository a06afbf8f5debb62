internal import SluiceModel

/// Decides `LIKE`: `?` stands for one Unicode scalar, `*` for any run of them, everything else for itself.
///
/// Most patterns are decided by walking through pattern and text, and back to the last `*` where they differ, which
/// allocates nothing. At worst a walk takes time in proportion to the product of both lengths, so it stops after a
/// number of steps in proportion to their sum, and ``LikeSearch`` decides the rest.
package enum LikePattern {
    /// Whether the whole of `text` fits `pattern`.
    ///
    /// Takes time in proportion to both lengths; where a part of the pattern that contains `?` is longer than 64
    /// scalars, times the logarithm of its length. Takes memory in proportion to both lengths at worst.
    ///
    /// - Parameter ignoresCase: compare as if text and pattern were folded.
    package static func matches(_ pattern: String, _ text: String, ignoresCase: Bool) -> Bool {
        var stepCount = 0
        return matches(pattern, text, ignoresCase: ignoresCase, counting: &stepCount)
    }

    /// Does the same, and counts the steps: about one for each scalar read.
    package static func matches(
        _ pattern: String, _ text: String, ignoresCase: Bool, counting stepCount: inout Int
    ) -> Bool {
        ScalarReader.read(pattern, text, folded: ignoresCase) { pattern, text in
            switch walk(pattern, text, &stepCount) {
            case .decided(let matches): return matches
            case .undecided(let patternOffset, let textOffset):
                var search = LikeSearch(pattern.scalars(from: patternOffset), text.scalars(from: textOffset))
                defer { stepCount += search.stepCount }
                return search.matches()
            }
        }
    }

    private enum Outcome {
        case decided(Bool)
        /// Everything up to the last `*` fits. The pattern goes on at the first offset, and the text that has to fit it
        /// begins at the second offset or after it.
        case undecided(pattern: Int, text: Int)
    }

    private static func walk(_ pattern: ScalarReader, _ text: ScalarReader, _ stepCount: inout Int) -> Outcome {
        let stepCountMax = stepCount + 4 * (pattern.end + text.end) + 256
        var patternOffset = 0
        var textOffset = 0
        // Where to continue when what follows the last `*` does not fit.
        var retry: (pattern: Int, text: Int)?
        while textOffset < text.end {
            stepCount += 1
            if patternOffset < pattern.end {
                let expected = pattern.next(&patternOffset)
                if expected == "*" {
                    retry = (patternOffset, textOffset)
                    continue
                }
                let found = text.next(&textOffset)
                if expected == "?" || expected == found { continue }
            }
            guard let last = retry else { return .decided(false) }
            patternOffset = last.pattern
            textOffset = last.text
            _ = text.next(&textOffset)
            retry = (patternOffset, textOffset)
            if stepCount > stepCountMax { return .undecided(pattern: patternOffset, text: textOffset) }
        }
        while patternOffset < pattern.end {
            guard pattern.next(&patternOffset) == "*" else { return .decided(false) }
        }
        return .decided(true)
    }
}
