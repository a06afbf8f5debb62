internal import SluiceModel

extension Parser {
    /// Whether a variable that only rules have begins here.
    var isAtRuleVariable: Bool {
        guard isOfRule, case .variable(let name) = token.kind else { return false }
        return VariableSyntax.Source(rawValue: name) != nil
    }

    /// Whether `$now` is here, and not the variable of a subquery that has the name.
    var isAtNow: Bool {
        guard !isOfRule, case .variable("now") = token.kind else { return false }
        return !variables.contains("now") && !peek().isSymbol(".")
    }

    /// Parses `$now`, `$now - 90m` or `$now + 1d - 2h`.
    mutating func now() throws(QueryError) -> LiteralSyntax {
        let position = token.position
        try countConstant()
        advance()
        var offset: Int64 = 0
        while token.isSymbol("+") || token.isSymbol("-"), case .span(let span) = peek().kind {
            offset += token.isSymbol("-") ? -span : span
            advance()
            advance()
            guard offset.magnitude <= UInt64(TimeSpan.max) else {
                throw QueryError(
                    .limitExceeded, "a time is at most 36500d before or after $now", at: position)
            }
        }
        return LiteralSyntax(.now(offset: offset), position: position)
    }

    /// The error for a span of time where none belongs.
    var misplacedSpan: QueryError {
        QueryError(
            .syntax, "found \(describe(token)); a span of time stands behind '$now +' or '$now -' only",
            at: token.position)
    }

    /// Parses `$user.id`, `$user.claims.a['b']`, `$role.NAME` or `$client.NAME`.
    mutating func ruleVariable() throws(QueryError) -> LiteralSyntax {
        let position = token.position
        guard case .variable(let word) = token.kind, let source = VariableSyntax.Source(rawValue: word) else {
            throw unexpected("a variable")
        }
        try countConstant()
        advance()
        var names: [String] = []
        while true {
            if skip(".") {
                guard case .identifier(let name, _) = token.kind else {
                    throw unexpected("a name after '$\(word).', such as \(Self.example(of: source))")
                }
                names.append(name)
                advance()
            } else if token.isSymbol("["), case .string(let name) = peek().kind, peek(2).isSymbol("]") {
                names.append(name)
                for _ in 0..<3 { advance() }
            } else {
                break
            }
            guard names.count <= QueryLimits.pathLengthMax else {
                throw QueryError(
                    .limitExceeded, "a variable has more than \(QueryLimits.pathLengthMax) names", at: position)
            }
        }
        guard !names.isEmpty else {
            throw QueryError(
                .syntax, "found '$\(word)' alone; expected \(Self.example(of: source))", at: position)
        }
        guard source == .user || names.count == 1 else {
            throw QueryError(
                .syntax, "found \(names.count) names after '$\(word)'; expected one, as in \(Self.example(of: source))",
                at: position)
        }
        return LiteralSyntax(.variable(VariableSyntax(source, names)), position: position)
    }

    private static func example(of source: VariableSyntax.Source) -> String {
        switch source {
        case .user: "$user.id, $user.claims.NAME or $user.SET"
        case .role: "$role.NAME"
        case .client: "$client.NAME"
        }
    }

    /// The error for a variable that nothing around it names.
    func unknownVariable(_ name: String, at position: Int) -> QueryError {
        let known = VariableSyntax.Source.allCases.map(\.rawValue)
        if isOfRule {
            let nearest = NearestName.find(name, among: known).map { "did you mean '$\($0)'?" }
            let hint = nearest ?? "rules have $user, $role and $client"
            let reason = name == "now" ? "rules do not depend on the time" : hint
            return QueryError(.syntax, "there is no variable '$\(name.shortened)'; \(reason)", at: position)
        }
        if name == "now" {
            return QueryError(
                .syntax,
                "found '$now' where it does not belong: it is a time, and compares with a date by < <= > >= and BETWEEN",
                at: position)
        }
        let hint = known.contains(name) ? "; only rules have '$\(name)'" : ""
        return QueryError(
            .syntax, "found the variable '$\(name.shortened)', which no SUBQUERY around it names\(hint)", at: position)
    }
}
