internal import SluiceModel

/// `LIKE`: `?` stands for one Unicode scalar, `*` for any run of them, everything else for itself.
package enum LikePattern {
    /// Whether the whole of `text` fits `pattern`. Costs at most the product of both lengths, and allocates nothing.
    ///
    /// - Parameter ignoresCase: compare as if text and pattern were folded.
    package static func matches(_ pattern: String, _ text: String, ignoresCase: Bool) -> Bool {
        ScalarReader.read(pattern, text, folded: ignoresCase) { matches($0, $1) }
    }

    private static func matches(_ pattern: ScalarReader, _ text: ScalarReader) -> Bool {
        var patternOffset = 0
        var textOffset = 0
        // Where to go on when what follows the last `*` turns out not to fit.
        var retry: (pattern: Int, text: Int)?
        while textOffset < text.end {
            if patternOffset < pattern.end {
                let expected = pattern.next(&patternOffset)
                if expected == "*" {
                    retry = (patternOffset, textOffset)
                    continue
                }
                let found = text.next(&textOffset)
                if expected == "?" || expected == found { continue }
            }
            guard let last = retry else { return false }
            patternOffset = last.pattern
            textOffset = last.text
            _ = text.next(&textOffset)
            retry = (patternOffset, textOffset)
        }
        while patternOffset < pattern.end {
            guard pattern.next(&patternOffset) == "*" else { return false }
        }
        return true
    }
}
