package import SluiceModel

extension Checker {
    /// Checks a comparison and brings it into canonical form: a side that reads properties on the left, constants in
    /// the type of that side.
    func comparison(_ syntax: ComparisonSyntax) throws(QueryError) -> Query.Predicate {
        if let predicate = try typeComparison(syntax) { return predicate }
        let left = try operand(syntax.left)
        let right = try operand(syntax.right, beside: left)
        if syntax.isTruth, case .side(let side) = left, side.type != .scalar(.bool) {
            throw QueryError(
                .typeMismatch,
                "\(side.name) is \(side.typeName), expected a comparison operator after it; only a Boolean property is a "
                    + "condition by itself",
                at: syntax.position)
        }
        switch (left, right) {
        case (.side(let left), .side(let right)): return try compare(left, right, syntax)
        case (.side(let side), .literal(let literal)): return try compare(side, literal, syntax)
        case (.side(let side), .list(let literals, let quantifier, let position)):
            return try compare(side, literals, quantifier, syntax, at: position)
        case (.literal(let literal), .side(let side)): return try compareReversed(literal, side, syntax)
        case (.list(let literals, let quantifier, let position), .side(let side)):
            return try compare(literals, quantifier, side, syntax, at: position)
        case (let left, let right): return .constant(try ConstantComparison(left, right, syntax).isTrue())
        }
    }

    /// Checks the right side. A word that is no property may be text without its quotes; the error then says so.
    private func operand(
        _ syntax: ExpressionSyntax, beside left: CheckedOperand
    ) throws(QueryError) -> CheckedOperand {
        do throws(QueryError) {
            return try operand(syntax)
        } catch {
            guard error.code == .unknownProperty, case .side(let side) = left, isText(side),
                case .path(let path) = syntax, path.components.count == 1,
                case .property(let word) = path.components[0].kind
            else { throw error }
            let hint = "; if it is text, write it in quotes: '\(word.shortened)'"
            throw QueryError(error.code, error.message + hint, at: error.position)
        }
    }

    /// Whether a side is compared with strings.
    private func isText(_ side: OperandSide) -> Bool {
        switch side.type {
        case .scalar(let type): type == .string
        case .link(let target): schema[target].keyType == .string
        }
    }

    // MARK: Operators and types

    func checkOperator(_ syntax: ComparisonSyntax, on side: OperandSide) throws(QueryError) {
        func refuse(_ what: String) throws(QueryError) {
            throw QueryError(
                .typeMismatch,
                "operator '\(syntax.comparison.rawValue)\(what)' not supported for type '\(side.typeName)' "
                    + "(\(side.name))",
                at: syntax.position)
        }
        if syntax.ignoresCase, side.type != .scalar(.string) { try refuse("[c]") }
        switch (syntax.comparison, side.type) {
        case (.equal, _), (.notEqual, _), (.isIn, _): break
        case (.beginsWith, .scalar(let type)), (.endsWith, .scalar(let type)), (.contains, .scalar(let type)):
            if type != .string, type != .data { try refuse("") }
        case (.like, .scalar(let type)): if type != .string { try refuse("") }
        case (_, .scalar(let type)): if type == .bool { try refuse("") }
        case (_, .link): try refuse("")
        }
    }

    // MARK: A side and one constant

    func compare(
        _ side: OperandSide, _ literal: LiteralSyntax, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        switch syntax.comparison {
        case .isIn:
            throw QueryError(
                .typeMismatch, "the keypath following 'IN' must contain a list; found \(literal.typeName)",
                at: literal.position)
        case .between:
            throw QueryError(.typeMismatch, "BETWEEN needs a list of two values, as in {1, 5}", at: literal.position)
        default: break
        }
        if case .now(let offset) = literal.kind { return try compare(side, now: offset, literal, syntax) }
        try checkOperator(syntax, on: side)
        if case .value(.null) = literal.kind { try checkNull(side, literal) }
        let constant = try constant(literal, for: side)
        return side.quantified { side.leaf($0, syntax.comparison, constant, ignoresCase: syntax.ignoresCase) }
    }

    /// Refuses to compare a collection of links with NULL: neither it nor its elements are ever null.
    private func checkNull(_ side: OperandSide, _ literal: LiteralSyntax) throws(QueryError) {
        guard case .path(let path) = side.operand else { return }
        let endsAtMany: Bool
        switch path.leaf {
        case .elements: endsAtMany = true
        case .object: endsAtMany = path.steps.last?.isToMany ?? false
        default: endsAtMany = false
        }
        if case .link = path.type, endsAtMany {
            throw QueryError(
                .typeMismatch, "cannot compare linklist ('\(path.text)') with NULL", at: literal.position)
        }
    }

    private func compareReversed(
        _ literal: LiteralSyntax, _ side: OperandSide, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        var turned = syntax
        if let mirrored = syntax.comparison.mirrored {
            turned.comparison = mirrored
            return try compare(side, literal, turned)
        }
        switch syntax.comparison {
        case .isIn:
            guard side.isToMany else {
                throw QueryError(
                    .typeMismatch, "the keypath following 'IN' must contain a list; '\(side.text)' has none",
                    at: side.position)
            }
            turned.comparison = .equal
            return try compare(side, literal, turned)
        case .between:
            throw QueryError(.typeMismatch, "BETWEEN needs a list of two values, as in {1, 5}", at: syntax.position)
        default:
            if case .now = literal.kind { throw Self.misplacedNow("'\(side.text)'", literal) }
            try checkOperator(syntax, on: side)
            let constant = try constant(literal, for: side)
            return side.quantified {
                side.reversedLeaf(constant, syntax.comparison, $0, ignoresCase: syntax.ignoresCase)
            }
        }
    }

    // MARK: Two sides

    private func compare(
        _ left: OperandSide, _ right: OperandSide, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        var (left, right, comparison) = (left, right, syntax.comparison)
        guard comparison != .between else {
            throw QueryError(.typeMismatch, "BETWEEN needs a list of two values, as in {1, 5}", at: right.position)
        }
        if comparison == .isIn, !right.isToMany {
            throw QueryError(
                .typeMismatch, "the keypath following 'IN' must contain a list; '\(right.text)' has none",
                at: right.position)
        }
        try checkOperator(syntax, on: left)
        try checkOperator(syntax, on: right)
        try checkTypes(left, right, at: syntax.position)
        if comparison == .isIn { comparison = .equal }
        if left.isToMany, right.isToMany, left.quantifier == nil, right.quantifier == nil {
            var syntax = syntax
            syntax.comparison = comparison
            return try wholes(left, right, syntax)
        }
        let nesting = Nesting(left.quantifier, right.quantifier)
        var isTurned = false
        if left.isToMany != right.isToMany || nesting.commutes, let mirrored = comparison.mirrored {
            isTurned = left.isToMany == right.isToMany ? UTF8Order.less(right.text, left.text) : right.isToMany
            if isTurned { (left, right, comparison) = (right, left, mirrored) }
        }
        return nesting.predicate { outer, inner in
            .comparison(
                Query.Comparison(
                    isTurned ? .each(inner, outer) : .each(outer, inner), left.operand, comparison, right.operand,
                    ignoresCase: syntax.ignoresCase))
        }
    }

    private func checkTypes(_ left: OperandSide, _ right: OperandSide, at position: Int?) throws(QueryError) {
        guard left.type != right.type else { return }
        if case .scalar(let leftType) = left.type, case .scalar(let rightType) = right.type,
            leftType.isNumeric, rightType.isNumeric
        {
            return
        }
        throw QueryError(
            .typeMismatch,
            "unsupported comparison between type '\(left.typeName)' (\(left.name)) and type "
                + "'\(right.typeName)' (\(right.name))",
            at: position)
    }
}

extension OperandSide {
    /// A text search with a constant on its left and this side on its right.
    func reversedLeaf(
        _ constant: Constant, _ comparison: ComparisonOperator, _ quantifier: Query.Comparison.Quantifier,
        ignoresCase: Bool
    ) -> Query.Predicate {
        // The constant NULL contains nothing and is like nothing, not even NULL.
        guard case .exact(let value) = constant, !value.isNull else { return never(quantifier) }
        return .comparison(
            Query.Comparison(
                .each(.any, quantifier), .constant(ignoresCase ? value.folded : value), comparison, operand,
                ignoresCase: ignoresCase))
    }
}

extension ScalarType {
    package var isNumeric: Bool { self == .int || self == .float || self == .double || self == .decimal }
}

extension Value {
    /// Text with its case folded; any other value as it is.
    var folded: Value {
        if case .string(let text) = self { .string(CaseFolding.fold(text)) } else { self }
    }
}
