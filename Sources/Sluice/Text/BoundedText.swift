/// The lengths of what `print` shows, so that no output grows with the data.
enum BoundedText {
    /// The most characters of one object, one query or one reason.
    static let characterCountMax = 300

    /// A text, cut where it is too long, with the number of characters that are left out.
    static func cut(_ text: String, to countMax: Int = characterCountMax) -> String {
        let count = text.count
        return count <= countMax ? text : "\(text.prefix(countMax)) … (\(count - countMax) more characters)"
    }

    /// A number of things: `1 session`, `2 sessions`.
    static func count(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Names, of which the first are shown.
    static func list(_ names: some Collection<String>, countMax: Int = 10) -> String {
        let rest = names.count - countMax
        return names.prefix(countMax).joined(separator: ", ") + (rest > 0 ? ", … \(rest) more" : "")
    }
}
