internal import SluiceModel
internal import SluiceQuery

/// The range of all texts or data that begin with a prefix: from the prefix up to, not including, its end.
enum PrefixRange {
    /// The least text or data above all that begin with `prefix`; nil if there is none.
    static func end(of prefix: Value) -> Value? {
        switch prefix {
        case .string(let text):
            var scalars = text.unicodeScalars
            while let last = scalars.popLast() {
                guard last.value < 0x10FFFF else { continue }
                // UTF-8 sorts by code point; a text has no surrogates.
                scalars.append(Unicode.Scalar(last.value == 0xD7FF ? 0xE000 : last.value + 1) ?? "\u{E000}")
                return .string(String(scalars))
            }
            return nil
        case .data(var bytes):
            while let last = bytes.popLast() {
                guard last < 0xFF else { continue }
                bytes.append(last + 1)
                return .data(bytes)
            }
            return nil
        default: return nil
        }
    }
}
