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

    /// Makes a condition of what was parsed. A path that stands alone is one too; the checker refuses it unless it ends
    /// at a Boolean property.
    private mutating func condition(_ parsed: Parsed) throws(QueryError) -> PredicateSyntax {
        switch parsed {
        case .predicate(let predicate): return predicate
        case .operand(.path(let path)) where endsCondition:
            try countNode()
            return .comparison(ComparisonSyntax(truthOf: path, position: token.position))
        case .operand(.literal(let literal)) where literal.isVariable && endsCondition:
            try countNode()
            return .comparison(ComparisonSyntax(truthOf: literal))
        case .operand: throw missingOperator(parsed)
        }
    }

    /// Whether the current token can follow a whole condition.
    private var endsCondition: Bool {
        switch token.kind {
        case .end: true
        case .symbol(let symbol): symbol == ")" || symbol == "&&" || symbol == "||"
        default: token.keyword == "AND" || token.keyword == "OR" || isAtClause
        }
    }

    /// The error for any other token where a comparison needs its operator.
    private func missingOperator(_ parsed: Parsed) -> QueryError {
        var hint = hint(among: Self.operators)
        switch token.keyword {
        case "IS": hint = "; write == NULL or != NULL"
        case "NOT": hint = "; write NOT before the property, as in NOT name IN {'a'}"
        default: break
        }
        if case .operand(.path(let path)) = parsed, path.components.count == 1,
            case .property(let name) = path.components[0].kind, Self.uniform.contains(name.uppercased()),
            name != name.uppercased(), name != name.lowercased()
        {
            hint = "; '\(name)' is written \(name.uppercased()) or \(name.lowercased())"
        }
        return unexpected("a comparison operator\(hint)")
    }

    private static let operators = ["IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"]

    /// Keywords that are written in upper or in lower case only, and in any other case are names.
    private static let uniform: Set<String> = ["NOT", "ANY", "SOME", "ALL", "NONE"]

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
        // NOT and a parenthesis after it are one level together.
        let isAlone = !peek().isSymbol("(")
        if isAlone { try enter() }
        advance()
        let parsed = try negation()
        let operand = try condition(parsed)
        if isAlone { leave() }
        return .predicate(.not(operand))
    }

    private mutating func comparison() throws(QueryError) -> Parsed {
        if let keyword = token.keyword, keyword == "TRUEPREDICATE" || keyword == "FALSEPREDICATE" {
            try countNode()
            advance()
            return .predicate(.constant(keyword == "TRUEPREDICATE"))
        }
        let parsed = try sum()
        guard case .operand(let left) = parsed else { return parsed }
        let position = token.position
        guard let comparison = try comparisonOperator() else { return .operand(left) }
        try countNode()
        let ignoresCase = try caseModifier(of: comparison)
        let start = token.position
        try checkBraces(of: comparison)
        guard case .operand(let right) = try sum() else {
            throw QueryError(.syntax, "found a condition, expected a value or a property to compare with", at: start)
        }
        if comparison == .between, case .literal = right, token.keyword == "AND" {
            throw QueryError(.syntax, "BETWEEN takes a list of two values, as in {1, 5}", at: start)
        }
        return .predicate(
            .comparison(ComparisonSyntax(left, comparison, right, ignoresCase: ignoresCase, position: position)))
    }

    /// Refuses a list in parentheses. One in brackets is refused where a modifier is read.
    private func checkBraces(of comparison: ComparisonOperator) throws(QueryError) {
        guard token.isSymbol("("), holdsComma else { return }
        throw unexpected(Self.list(after: comparison))
    }

    private static func list(after comparison: ComparisonOperator) -> String {
        "a list in braces, as in \(comparison == .between ? "{1, 5}" : "{1, 2}")"
    }

    /// Whether the parenthesis that opens here has a comma that is not inside another one.
    private var holdsComma: Bool {
        var depth = 0
        var offset = 0
        while true {
            let token = peek(offset)
            switch token.kind {
            case .symbol("("), .symbol("{"): depth += 1
            case .symbol(")"), .symbol("}"): depth -= 1
            case .symbol(",") where depth == 1: return true
            default: break
            }
            if depth == 0 || token.isEnd { return false }
            offset += 1
        }
    }

    private mutating func parenthesised() throws(QueryError) -> Parsed {
        try enter()
        advance()
        let content = try disjunction()
        try expect(")", "to close a parenthesis")
        leave()
        return content
    }

    // MARK: Arithmetic

    private mutating func sum() throws(QueryError) -> Parsed {
        var parsed = try product()
        while let operation = arithmeticOperator([.add, .subtract]) {
            let position = token.position
            advance()
            parsed = try combine(parsed, operation, product(), at: position)
        }
        return parsed
    }

    private mutating func product() throws(QueryError) -> Parsed {
        var parsed = try factor()
        while let operation = arithmeticOperator([.multiply, .divide]) {
            let position = token.position
            advance()
            parsed = try combine(parsed, operation, factor(), at: position)
        }
        return parsed
    }

    private mutating func factor() throws(QueryError) -> Parsed {
        token.isSymbol("(") ? try parenthesised() : .operand(try operand())
    }

    private func arithmeticOperator(_ operators: [ArithmeticOperator]) -> ArithmeticOperator? {
        guard case .symbol(let symbol) = token.kind else { return nil }
        return operators.first { $0.rawValue == symbol }
    }

    private mutating func combine(
        _ left: Parsed, _ operation: ArithmeticOperator, _ right: Parsed, at position: Int
    ) throws(QueryError) -> Parsed {
        guard case .operand(let left) = left, case .operand(let right) = right else {
            throw QueryError(
                .syntax, "found '\(operation.rawValue)' beside a condition, expected numbers on both sides",
                at: position)
        }
        try countNode()
        return .operand(.arithmetic(ArithmeticSyntax(left, operation, right, position: position)))
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
            case let keyword?:
                guard let reason = Self.refusedOperators[keyword] else { return nil }
                throw QueryError(
                    .unsupported, "the operator \(keyword) is not supported: \(reason)", at: token.position)
            default: return nil
            }
        default: return nil
        }
        advance()
        return comparison
    }

    private static let refusedOperators = [
        "TEXT": "there is no full-text search; CONTAINS and LIKE look for text",
        "GEOWITHIN": "there are no geographical types; compare latitude and longitude with BETWEEN",
        "MATCHES": "there are no regular expressions; LIKE takes ? and *",
    ]

    /// Parses `[c]` after an operator.
    private mutating func caseModifier(of comparison: ComparisonOperator) throws(QueryError) -> Bool {
        guard token.isSymbol("[") else { return false }
        let position = token.position
        guard case .identifier(let modifier, _) = peek().kind, peek(2).isSymbol("]") else {
            throw unexpected("the modifier [c], or \(Self.list(after: comparison))")
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
