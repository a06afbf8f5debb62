internal import SluiceModel

/// The fields of a URL's query, `q=Car%20LIMIT%285%29&args=%5B%5D`.
struct WebForm: Hashable, Sendable {
    private var fields: [String: String] = [:]

    /// Fields that are not UTF-8 are left out; of several with one name the first counts.
    init(_ text: String) {
        for field in text.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(parts[0]), fields[name] == nil else { continue }
            fields[name] = parts.count == 2 ? Self.decode(parts[1]) : ""
        }
    }

    subscript(name: String) -> String? { fields[name] }

    /// Replaces `+` and percent escapes; nil if one is malformed, or the text is not UTF-8 then.
    private static func decode(_ text: Substring.UTF8View.SubSequence) -> String? {
        var bytes: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index = text.index(after: index)
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                continue
            }
            guard index < text.endIndex, let high = Hexadecimal.value(of: text[index]) else { return nil }
            index = text.index(after: index)
            guard index < text.endIndex, let low = Hexadecimal.value(of: text[index]) else { return nil }
            index = text.index(after: index)
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
