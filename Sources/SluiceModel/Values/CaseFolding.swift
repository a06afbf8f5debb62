/// The one folding behind `[c]`: every Unicode scalar through its simple lower-case mapping.
///
/// Evaluator and SQL call this same function, so case-insensitive comparisons agree everywhere. A scalar whose lower-case
/// form is longer than one scalar (such as U+0130) keeps its first scalar only, so folding never changes lengths in scalars.
package enum CaseFolding {
    /// The folded form of `string`.
    package static func fold(_ string: String) -> String {
        if string.utf8.allSatisfy({ $0 < 0x80 && !(0x41...0x5A).contains($0) }) { return string }
        var folded = String.UnicodeScalarView()
        for scalar in string.unicodeScalars {
            folded.append(scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar)
        }
        return String(folded)
    }
}
