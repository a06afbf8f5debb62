internal import SluiceModel

/// `LIKE`: `?` stands for one Unicode scalar, `*` for any run of them, everything else for itself.
package enum LikePattern {
    /// Whether the whole of `text` fits `pattern`. Costs at most the product of both lengths.
    ///
    /// - Parameter ignoresCase: fold the text first; the pattern must be folded already.
    package static func matches(_ pattern: String, _ text: String, ignoresCase: Bool) -> Bool {
        let pattern = pattern.unicodeScalars
        let folded = ignoresCase ? CaseFolding.fold(text) : text
        let text = folded.unicodeScalars
        var patternIndex = pattern.startIndex
        var textIndex = text.startIndex
        // Where to go on when what follows the last `*` turns out not to fit.
        var retry: (pattern: String.UnicodeScalarIndex, text: String.UnicodeScalarIndex)?
        while textIndex < text.endIndex {
            if patternIndex < pattern.endIndex, pattern[patternIndex] == "*" {
                patternIndex = pattern.index(after: patternIndex)
                retry = (patternIndex, textIndex)
            } else if patternIndex < pattern.endIndex,
                pattern[patternIndex] == "?" || pattern[patternIndex] == text[textIndex]
            {
                patternIndex = pattern.index(after: patternIndex)
                textIndex = text.index(after: textIndex)
            } else if let last = retry {
                patternIndex = last.pattern
                textIndex = text.index(after: last.text)
                retry = (patternIndex, textIndex)
            } else {
                return false
            }
        }
        return pattern[patternIndex...].allSatisfy { $0 == "*" }
    }
}
