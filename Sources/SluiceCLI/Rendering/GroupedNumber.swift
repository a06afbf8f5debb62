/// Formats integers for people.
enum GroupedNumber {
    /// Digits in groups of three: `336,776`.
    static func text(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// A number with what it counts: `1 row`, `2,000 rows`.
    ///
    /// - Parameters:
    ///   - one: what there is one of.
    ///   - many: what there are several of; nil for `one` with an s.
    static func text(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(text(number)) \(noun(number, one, many))"
    }

    /// What a number counts: `row` of 1, and `rows` of every other.
    static func noun(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        number == 1 ? one : many ?? one + "s"
    }
}
