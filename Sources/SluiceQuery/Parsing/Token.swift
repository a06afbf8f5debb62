internal import SluiceModel

/// One lexical unit of a query's text.
struct Token {
    enum Kind {
        /// A name or a keyword; an escaped one is never a keyword.
        case identifier(String, isEscaped: Bool)
        /// A number without sign, in a form that `Double`, `Float` and `Decimal` read.
        case number(String)
        case string(String)
        /// A date or data.
        case value(Value)
        /// A date between two microseconds: 1 to 999 nanoseconds after the first.
        case instant(Timestamp, nanoseconds: Int)
        /// A span of time such as `90m`, in microseconds.
        case span(Int64)
        /// `uuid(…)`, `oid(…)` or `OBJECT(…)`: the name in upper case and what is in the parentheses.
        case call(String, String)
        /// `$name`, without the `$`.
        case variable(String)
        /// `$n`.
        case argument(Int)
        /// `$Kn`.
        case pathArgument(Int)
        /// `%@`.
        case nextArgument
        /// `%K`.
        case nextPathArgument
        /// Punctuation, or an operator in its canonical spelling.
        case symbol(String)
        case end
    }

    let kind: Kind
    /// The bytes of the text that the token was read from.
    let range: Range<Int>

    var position: Int { range.lowerBound }

    func isSymbol(_ symbol: StaticString) -> Bool {
        guard case .symbol(let own) = kind else { return false }
        return own == symbol.description
    }

    /// The keyword in upper case that this may be; nil for escaped names and everything else.
    var keyword: String? {
        guard case .identifier(let name, isEscaped: false) = kind else { return nil }
        return name.uppercased()
    }

    /// Whether this is a keyword that must be written in one case throughout.
    func isUniformKeyword(_ keyword: String) -> Bool {
        guard case .identifier(let name, isEscaped: false) = kind else { return false }
        return name == keyword || name == keyword.lowercased()
    }
}
