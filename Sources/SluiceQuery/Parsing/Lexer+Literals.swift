internal import FoundationEssentials
internal import SluiceModel

extension Lexer {
    /// Reads a number: `12`, `0xFF`, `10.`, `.034`, `1e3`, `2.5f`. The token has a point or an exponent unless the
    /// number is written as an integer.
    mutating func number() throws(QueryError) -> Token.Kind {
        let start = position
        var digits = ""
        if byte() == 0x30, byte(1) == UInt8(ascii: "x") || byte(1) == UInt8(ascii: "X") {
            position += 2
            let hexadecimal = position
            while let byte = byte(), Hexadecimal.value(of: byte) != nil { position += 1 }
            guard let number = UInt64(text(hexadecimal..<position), radix: 16) else {
                throw QueryError(
                    .syntax, "found '\(text(start..<position))'; '0x' takes 1 to 16 hexadecimal digits", at: start)
            }
            digits = String(number)
        } else {
            digits = skipDigits()
            if digits.isEmpty { digits = "0" }
            if byte() == UInt8(ascii: ".") {
                position += 1
                let fraction = skipDigits()
                digits += "." + (fraction.isEmpty ? "0" : fraction)
            }
            let isWhole = !digits.utf8.contains(UInt8(ascii: "."))
            if isWhole, let span = try span(of: digits, from: start) { return span }
            let exponent = exponent()
            if byte() == UInt8(ascii: "f") || byte() == UInt8(ascii: "F") {
                position += 1
                if isWhole { digits += ".0" }
            }
            digits += exponent
        }
        if let next = byte(), Self.isIdentifierStart(next) || Self.isDigit(next) {
            throw QueryError(
                .syntax, "found '\(text(start..<position))' followed by a letter; a number or a date was expected",
                at: start)
        }
        return .number(digits)
    }

    /// Reads the unit of a span of time behind its number; nil if there is none.
    private mutating func span(of digits: String, from start: Int) throws(QueryError) -> Token.Kind? {
        var end = position
        while end < bytes.count, Self.isIdentifierStart(bytes[end]) || Self.isDigit(bytes[end]) { end += 1 }
        guard let unit = TimeSpan.units.first(where: { bytes[position..<end].elementsEqual($0.name.utf8) }) else {
            return nil
        }
        position = end
        guard let count = Int64(digits), case let (span, isOver) = count.multipliedReportingOverflow(by: unit.length),
            !isOver, span <= TimeSpan.max
        else {
            throw QueryError(
                .limitExceeded, "found '\(text(start..<end).shortened)'; a span of time is at most 36500d", at: start)
        }
        return .span(span)
    }

    private mutating func skipDigits() -> String {
        let start = position
        while let byte = byte(), Self.isDigit(byte) { position += 1 }
        return text(start..<position)
    }

    private mutating func exponent() -> String {
        guard byte() == UInt8(ascii: "e") || byte() == UInt8(ascii: "E") else { return "" }
        let hasSign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-")
        guard let digit = byte(hasSign ? 2 : 1), Self.isDigit(digit) else { return "" }
        let sign = hasSign && byte(1) == UInt8(ascii: "-") ? "-" : ""
        position += hasSign ? 2 : 1
        return "e" + sign + skipDigits()
    }

    /// Reads text in either kind of quotes.
    mutating func string() throws(QueryError) -> String {
        let start = position
        let quote = bytes[position]
        var content: [UInt8] = []
        position += 1
        while let byte = byte(), byte != quote {
            position += 1
            if byte == UInt8(ascii: "\\") { content += try escape() } else { content.append(byte) }
        }
        guard byte() == quote else {
            throw QueryError(.syntax, "found the end of the query inside the string that begins here", at: start)
        }
        position += 1
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func escape() throws(QueryError) -> [UInt8] {
        let start = position - 1
        position += 1
        switch byte(-1) {
        case UInt8(ascii: "\""): return [UInt8(ascii: "\"")]
        case UInt8(ascii: "'"): return [UInt8(ascii: "'")]
        case UInt8(ascii: "\\"): return [UInt8(ascii: "\\")]
        case UInt8(ascii: "/"): return [UInt8(ascii: "/")]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "0"): return [0x00]
        case UInt8(ascii: "u"):
            if let scalar = unicodeEscape() { return Array(String(scalar).utf8) }
            throw QueryError(
                .syntax, "found '\\u' without four hexadecimal digits of a character, or half of a surrogate pair",
                at: start)
        default:
            throw QueryError(
                .syntax, "found an unknown escape; a string takes \\\" \\' \\\\ \\/ \\b \\f \\n \\r \\t \\0 \\uXXXX",
                at: start)
        }
    }

    private mutating func unicodeEscape() -> Unicode.Scalar? {
        guard let unit = fourDigits() else { return nil }
        guard (0xD800...0xDBFF).contains(unit) else { return Unicode.Scalar(unit) }
        guard byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") else { return nil }
        position += 2
        guard let low = fourDigits(), (0xDC00...0xDFFF).contains(low) else { return nil }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    private mutating func fourDigits() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Hexadecimal.value(of: byte) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        position += 4
        return unit
    }

    /// Reads `B64"…"`.
    mutating func base64Literal() throws(QueryError) -> [UInt8] {
        let start = position
        position += 3
        let content = try string()
        guard let data = Data(base64Encoded: content) else {
            throw QueryError(.syntax, "found B64 with text that is not base64", at: start)
        }
        return Array(data)
    }
}
