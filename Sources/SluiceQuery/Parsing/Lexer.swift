internal import SluiceModel

/// Splits a query's text into tokens.
struct Lexer {
    let bytes: [UInt8]
    var position = 0
    private var tokens: [Token] = []

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// All tokens of a text, the end last.
    static func tokens(of text: String, isLimited: Bool = true) throws(QueryError) -> [Token] {
        let length = text.utf8.count
        guard length <= QueryLimits.textLengthMax || !isLimited else {
            throw QueryError(
                .limitExceeded, "the query is \(length) bytes long; the limit is \(QueryLimits.textLengthMax)",
                at: QueryLimits.textLengthMax)
        }
        var lexer = Lexer(Array(text.utf8))
        repeat {
            lexer.skipBlanks()
            let start = lexer.position
            let kind = try lexer.next()
            lexer.tokens.append(Token(kind: kind, range: start..<lexer.position))
        } while lexer.tokens.last?.isEnd != true
        return lexer.tokens
    }

    func byte(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private mutating func skipBlanks() {
        while let byte = byte(), byte == 0x20 || (0x09...0x0D).contains(byte) { position += 1 }
    }

    private mutating func next() throws(QueryError) -> Token.Kind {
        guard let first = byte() else { return .end }
        switch first {
        case UInt8(ascii: "T"):
            if let literal = try secondsLiteral() { return literal }
        case UInt8(ascii: "B"):
            if bytes[position...].starts(with: "B64".utf8), let quote = byte(3), Self.isQuote(quote) {
                return .value(.data(try base64Literal()))
            }
        case UInt8(ascii: "."):
            if let digit = byte(1), Self.isDigit(digit), !followsOperand { return try number() }
        case UInt8(ascii: "$"):
            if let variable = variable() { return variable }
            return try argument()
        case UInt8(ascii: "%"):
            return try argument()
        default: break
        }
        if Self.isDigit(first) {
            if let date = try dateLiteral() { return date }
            return try number()
        }
        if Self.isQuote(first) { return .string(try string()) }
        if Self.isIdentifierStart(first) { return try identifier() }
        return .symbol(try symbol())
    }

    /// Whether a dot here continues a path.
    private var followsOperand: Bool {
        guard let last = tokens.last, last.range.upperBound == position else { return false }
        switch last.kind {
        case .identifier, .variable: return true
        default: return last.isSymbol("]") || last.isSymbol(")")
        }
    }

    private static let typographicQuotes: Set<Unicode.Scalar> = [
        "\u{AB}", "\u{BB}", "\u{2018}", "\u{2019}", "\u{201A}", "\u{201B}", "\u{201C}", "\u{201D}", "\u{201E}",
        "\u{201F}",
        "\u{2039}", "\u{203A}", "\u{FF02}", "\u{FF07}",
    ]

    private mutating func identifier() throws(QueryError) -> Token.Kind {
        let start = position
        var name: [UInt8] = []
        var isEscaped = false
        while let byte = byte(), Self.isIdentifierStart(byte) || Self.isDigit(byte) {
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                position += 1
                guard let escaped = self.byte() else {
                    throw QueryError(.syntax, "found the end of the query after '\\' in a name", at: position - 1)
                }
                name.append(escaped)
            } else {
                name.append(byte)
            }
            position += 1
        }
        let identifier = String(decoding: name, as: UTF8.self)
        if let blank = identifier.unicodeScalars.first(where: { $0.properties.isWhitespace || $0 == "\u{FEFF}" }),
            !isEscaped
        {
            let number = String(blank.value, radix: 16, uppercase: true)
            throw QueryError(
                .syntax, "found the character U+\(number) in a name; only space, tab and line breaks separate",
                at: start)
        }
        if let quote = identifier.unicodeScalars.first, Self.typographicQuotes.contains(quote), !isEscaped {
            throw QueryError(
                .syntax,
                "found the typographic quote \(quote); strings stand in straight quotes, as in 'text' or \"text\"",
                at: start)
        }
        if !isEscaped, let call = try call(identifier.uppercased()) { return call }
        return .identifier(identifier, isEscaped: isEscaped)
    }

    /// Reads the parenthesis after `uuid`, `oid` or `OBJECT`, whose content is not tokens; nil if this is something
    /// else.
    private mutating func call(_ name: String) throws(QueryError) -> Token.Kind? {
        guard name == "UUID" || name == "OID" || name == "OBJECT", byte() == UInt8(ascii: "(") else { return nil }
        let start = position
        guard let end = bytes[start...].prefix(64).firstIndex(of: UInt8(ascii: ")")) else {
            throw QueryError(.syntax, "found '(' without ')' after the digits of an id", at: start)
        }
        position = end + 1
        let content = bytes[start + 1..<end].filter { $0 != 0x20 && !Self.isQuote($0) }
        return .call(name, String(decoding: content, as: UTF8.self))
    }

    /// Reads `$name`; nil for an argument.
    private mutating func variable() -> Token.Kind? {
        guard let first = byte(1), Self.isIdentifierStart(first), first != UInt8(ascii: "\\") else { return nil }
        if first == UInt8(ascii: "K"), let digit = byte(2), Self.isDigit(digit) { return nil }
        let start = position
        position += 1
        while let byte = byte(), Self.isIdentifierStart(byte) || Self.isDigit(byte) { position += 1 }
        return .variable(text(start + 1..<position))
    }

    private mutating func argument() throws(QueryError) -> Token.Kind {
        let start = position
        if byte() == UInt8(ascii: "%") {
            position += 2
            switch byte(-1) {
            case UInt8(ascii: "@"): return .nextArgument
            case UInt8(ascii: "K"): return .nextPathArgument
            default:
                let begins = byte(-1).map { Self.isIdentifierStart($0) } ?? false
                throw QueryError(
                    .syntax,
                    begins
                        ? "found '%'; an argument is '%@', '%K' or '$0'"
                        : "found '%'; the operators are + - * /, and a - a / b * b is the remainder of integers",
                    at: start)
            }
        }
        position += 1
        let isPath = byte() == UInt8(ascii: "K")
        if isPath { position += 1 }
        let digits = position
        while let byte = byte(), Self.isDigit(byte) { position += 1 }
        guard let number = Int(text(digits..<position)) else {
            throw QueryError(.syntax, "found '$' without the number of an argument, such as '$0'", at: start)
        }
        return isPath ? .pathArgument(number) : .argument(number)
    }

    private mutating func symbol() throws(QueryError) -> String {
        for (spelling, symbol) in Self.symbols where bytes[position...].starts(with: spelling.utf8) {
            position += spelling.utf8.count
            return symbol
        }
        let rest = String(decoding: bytes[position...].prefix(4), as: UTF8.self)
        throw QueryError(.syntax, "found the character '\(rest.prefix(1))', which begins nothing here", at: position)
    }

    /// The spellings of each symbol; a longer one comes before those that it begins with.
    private static let symbols: [(spelling: String, symbol: String)] = [
        ("==", "=="), ("=<", "<="), ("=>", ">="), ("=", "=="), ("!=", "!="), ("<>", "!="), ("!", "!"), ("<=", "<="),
        ("<", "<"), (">=", ">="), (">", ">"), ("&&", "&&"), ("||", "||"), ("(", "("), (")", ")"), ("{", "{"),
        ("}", "}"), ("[", "["), ("]", "]"), (",", ","), (".", "."), ("+", "+"), ("-", "-"), ("*", "*"), ("/", "/"),
        ("@", "@"),
    ]

    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") }

    static func isIdentifierStart(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "\\"), 0x80...: true
        default: false
        }
    }
}

extension Token {
    var isEnd: Bool {
        if case .end = kind { true } else { false }
    }
}
