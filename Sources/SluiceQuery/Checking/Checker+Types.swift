internal import SluiceModel

extension Checker {
    /// Checks a comparison of `path.@type` with the names of types; nil for any other comparison.
    ///
    /// A property has one type, so only whether its value is null remains to be judged for each object.
    func typeComparison(_ syntax: ComparisonSyntax) throws(QueryError) -> Query.Predicate? {
        let path: PathSyntax
        let names: ExpressionSyntax
        switch (Self.typed(syntax.left), Self.typed(syntax.right)) {
        case (let left?, nil): (path, names) = (left, syntax.right)
        case (nil, let right?) where syntax.comparison != .isIn: (path, names) = (right, syntax.left)
        case (nil, nil): return nil
        default: throw typeError(syntax)
        }
        var literals: [LiteralSyntax] = []
        switch (names, syntax.comparison) {
        case (.literal(let literal), .equal), (.literal(let literal), .notEqual): literals = [literal]
        case (.list(let list, nil, _), .isIn), (.list(let list, nil, _), .equal): literals = list
        default: throw typeError(syntax)
        }
        guard case .side(let side) = try operand(.path(path)) else { throw typeError(syntax) }
        var wanted: Set<String> = []
        for literal in literals {
            guard case .value(.string(let name)) = literal.kind, let types = Self.types(named: name) else {
                throw QueryError(
                    .typeMismatch,
                    "@type compares with the name of a type, such as 'int', 'string', 'numeric', 'object' or 'null'",
                    at: literal.position)
            }
            wanted.formUnion(types)
        }
        let isNegated = syntax.comparison == .notEqual
        let takesValues = wanted.contains(side.typeName) != isNegated
        let takesNull = wanted.contains("null") != isNegated
        return side.quantified { quantifier in
            switch (takesValues, takesNull) {
            case (true, true): side.always(quantifier)
            case (true, false): side.notNull(quantifier)
            case (false, true): side.leaf(quantifier, .equal, .exact(.null), ignoresCase: false)
            case (false, false): side.never(quantifier)
            }
        }
    }

    private func typeError(_ syntax: ComparisonSyntax) -> QueryError {
        QueryError(
            .typeMismatch, "@type compares by ==, != and IN with the names of types, such as 'int'",
            at: syntax.position)
    }

    /// The path before `.@type`; nil for any other expression.
    private static func typed(_ syntax: ExpressionSyntax) -> PathSyntax? {
        guard case .path(var path) = syntax, case .operation("type") = path.components.last?.kind else { return nil }
        path.components.removeLast()
        return path
    }

    private static func types(named name: String) -> [String]? {
        switch name.lowercased() {
        case "numeric": ["int", "float", "double", "decimal"]
        case "int", "bool", "string", "float", "double", "uuid", "null", "link": [name.lowercased()]
        case "binary", "data": ["data"]
        case "timestamp", "date": ["date"]
        case "decimal", "decimal128": ["decimal"]
        case "objectid": ["objectId"]
        case "object", "typedlink": ["link"]
        default: nil
        }
    }
}
