/// The case folding of `[c]`: Unicode's simple case folding, statuses C and S of CaseFolding.txt, in no particular
/// language.
///
/// Each scalar folds to one scalar, so folding keeps the number of scalars: ς and Σ fold to σ, and ẞ folds to ß; ß does
/// not fold to ss, and İ and ı fold to themselves. Evaluator and SQL fold in the same way. Folding folded text changes
/// nothing.
package enum CaseFolding {
    /// The folded form of `string`.
    package static func fold(_ string: String) -> String {
        if string.utf8.allSatisfy({ $0 < 0x80 && !(0x41...0x5A).contains($0) }) { return string }
        var folded = String.UnicodeScalarView()
        for scalar in string.unicodeScalars { folded.append(fold(scalar)) }
        return String(folded)
    }

    /// The folded form of one scalar.
    package static func fold(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar.value < 0x80 { return fold(ascii: UInt8(truncatingIfNeeded: scalar.value)) }
        switch scalar.value {
        // CaseFolding.txt differs from the case mappings for these four.
        case 0x131: return scalar
        case 0x1FD3: return "\u{390}"
        case 0x1FE3: return "\u{3B0}"
        case 0xFB05: return "\u{FB06}"
        // Cherokee folds to upper case, because Unicode added its lower case later.
        case 0x13A0...0x13FF, 0xAB70...0xABBF: return only(scalar.properties.uppercaseMapping) ?? scalar
        default:
            // Goes through the upper case, which ς and σ share.
            let upper = only(scalar.properties.uppercaseMapping) ?? scalar
            return only(upper.properties.lowercaseMapping) ?? scalar
        }
    }

    /// The scalar of a text that consists of one scalar; nil for any other text.
    private static func only(_ text: String) -> Unicode.Scalar? {
        let scalars = text.unicodeScalars
        guard let first = scalars.first else { return nil }
        return scalars.index(after: scalars.startIndex) == scalars.endIndex ? first : nil
    }

    static func fold(ascii byte: UInt8) -> Unicode.Scalar {
        Unicode.Scalar(byte &- 0x41 < 26 ? byte | 0x20 : byte)
    }
}

/// Comparisons of folded text that fold both sides while they read, so that no folded string is built.
extension CaseFolding {
    /// Compares the UTF-8 bytes of the folded texts; the result is negative, zero or positive.
    package static func compare(_ left: String, _ right: String) -> Int {
        ScalarReader.read(left, right, folded: true) { left, right in
            var (leftOffset, rightOffset) = (0, 0)
            while leftOffset < left.end, rightOffset < right.end {
                let (own, other) = (left.next(&leftOffset), right.next(&rightOffset))
                if own != other { return own < other ? -1 : 1 }
            }
            return (leftOffset < left.end ? 1 : 0) - (rightOffset < right.end ? 1 : 0)
        }
    }

    package static func begins(_ text: String, with prefix: String) -> Bool {
        var stepsLeft = Int.max
        return ScalarReader.read(text, prefix, folded: true) { begins($0, with: $1, at: 0, &stepsLeft) }
    }

    package static func ends(_ text: String, with suffix: String) -> Bool {
        ScalarReader.read(text, suffix, folded: true) { text, suffix in
            var (offset, suffixOffset) = (text.end, suffix.end)
            while suffixOffset > 0 {
                guard offset > 0, text.previous(&offset) == suffix.previous(&suffixOffset) else { return false }
            }
            return true
        }
    }

    /// Whether the folded text contains the folded part. O(text + part). Allocates only if `part` nearly matches many
    /// times.
    package static func contains(_ text: String, _ part: String) -> Bool {
        ScalarReader.read(text, part, folded: true) { text, part in
            var start = 0
            var stepsLeft = 4 * (text.end + part.end) + 256
            while !begins(text, with: part, at: start, &stepsLeft) {
                guard start < text.end else { return false }
                _ = text.next(&start)
                guard stepsLeft > 0 else {
                    var search = LinearSearch(for: part.scalars(from: 0)[...])
                    return search.find(in: text.scalars(from: start)) != nil
                }
            }
            return true
        }
    }

    private static func begins(
        _ text: ScalarReader, with prefix: ScalarReader, at start: Int, _ stepsLeft: inout Int
    ) -> Bool {
        var (offset, prefixOffset) = (start, 0)
        while prefixOffset < prefix.end {
            stepsLeft -= 1
            guard offset < text.end, text.next(&offset) == prefix.next(&prefixOffset) else { return false }
        }
        return true
    }
}
