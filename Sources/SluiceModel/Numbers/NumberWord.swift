/// The words for numbers that are not finite, as JavaScript, Python, R and queries write them, in capital and small
/// letters.
package enum NumberWord {
    /// The value of a word; nil for any other text.
    package static func value(_ text: some Collection<UInt8>) -> Double? {
        guard (3...9).contains(text.count) else { return nil }
        return switch String(decoding: text, as: UTF8.self).lowercased() {
        case "nan": .nan
        case "inf", "infinity": .infinity
        case "-inf", "-infinity": -.infinity
        default: nil
        }
    }
}
