internal import SluiceModel

extension Checker {
    /// A comparison in canonical form: a path on the left, constants in the path's type.
    func comparison(_ syntax: ComparisonSyntax, ofClass classIndex: Int) throws(QueryError) -> Query.Predicate {
        switch (syntax.left, syntax.right) {
        case (.path(let left), .path(let right)):
            return try compare(side(left, classIndex), side(right, classIndex), syntax)
        case (.path(let left), .literal(let literal)):
            return try compare(side(left, classIndex), literal, syntax)
        case (.path(let left), .list(let literals, let quantifier, let position)):
            let side = try side(left, classIndex)
            return try compare(side, literals, quantifier, syntax, at: position)
        case (.literal(let literal), .path(let right)):
            return try compareReversed(literal, side(right, classIndex), syntax)
        case (.list(let literals, let quantifier, let position), .path(let right)):
            guard let mirrored = syntax.comparison.mirrored else {
                throw QueryError(
                    .syntax, "the operator \(syntax.comparison.rawValue) takes no list on its left", at: position)
            }
            var turned = syntax
            turned.comparison = mirrored
            return try compare(side(right, classIndex), literals, quantifier, turned, at: position)
        default:
            return .constant(try ConstantComparison(syntax).isTrue())
        }
    }

    /// A path with its quantifier resolved.
    private func side(_ syntax: PathSyntax, _ classIndex: Int) throws(QueryError) -> PathSide {
        let path = try path(syntax, from: classIndex)
        if let quantifier = syntax.quantifier, !path.isToMany {
            throw QueryError(
                .typeMismatch,
                "the keypath following '\(quantifier.rawValue)' must contain a list; '\(path.text)' has none",
                at: syntax.position)
        }
        let name = "\(schema[path.leafClass].name).\(schema[path.leafClass].properties[path.leafProperty].name)"
        return PathSide(path: path, quantifier: syntax.quantifier, name: name, position: syntax.position)
    }

    // MARK: Operators and types

    func checkOperator(_ syntax: ComparisonSyntax, on side: PathSide) throws(QueryError) {
        func refuse(_ what: String) throws(QueryError) {
            throw QueryError(
                .typeMismatch,
                "operator '\(syntax.comparison.rawValue)\(what)' not supported for type '\(side.typeName)' "
                    + "(\(side.name))",
                at: syntax.position)
        }
        if syntax.ignoresCase, side.path.type != .scalar(.string) { try refuse("[c]") }
        switch (syntax.comparison, side.path.type) {
        case (.equal, _), (.notEqual, _), (.isIn, _): break
        case (.beginsWith, .scalar(let type)), (.endsWith, .scalar(let type)), (.contains, .scalar(let type)):
            if type != .string, type != .data { try refuse("") }
        case (.like, .scalar(let type)): if type != .string { try refuse("") }
        case (_, .scalar(let type)): if type == .bool { try refuse("") }
        case (_, .link): try refuse("")
        }
    }

    // MARK: A path and one constant

    private func compare(
        _ side: PathSide, _ literal: LiteralSyntax, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        switch syntax.comparison {
        case .isIn:
            throw QueryError(
                .typeMismatch, "the keypath following 'IN' must contain a list; found \(Self.typeName(of: literal))",
                at: literal.position)
        case .between:
            throw QueryError(.typeMismatch, "BETWEEN needs a list of two values, as in {1, 5}", at: literal.position)
        default: break
        }
        try checkOperator(syntax, on: side)
        if case .value(.null) = literal.kind, case .elements = side.path.leaf {
            if case .link = side.path.type {
                throw QueryError(
                    .typeMismatch, "cannot compare linklist ('\(side.path.text)') with NULL", at: literal.position)
            }
            if side.quantifier == nil, side.path.steps.isEmpty {
                throw QueryError(
                    .typeMismatch,
                    "cannot compare the collection '\(side.path.text)' with NULL; ANY compares its elements",
                    at: literal.position)
            }
        }
        let constant = try constant(literal, for: side.path, named: side.name)
        return side.quantified { side.leaf($0, syntax.comparison, constant, ignoresCase: syntax.ignoresCase) }
    }

    private func compareReversed(
        _ literal: LiteralSyntax, _ side: PathSide, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        var turned = syntax
        if let mirrored = syntax.comparison.mirrored {
            turned.comparison = mirrored
            return try compare(side, literal, turned)
        }
        switch syntax.comparison {
        case .isIn:
            guard side.path.isToMany else {
                throw QueryError(
                    .typeMismatch, "the keypath following 'IN' must contain a list; '\(side.path.text)' has none",
                    at: side.position)
            }
            turned.comparison = .equal
            return try compare(side, literal, turned)
        case .between:
            throw QueryError(.typeMismatch, "BETWEEN needs a list of two values, as in {1, 5}", at: syntax.position)
        default:
            try checkOperator(syntax, on: side)
            guard case .exact(let value) = try constant(literal, for: side.path, named: side.name), !value.isNull else {
                return .constant(false)
            }
            return side.quantified { quantifier in
                .comparison(
                    Query.Comparison(
                        quantifier: quantifier, left: .constant(syntax.ignoresCase ? value.folded : value),
                        comparison: syntax.comparison, ignoresCase: syntax.ignoresCase, right: .path(side.path)))
            }
        }
    }

    // MARK: Two paths

    private func compare(
        _ left: PathSide, _ right: PathSide, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        var (left, right, comparison) = (left, right, syntax.comparison)
        guard comparison != .between else {
            throw QueryError(.typeMismatch, "BETWEEN needs a list of two values, as in {1, 5}", at: right.position)
        }
        if comparison == .isIn, !right.path.isToMany {
            throw QueryError(
                .typeMismatch, "the keypath following 'IN' must contain a list; '\(right.path.text)' has none",
                at: right.position)
        }
        if left.path.isToMany, right.path.isToMany {
            throw QueryError(.unsupported, "comparing two collections is not supported yet", at: syntax.position)
        }
        try checkOperator(syntax, on: left)
        try checkOperator(syntax, on: right)
        try checkTypes(left, right, at: syntax.position)
        if comparison == .isIn { comparison = .equal }
        if let mirrored = comparison.mirrored {
            let isTurned =
                left.path.isToMany == right.path.isToMany
                ? UTF8Order.less(right.path.text, left.path.text) : right.path.isToMany
            if isTurned { (left, right, comparison) = (right, left, mirrored) }
        }
        return (left.path.isToMany ? left : right).quantified { quantifier in
            .comparison(
                Query.Comparison(
                    quantifier: quantifier, left: .path(left.path), comparison: comparison,
                    ignoresCase: syntax.ignoresCase, right: .path(right.path)))
        }
    }

    private func checkTypes(_ left: PathSide, _ right: PathSide, at position: Int?) throws(QueryError) {
        guard left.path.type != right.path.type else { return }
        if case .scalar(let leftType) = left.path.type, case .scalar(let rightType) = right.path.type,
            leftType.isNumeric, rightType.isNumeric
        {
            guard leftType == .decimal || rightType == .decimal else { return }
            throw QueryError(
                .unsupported, "comparing a decimal property with one of another numeric type is not supported yet",
                at: position)
        }
        throw QueryError(
            .typeMismatch,
            "unsupported comparison between type '\(left.typeName)' (\(left.name)) and type "
                + "'\(right.typeName)' (\(right.name))",
            at: position)
    }
}

extension ScalarType {
    var isNumeric: Bool { self == .int || self == .float || self == .double || self == .decimal }
}

extension Value {
    /// Text through the folding of case; everything else as it is.
    var folded: Value {
        if case .string(let text) = self { .string(CaseFolding.fold(text)) } else { self }
    }
}
