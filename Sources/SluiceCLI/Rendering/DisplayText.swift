/// Text for terminals: how wide it is, cut to a width, and harmless.
enum DisplayText {
    /// The columns that a text takes: two for East Asian wide characters and emoji.
    static func width(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + width($1) } }

    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.value {
        case 0..<0x1100: return 1
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// The text, with `…` for what does not fit.
    static func cut(_ text: String, to limit: Int) -> String {
        guard width(text) > limit else { return text }
        var result = ""
        var used = 1
        for character in text {
            used += width(character)
            if used > limit { break }
            result.append(character)
        }
        return result + "…"
    }

    /// A text to be quoted in a message: of a long one only the beginning.
    static func shortened(_ text: some StringProtocol) -> String {
        let limit = 100
        let beginning = text.prefix(limit)
        return beginning.endIndex == text.endIndex ? String(text) : String(beginning) + "…"
    }

    /// The text with control characters escaped, so that data cannot steer the terminal, nor turn the direction of what
    /// stands beside it.
    static func harmless(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isControl($0) }) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isControl(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// Whether a character controls a terminal or the direction of text instead of standing for something.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F: true
        // Marks, embeddings, overrides and isolates of direction (Unicode UAX #9), line and paragraph separators.
        case 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
