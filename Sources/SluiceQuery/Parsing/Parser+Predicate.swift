internal import SluiceModel

extension Parser {
    /// What parentheses may hold: a condition, or one side of a comparison.
    enum Parsed {
        case predicate(PredicateSyntax)
        case operand(ExpressionSyntax)
    }

    mutating func predicate() throws(QueryError) -> PredicateSyntax {
        let parsed = try disjunction()
        return try condition(parsed)
    }

    private func condition(_ parsed: Parsed) throws(QueryError) -> PredicateSyntax {
        guard case .predicate(let predicate) = parsed else { throw unexpected("a comparison operator") }
        return predicate
    }

    private mutating func disjunction() throws(QueryError) -> Parsed {
        let first = try conjunction()
        guard token.isSymbol("||") || token.keyword == "OR" else { return first }
        var operands = [try condition(first)]
        while token.isSymbol("||") || token.keyword == "OR" {
            advance()
            let operand = try conjunction()
            operands.append(try condition(operand))
        }
        return .predicate(.or(operands))
    }

    private mutating func conjunction() throws(QueryError) -> Parsed {
        let first = try negation()
        guard token.isSymbol("&&") || token.keyword == "AND" else { return first }
        var operands = [try condition(first)]
        while token.isSymbol("&&") || token.keyword == "AND" {
            advance()
            let operand = try negation()
            operands.append(try condition(operand))
        }
        return .predicate(.and(operands))
    }

    private mutating func negation() throws(QueryError) -> Parsed {
        guard token.isSymbol("!") || token.isUniformKeyword("NOT") else { return try comparison() }
        try enter()
        advance()
        let parsed = try negation()
        let operand = try condition(parsed)
        leave()
        return .predicate(.not(operand))
    }

    private mutating func comparison() throws(QueryError) -> Parsed {
        if let keyword = token.keyword, keyword == "TRUEPREDICATE" || keyword == "FALSEPREDICATE" {
            try countNode()
            advance()
            return .predicate(.constant(keyword == "TRUEPREDICATE"))
        }
        let left: ExpressionSyntax
        if token.isSymbol("(") {
            switch try parenthesised() {
            case .predicate(let predicate): return .predicate(predicate)
            case .operand(let operand): left = operand
            }
        } else {
            left = try operand()
        }
        try refuseArithmetic()
        let position = token.position
        guard let comparison = try comparisonOperator() else { return .operand(left) }
        try countNode()
        let ignoresCase = try caseModifier(of: comparison)
        let right = try rightOperand()
        try refuseArithmetic()
        return .predicate(
            .comparison(ComparisonSyntax(left, comparison, right, ignoresCase: ignoresCase, position: position)))
    }

    private mutating func parenthesised() throws(QueryError) -> Parsed {
        try enter()
        advance()
        let content = try disjunction()
        try expect(")", "to close a parenthesis")
        leave()
        return content
    }

    private mutating func rightOperand() throws(QueryError) -> ExpressionSyntax {
        guard token.isSymbol("(") else { return try operand() }
        let position = token.position
        guard case .operand(let operand) = try parenthesised() else {
            throw QueryError(.syntax, "found a condition, expected a value or a property to compare with", at: position)
        }
        return operand
    }

    private func refuseArithmetic() throws(QueryError) {
        for symbol in ["+", "-", "*", "/"] as [StaticString] where token.isSymbol(symbol) {
            throw QueryError(.unsupported, "arithmetic ('\(symbol)') is not supported yet", at: token.position)
        }
    }

    private mutating func comparisonOperator() throws(QueryError) -> ComparisonOperator? {
        let comparison: ComparisonOperator
        switch token.kind {
        case .symbol(let symbol):
            guard let found = ComparisonOperator(rawValue: symbol) else { return nil }
            comparison = found
        case .identifier:
            switch token.keyword {
            case "BEGINSWITH": comparison = .beginsWith
            case "ENDSWITH": comparison = .endsWith
            case "CONTAINS": comparison = .contains
            case "LIKE": comparison = .like
            case "BETWEEN": comparison = .between
            case "IN" where token.isUniformKeyword("IN"): comparison = .isIn
            case let keyword? where ["TEXT", "GEOWITHIN", "MATCHES"].contains(keyword):
                throw QueryError(.unsupported, "the operator \(keyword) is not supported", at: token.position)
            default: return nil
            }
        default: return nil
        }
        advance()
        return comparison
    }

    /// `[c]` after an operator.
    private mutating func caseModifier(of comparison: ComparisonOperator) throws(QueryError) -> Bool {
        guard token.isSymbol("[") else { return false }
        let position = token.position
        guard case .identifier(let modifier, _) = peek().kind, peek(2).isSymbol("]") else {
            advance()
            throw unexpected("the modifier 'c' after '['")
        }
        guard modifier == "c" else {
            throw QueryError(
                .unsupported, "the modifier [\(modifier)] is not supported; [c] ignores case", at: position)
        }
        guard comparison == .equal || comparison == .notEqual || comparison == .isIn || comparison.isTextSearch else {
            throw QueryError(.typeMismatch, "the operator \(comparison.rawValue) takes no [c]", at: position)
        }
        for _ in 0..<3 { advance() }
        return true
    }
}
