internal import SluiceExchange

/// A file of settings, with one on each line: `NAME = VALUE`. Names are those of the long options. Lines that are empty or
/// begin with `#` say nothing, and neither does what follows a `#` after white space. A value in double quotes may have
/// white space at its ends, and `#` anywhere.
struct ConfigurationFile: Sendable {
    /// One line that sets something.
    struct Line: Hashable, Sendable {
        let number: Int
        let name: String
        let value: String
    }

    /// The longest file, in bytes.
    static let byteCountMax = 1 << 20

    let path: String
    let lines: [Line]

    /// Reads a file.
    ///
    /// - Throws: ``CommandError`` when it cannot be read, is longer than a mebibyte, is not UTF-8, or has a line that is
    ///   no setting.
    init(at path: String) throws(CommandError) {
        let text = try SmallFile.text(path, of: "--config", byteCountMax: Self.byteCountMax)
        try self.init(text, at: path)
    }

    /// Parses the text of a file.
    init(_ text: String, at path: String) throws(CommandError) {
        var lines: [Line] = []
        var number = 0
        // A mark of the byte order is none of the first name.
        let text = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            if let control = line.unicodeScalars.first(where: { $0 != "\t" && $0.steersDisplay }) {
                throw .usage(
                    "\(path):\(number): a line has no control characters, and this one has U+"
                        + String(control.value, radix: 16, uppercase: true))
            }
            let content = Self.trimmed(line[...])
            if content.isEmpty || content.hasPrefix("#") { continue }
            guard let sign = content.firstIndex(of: "="), sign > content.startIndex else {
                throw .usage(
                    "\(path):\(number): a line is NAME = VALUE, such as listen = 127.0.0.1:9080, and "
                        + "'\(DisplayText.shortened(String(content)))' is none")
            }
            let name = Self.trimmed(content[..<sign])
            let value = try Self.value(content[content.index(after: sign)...], at: "\(path):\(number)")
            lines.append(Line(number: number, name: String(name), value: value))
        }
        self.path = path
        self.lines = lines
    }

    private static func value(_ text: Substring, at place: String) throws(CommandError) -> String {
        let text = trimmed(text)
        guard text.hasPrefix("\"") else { return String(trimmed(text[..<comment(in: text)])) }
        let inside = text.dropFirst()
        guard let end = inside.firstIndex(of: "\"") else {
            throw .usage("\(place): a value that begins with \" ends with \"")
        }
        let rest = trimmed(inside[inside.index(after: end)...])
        guard rest.isEmpty || rest.hasPrefix("#") else {
            throw .usage(
                "\(place): nothing but a comment may follow the quoted value, and "
                    + "'\(DisplayText.shortened(String(rest)))' does")
        }
        return String(inside[..<end])
    }

    /// Where a comment begins; the end if there is none.
    private static func comment(in text: Substring) -> Substring.Index {
        var isAfterSpace = true
        for index in text.indices {
            if text[index] == "#", isAfterSpace { return index }
            isAfterSpace = text[index].isWhitespace
        }
        return text.endIndex
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let text = text.drop(while: \.isWhitespace)
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return text[...last]
    }

    /// The value as a line of a file has it.
    static func quoted(_ value: String) -> String {
        let isPlain =
            trimmed(value[...]) == value[...] && !value.hasPrefix("\"") && comment(in: value[...]) == value.endIndex
        return isPlain && !value.isEmpty ? value : "\"\(value)\""
    }
}
