internal import FoundationEssentials
internal import SluiceModel

extension Parser {
    /// Parses one operand of a comparison or of arithmetic: a path, a literal, a list, an argument or a subquery.
    mutating func operand() throws(QueryError) -> ExpressionSyntax {
        let position = token.position
        switch token.kind {
        case .symbol("{"): return try list(quantifier: nil, position: position)
        case .identifier(_, isEscaped: false):
            if let quantifier, canFollowQuantifier(peek()), !isOperator(peek(), before: peek(2)) {
                advance()
                switch token.kind {
                case .symbol("{"): return try list(quantifier: quantifier, position: position)
                case .argument, .nextArgument: return try argument(quantifier: quantifier, position: position)
                case .variable where isAtRuleVariable:
                    return .list([try ruleVariable()], quantifier: quantifier, position: position)
                default: return .path(try path(quantifier: quantifier, position: position))
                }
            }
            if token.keyword == "SUBQUERY", peek().isSymbol("(") { return try subquery() }
            if isLiteral { return .literal(try literal()) }
            return .path(try path(quantifier: nil, position: position))
        case .variable where isAtRuleVariable: return .literal(try ruleVariable())
        case .variable where isAtNow: return .literal(try now())
        case .identifier, .variable, .pathArgument, .nextPathArgument, .symbol("@"):
            return .path(try path(quantifier: nil, position: position))
        case .argument, .nextArgument: return try argument(quantifier: nil, position: position)
        default:
            if case .span = token.kind { throw misplacedSpan }
            guard isLiteral else { throw unexpected("a property or a value") }
            return .literal(try literal())
        }
    }

    /// Parses `SUBQUERY(collection, $x, condition).@count`.
    private mutating func subquery() throws(QueryError) -> ExpressionSyntax {
        let position = token.position
        try enter()
        advance()
        advance()
        let collection = try path(quantifier: nil, position: token.position)
        try expect(",", "after the collection in SUBQUERY(collection, $x, condition)")
        guard case .variable(let variable) = token.kind else {
            throw unexpected("a variable such as $x in SUBQUERY(collection, $x, condition)")
        }
        guard !isOfRule || VariableSyntax.Source(rawValue: variable) == nil else {
            throw QueryError(
                .syntax, "found '$\(variable)' as the variable of a SUBQUERY; in a rule it means something else",
                at: token.position)
        }
        advance()
        try expect(",", "after the variable in SUBQUERY(collection, $x, condition)")
        variables.append(variable)
        let predicate = try predicate()
        variables.removeLast()
        try expect(")", "to close SUBQUERY(…)")
        leave()
        guard skip("."), skip("@"), case .identifier(let name, _) = token.kind, name == "count" || name == "size" else {
            throw QueryError(
                .syntax,
                "SUBQUERY must be followed by .@count, which is compared with a number; found "
                    + describe(token),
                at: token.position)
        }
        advance()
        return .subquery(SubquerySyntax(collection, variable, predicate, position: position))
    }

    private var quantifier: PathSyntax.Quantifier? {
        if token.isUniformKeyword("ANY") || token.isUniformKeyword("SOME") { return .any }
        if token.isUniformKeyword("ALL") { return .all }
        return token.isUniformKeyword("NONE") ? PathSyntax.Quantifier.none : nil
    }

    /// Whether a word is an operator or a clause, and not a property. A word before it that looks like a quantifier is
    /// then the name of a property.
    private func isOperator(_ token: Token, before next: Token) -> Bool {
        guard let keyword = token.keyword, Self.words.contains(keyword) else { return false }
        switch next.kind {
        case .symbol("("), .symbol("{"), .symbol("!"), .symbol("-"), .symbol("+"): return true
        case .symbol, .end: return false
        case .identifier:
            return !["IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"].contains(next.keyword)
        default: return true
        }
    }

    private static let words: Set<String> = [
        "AND", "OR", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "SORT", "DISTINCT", "LIMIT",
        "EXCLUDE",
    ]

    private func canFollowQuantifier(_ token: Token) -> Bool {
        switch token.kind {
        case .identifier, .variable, .argument, .nextArgument, .pathArgument, .nextPathArgument, .symbol("{"),
            .symbol("@"):
            true
        default: false
        }
    }

    private mutating func argument(
        quantifier: PathSyntax.Quantifier?, position: Int
    ) throws(QueryError) -> ExpressionSyntax {
        switch try takeArgument() {
        case .value(.list(let values)), .value(.set(let values)):
            guard values.count <= QueryLimits.listCountMax else { throw tooManyElements(at: position) }
            for _ in values { try countConstant() }
            let literals = values.map { LiteralSyntax(arguments.kind(of: $0), position: position) }
            return .list(literals, quantifier: quantifier, position: position)
        case let kind:
            guard quantifier == nil else {
                throw QueryError(
                    .typeMismatch,
                    "the argument after a quantifier must be a list; it is \(LiteralSyntax(kind).typeName)",
                    at: position)
            }
            try countConstant()
            return .literal(LiteralSyntax(kind, position: position))
        }
    }

    private mutating func list(
        quantifier: PathSyntax.Quantifier?, position: Int
    ) throws(QueryError) -> ExpressionSyntax {
        advance()
        var elements: [LiteralSyntax] = []
        if !token.isSymbol("}") {
            repeat {
                guard elements.count < QueryLimits.listCountMax || !isLimited else {
                    throw tooManyElements(at: position)
                }
                elements.append(try element())
            } while skip(",")
        }
        try expect("}", "or ',' in a list")
        return .list(elements, quantifier: quantifier, position: position)
    }

    mutating func element() throws(QueryError) -> LiteralSyntax {
        switch token.kind {
        case .argument, .nextArgument:
            let position = token.position
            try countConstant()
            return LiteralSyntax(try takeArgument(), position: position)
        case .variable where isAtRuleVariable: return try ruleVariable()
        case .variable where isAtNow: return try now()
        case .variable(let name) where !isOfRule && VariableSyntax.Source(rawValue: name) != nil:
            throw unknownVariable(name, at: token.position)
        default:
            if case .span = token.kind { throw misplacedSpan }
            guard isLiteral else {
                let isWord = if case .identifier = token.kind { true } else { false }
                throw unexpected("a value; lists hold constants only\(isWord ? ", and text stands in quotes" : "")")
            }
            return try literal()
        }
    }

    private func tooManyElements(at position: Int) -> QueryError {
        QueryError(
            .limitExceeded, "a list has more than \(QueryLimits.listCountMax) elements", at: position)
    }

    // MARK: Literals

    private var isLiteral: Bool {
        switch token.kind {
        case .number, .string, .value, .instant, .call: return true
        case .symbol(let symbol): return symbol == "-" || symbol == "+"
        case .identifier:
            if Self.constants[token.keyword ?? ""] != nil { return true }
            if token.isUniformKeyword("TRUE") || token.isUniformKeyword("FALSE") { return true }
            return peek().isSymbol("(") && ["OBJ", "BINARY", "BIN"].contains(token.keyword)
        default: return false
        }
    }

    private static let constants: [String: Value] = [
        "NULL": .null, "NIL": .null, "INF": .double(.infinity), "INFINITY": .double(.infinity), "NAN": .double(.nan),
    ]

    private mutating func literal() throws(QueryError) -> LiteralSyntax {
        let position = token.position
        try countConstant()
        let kind = try literalKind(isNegative: sign())
        return LiteralSyntax(kind, position: position)
    }

    /// Skips a sign before a number, and returns whether it was a minus.
    private mutating func sign() throws(QueryError) -> Bool {
        let isNegative = token.isSymbol("-")
        guard isNegative || token.isSymbol("+") else { return false }
        advance()
        switch token.kind {
        case .number: return isNegative
        case .identifier where ["INF", "INFINITY", "NAN"].contains(token.keyword): return isNegative
        default: throw unexpected("a number after a sign")
        }
    }

    private mutating func literalKind(isNegative: Bool) throws(QueryError) -> LiteralSyntax.Kind {
        let start = token.position
        switch token.kind {
        case .number(let digits):
            advance()
            return .number(isNegative ? "-" + digits : digits)
        case .string(let string):
            advance()
            return .value(.string(string))
        case .value(let value):
            advance()
            return .value(value)
        case .instant(let date, let nanoseconds):
            advance()
            return .instant(date, nanoseconds: nanoseconds)
        case .call("UUID", let digits):
            guard digits.utf8.count == 36, let uuid = UUID(uuidString: digits) else {
                throw QueryError(
                    .syntax, "found '\(digits)' as a UUID, expected 8-4-4-4-12 hexadecimal digits", at: start)
            }
            advance()
            return .value(.uuid(uuid))
        case .call("OID", let digits):
            guard let id = ObjectID(digits) else {
                throw QueryError(
                    .syntax, "found '\(digits)' as an object id, expected 32 hexadecimal digits", at: start)
            }
            advance()
            return .value(.objectID(id))
        case .identifier:
            if token.isUniformKeyword("TRUE") || token.isUniformKeyword("FALSE") {
                let isTrue = token.keyword == "TRUE"
                advance()
                return .value(.bool(isTrue))
            }
            if let constant = Self.constants[token.keyword ?? ""] {
                advance()
                if case .double(let number) = constant, isNegative { return .value(.double(-number)) }
                return .value(constant)
            }
            return try constructed()
        default:
            throw unexpected("a value")
        }
    }

    /// Parses `binary('…')` or `obj('Class', key)`.
    private mutating func constructed() throws(QueryError) -> LiteralSyntax.Kind {
        let isObject = token.keyword == "OBJ"
        try enter()
        defer { leave() }
        advance()
        advance()
        guard case .string(let text) = token.kind else {
            if !isObject, case .value(.data(let data)) = token.kind {
                advance()
                try expect(")", "to close binary(…)")
                return .value(.data(data))
            }
            throw unexpected(isObject ? "the name of a class in quotes" : "text in quotes or B64\"…\"")
        }
        advance()
        guard isObject else {
            try expect(")", "to close binary(…)")
            return .value(.data(Array(text.utf8)))
        }
        try expect(",", "between class and key in obj('Class', key)")
        let start = token.position
        let key: Value?
        switch try literalKind(isNegative: sign()) {
        case .value(let value): key = value
        case .number(let digits): key = Int64(digits).map { .int($0) }
        case .object, .member, .variable, .instant, .untyped, .now: key = nil
        }
        guard let key else { throw QueryError(.typeMismatch, "an object's key is no fraction or object", at: start) }
        try expect(")", "to close obj(…)")
        return .object(className: text, key: key)
    }
}
