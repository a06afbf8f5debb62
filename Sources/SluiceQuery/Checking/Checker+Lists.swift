internal import SluiceModel

extension Checker {
    /// A path and a list of constants.
    func compare(
        _ side: PathSide, _ literals: [LiteralSyntax], _ listQuantifier: PathSyntax.Quantifier?,
        _ syntax: ComparisonSyntax, at position: Int?
    ) throws(QueryError) -> Query.Predicate {
        guard literals.count <= QueryLimits.listCountMax else {
            throw QueryError(
                .limitExceeded, "a list has more than \(QueryLimits.listCountMax) elements", at: position)
        }
        try checkOperator(syntax, on: side)
        var constants: [Constant] = []
        constants.reserveCapacity(literals.count)
        for literal in literals { constants.append(try constant(literal, for: side.path, named: side.name)) }
        let ignoresCase = syntax.ignoresCase
        switch (syntax.comparison, listQuantifier) {
        case (.between, _): return try between(side, constants, at: position)
        case (.equal, nil), (.notEqual, nil):
            if side.quantifier == nil, case .elements = side.path.leaf {
                throw QueryError(
                    .unsupported,
                    "comparing the whole collection '\(side.path.text)' with a list is not supported yet; ANY "
                        + "and ALL compare its elements",
                    at: syntax.position)
            }
        case (.isIn, .all?), (.isIn, PathSyntax.Quantifier.none?):
            throw QueryError(.unsupported, "IN takes a list without ALL or NONE", at: position)
        default: break
        }
        switch (syntax.comparison, listQuantifier ?? .any) {
        case (.isIn, _), (.equal, .any): return membership(side, constants, ignoresCase: ignoresCase)
        case (.equal, .none): return membership(side, constants, ignoresCase: ignoresCase).negated()
        case (let comparison, let quantifier):
            // For every value some constant, or for some value every constant, is no AND or OR of comparisons.
            let isAll = quantifier == .all
            guard constants.count <= 1 || !side.path.isToMany || (side.quantifier == .all) == isAll else {
                throw QueryError(
                    .unsupported, "comparing a collection in this way with a list is not supported yet", at: position)
            }
            guard constants.count <= QueryLimits.nodeCountMax else {
                throw QueryError(
                    .limitExceeded,
                    "the operator \(comparison.rawValue) takes at most \(QueryLimits.nodeCountMax) elements of a list",
                    at: position)
            }
            let result = side.quantified { own in
                let leaves = constants.map { side.leaf(own, comparison, $0, ignoresCase: ignoresCase) }
                if !side.path.isToMany, !isAll, comparison == .notEqual, differs(constants) { return .constant(true) }
                return isAll ? .conjunction(leaves) : .disjunction(leaves)
            }
            return quantifier == .none ? result.negated() : result
        }
    }

    /// Whether every value differs from one of the constants: two of them are not equal.
    private func differs(_ constants: [Constant]) -> Bool {
        let values = constants.map { constant in
            if case .exact(let value) = constant { value } else { Value.null }
        }
        return values.dropFirst().contains { $0 != values[0] }
    }

    private func membership(_ side: PathSide, _ constants: [Constant], ignoresCase: Bool) -> Query.Predicate {
        let values = constants.compactMap { constant -> Value? in
            guard case .exact(let value) = constant, !value.isNull || side.path.canBeNull else { return nil }
            return ignoresCase ? value.folded : value
        }
        return side.quantified { .membership($0, side.path, values, ignoresCase: ignoresCase) }
    }

    private func between(
        _ side: PathSide, _ constants: [Constant], at position: Int?
    ) throws(QueryError) -> Query.Predicate {
        guard constants.count == 2 else {
            throw QueryError(
                .typeMismatch, "BETWEEN needs a list of exactly two values; this one has \(constants.count)",
                at: position)
        }
        guard !side.path.isToMany || side.quantifier == .all else {
            throw QueryError(
                .typeMismatch, "BETWEEN works on a collection with ALL only; '\(side.path.text)' is one",
                at: side.position)
        }
        for constant in constants {
            if case .exact(.null) = constant {
                throw QueryError(.typeMismatch, "BETWEEN needs two values; one of these is NULL", at: position)
            }
        }
        if !side.path.isToMany, case .exact(let low) = constants[0], case .exact(let high) = constants[1], high < low {
            return .constant(false)
        }
        return side.quantified { quantifier in
            .conjunction([
                side.leaf(quantifier, .greaterOrEqual, constants[0], ignoresCase: false),
                side.leaf(quantifier, .lessOrEqual, constants[1], ignoresCase: false),
            ])
        }
    }
}
