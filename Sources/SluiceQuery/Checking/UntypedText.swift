internal import FoundationEssentials
internal import SluiceModel

/// The text of an argument before it takes a type.
struct UntypedText {
    private let text: String

    init(_ text: String) { self.text = text }

    /// The digits of a number; nil for other text.
    var number: String? {
        if let word = NumberWord.value(text.utf8) { return word.description }
        return ExactNumber(text) == nil ? nil : text.lowercased()
    }

    /// The text as a constant of a type; nil if it does not have the form of one.
    func literal(of type: ScalarType) -> LiteralSyntax.Kind? {
        switch type {
        case .string: return .value(.string(text))
        case .int, .float, .double, .decimal: return number.map { .number($0) }
        case .bool:
            switch text.lowercased() {
            case "true": return .value(.bool(true))
            case "false": return .value(.bool(false))
            default: return nil
            }
        case .date: return date
        case .data: return Data(base64Encoded: text).map { .value(.data(Array($0))) }
        case .uuid: return UUID(uuidString: text).map { .value(.uuid($0)) }
        case .objectID: return ObjectID(text).map { .value(.objectID($0)) }
        }
    }

    private var date: LiteralSyntax.Kind? {
        // In ISO 8601 also those that a query has to write as T<seconds>:<nanoseconds>.
        guard let tokens = try? Lexer.tokens(of: text), tokens.count == 2 else {
            return text.utf8.contains(UInt8(ascii: "T")) ? Timestamp(iso8601: text).map { .value(.date($0)) } : nil
        }
        switch tokens[0].kind {
        case .value(.date(let date)): return .value(.date(date))
        case .instant(let date, let nanoseconds): return .instant(date, nanoseconds: nanoseconds)
        default: return nil
        }
    }
}

extension Checker {
    /// Converts the text of an argument to the type of the side that it is compared with.
    func typed(_ text: String, _ literal: LiteralSyntax, for side: OperandSide) throws(QueryError) -> LiteralSyntax {
        let type: ScalarType
        let isOptionalKey: Bool
        switch side.type {
        case .scalar(let scalar): (type, isOptionalKey) = (scalar, false)
        case .link(let target): (type, isOptionalKey) = (schema[target].keyType, true)
        }
        guard let kind = UntypedText(text).literal(of: type) else {
            let what =
                isOptionalKey
                ? "the key of what \(side.name) links to, \(type.rawValue)" : "\(type.rawValue) (\(side.name))"
            let forms = Self.form(of: type).map { ", as in \($0)" } ?? ""
            throw QueryError(.typeMismatch, "the argument is not \(what)\(forms)", at: literal.position)
        }
        return LiteralSyntax(kind, position: literal.position)
    }

    /// An example of an argument of a type, for messages; nil for strings.
    private static func form(of type: ScalarType) -> String? {
        switch type {
        case .int: "12"
        case .float, .double, .decimal: "12.5"
        case .bool: "true"
        case .date: "2013-01-31T10:00:00Z"
        case .data: "AQI=, which is base64"
        case .uuid: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
        case .objectID: "0123456789abcdef0123456789abcdef"
        case .string: nil
        }
    }
}
