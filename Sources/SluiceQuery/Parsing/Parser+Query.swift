internal import SluiceModel

extension Parser {
    /// Parses a whole query, up to the end of the text.
    mutating func query(className: String?) throws(QueryError) -> QuerySyntax {
        var syntax: QuerySyntax
        if let className {
            syntax = QuerySyntax(.objects(className: className))
            if !token.isEnd, !isAtClause { syntax.predicate = try predicate() }
        } else if case .call("OBJECT", let content) = token.kind {
            syntax = QuerySyntax(.object(try objectID(content)))
            guard token.isEnd else { throw unexpected("the end of the query after OBJECT(id)") }
            return syntax
        } else {
            guard case .identifier(let name, _) = token.kind else {
                throw unexpected("the name of a class, as in: Car WHERE price < 9000")
            }
            syntax = QuerySyntax(.objects(className: name, position: token.position))
            advance()
            if token.keyword == "WHERE" {
                advance()
                syntax.predicate = try predicate()
            } else if !token.isEnd, !isAtClause {
                try checkClause()
                let nearest = hint(among: ["WHERE"] + Self.clauses + [Self.total])
                throw unexpected(
                    "WHERE, GROUP, AGGREGATE, SORT, AFTER, BEFORE, DISTINCT, LIMIT, EXCLUDE, TOTAL or the end of the "
                        + "query after the class '\(name.shortened)'\(nearest)")
            }
        }
        while isAtClause { syntax.clauses.append(try clause()) }
        guard token.isEnd else {
            try checkClause()
            let nearest = hint(among: ["AND", "OR"] + Self.clauses + [Self.total])
            throw unexpected(
                "AND, OR, GROUP, AGGREGATE, SORT, AFTER, BEFORE, DISTINCT, LIMIT, EXCLUDE, TOTAL or the end of the "
                    + "query\(nearest)")
        }
        return syntax
    }

    private static let clauses = [
        "SORT", "DISTINCT", "LIMIT", "EXCLUDE", "AFTER", "BEFORE", "GROUP", "AGGREGATE",
    ]
    /// The clause without parentheses. A property may have this name: it is the clause only where a query may end.
    private static let total = "TOTAL"

    /// Refuses a clause that lacks its parenthesis, and one that has none.
    private mutating func checkClause() throws(QueryError) {
        if token.keyword == Self.total, peek().isSymbol("(") || peek().keyword != nil {
            advance()
            // LIMIT without a parenthesis behind it is what is wrong, and not TOTAL.
            if !Self.clauses.contains(token.keyword ?? "") {
                throw unexpected(
                    "another clause or the end of the query after TOTAL\(hint(among: Self.clauses + [Self.total]))")
            }
        }
        guard let keyword = token.keyword, Self.clauses.contains(keyword) else { return }
        advance()
        let example =
            switch keyword {
            case "LIMIT": "20"
            case "AFTER", "BEFORE": "9000, 'JT2'"
            case "AGGREGATE": "@count, @avg.price"
            default: "name"
            }
        throw unexpected("'(' after \(keyword), as in \(keyword)(\(example))")
    }

    private mutating func objectID(_ digits: String) throws(QueryError) -> ObjectID {
        guard let id = ObjectID(digits) else {
            throw QueryError(
                .syntax, "found '\(digits)' as an object's id, expected 32 hexadecimal digits",
                at: token.position + "OBJECT(".utf8.count)
        }
        advance()
        return id
    }

    /// Whether a clause begins here.
    var isAtClause: Bool { isClause(at: 0) || isAtTotal }

    /// Whether a clause with parentheses begins at a token.
    private func isClause(at offset: Int) -> Bool {
        guard let keyword = peek(offset).keyword, peek(offset + 1).isSymbol("(") else { return false }
        return Self.clauses.contains(keyword)
    }

    /// Whether TOTAL stands here, with the end or another clause behind it.
    private var isAtTotal: Bool {
        guard token.keyword == Self.total else { return false }
        return peek().isEnd || isClause(at: 1) || [Self.total, "WHERE"].contains(peek().keyword)
    }

    private mutating func clause() throws(QueryError) -> QuerySyntax.Clause {
        let position = token.position
        let keyword = token.keyword
        advance()
        if keyword == Self.total { return .total(position: position) }
        advance()
        let clause: QuerySyntax.Clause
        switch keyword {
        case "SORT": clause = .sort(try sortKeys(), position: position)
        case "LIMIT": clause = .limit(try limit(), position: position)
        case "DISTINCT": clause = .distinct(try paths(), position: position)
        case "GROUP": clause = .group(try paths(), position: position)
        case "AGGREGATE":
            guard !token.isSymbol(")") else {
                throw unexpected("@count, or @sum, @avg, @min or @max and a property, as in @avg.price")
            }
            clause = .aggregate(try paths(), position: position)
        case "AFTER": clause = .place(.after, try values(), position: position)
        case "BEFORE": clause = .place(.before, try values(), position: position)
        default: clause = .exclude(try paths(), position: position)
        }
        try expect(")", "or ',' in \(keyword ?? "")")
        return clause
    }

    private mutating func sortKeys() throws(QueryError) -> [QuerySyntax.SortSyntax] {
        var keys: [QuerySyntax.SortSyntax] = []
        repeat {
            let path = try path(quantifier: nil, position: token.position)
            var isAscending = true
            switch token.keyword {
            case "ASC", "ASCENDING": advance()
            case "DESC", "DESCENDING":
                isAscending = false
                advance()
            default:
                guard token.isSymbol(",") || token.isSymbol(")") else {
                    throw unexpected("ASC, DESC, ',' or ')' in SORT")
                }
            }
            keys.append(QuerySyntax.SortSyntax(path, isAscending: isAscending))
        } while skip(",")
        return keys
    }

    private mutating func paths() throws(QueryError) -> [PathSyntax] {
        var result: [PathSyntax] = []
        repeat { result.append(try path(quantifier: nil, position: token.position)) } while skip(",")
        return result
    }

    private mutating func values() throws(QueryError) -> [LiteralSyntax] {
        var result: [LiteralSyntax] = []
        repeat {
            guard result.count <= QueryLimits.sortKeyCountMax else {
                throw QueryError(
                    .limitExceeded, "a place has at most \(QueryLimits.sortKeyCountMax) values and a key",
                    at: token.position)
            }
            result.append(try element())
        } while skip(",")
        return result
    }

    private mutating func limit() throws(QueryError) -> Int {
        switch token.kind {
        case .number(let digits):
            guard let limit = Int(digits) else { throw unexpected("a whole number in LIMIT") }
            advance()
            return limit
        case .argument, .nextArgument:
            let position = token.position
            let limit: Int? =
                switch try takeArgument() {
                case .value(.int(let value)): Int(exactly: value)
                case .untyped(let text): Int(text)
                default: nil
                }
            guard let limit, limit >= 0 else {
                throw QueryError(.typeMismatch, "the argument of LIMIT is not a whole number from 0", at: position)
            }
            return limit
        default:
            throw unexpected("a whole number in LIMIT")
        }
    }
}
