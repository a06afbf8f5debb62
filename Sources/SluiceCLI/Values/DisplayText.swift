internal import SluiceExchange

/// Prepares text for a terminal: measures it, cuts it to a width, and escapes control characters.
enum DisplayText {
    /// The number of columns that a text takes; East Asian wide characters and emoji take two.
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

    /// The text cut to a width, with `…` in place of the rest.
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

    /// The text as messages quote it; a long text is cut after its beginning.
    static func shortened(_ text: some StringProtocol) -> String {
        let limit = 100
        let beginning = text.prefix(limit)
        return beginning.endIndex == text.endIndex ? String(text) : String(beginning) + "…"
    }

    /// The text with control characters escaped, so that data cannot steer the terminal or change the direction of
    /// neighbouring text.
    static func harmless(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.steersDisplay }) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.steersDisplay {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// The text with its line breaks, and everything else as ``harmless(_:)`` makes it. All lines but the first are
    /// indented; empty ones at the end are left out.
    static func harmlessLines(_ text: String) -> String {
        var lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        while lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { harmless(String($0)) }.joined(separator: "\n  ")
    }
}
