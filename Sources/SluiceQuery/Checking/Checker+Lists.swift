internal import SluiceModel

extension Checker {
    /// A side and a list of constants.
    func compare(
        _ side: OperandSide, _ literals: [LiteralSyntax], _ listQuantifier: PathSyntax.Quantifier?,
        _ syntax: ComparisonSyntax, at position: Int?
    ) throws(QueryError) -> Query.Predicate {
        guard literals.count <= QueryLimits.listCountMax else {
            throw QueryError(
                .limitExceeded, "a list has more than \(QueryLimits.listCountMax) elements", at: position)
        }
        try checkOperator(syntax, on: side)
        var constants: [Constant] = []
        constants.reserveCapacity(literals.count)
        for literal in literals { constants.append(try constant(literal, for: side)) }
        let ignoresCase = syntax.ignoresCase
        switch (syntax.comparison, listQuantifier) {
        case (.between, _): return try between(side, constants, at: position)
        case (_, nil) where syntax.comparison != .isIn && side.whole != nil:
            return try compareWhole(side, constants, syntax)
        case (.isIn, .all?), (.isIn, PathSyntax.Quantifier.none?):
            throw QueryError(.typeMismatch, "IN takes a list without ALL or NONE", at: position)
        default: break
        }
        switch (syntax.comparison, listQuantifier ?? .any) {
        case (.isIn, _), (.equal, .any): return membership(side, constants, ignoresCase: ignoresCase)
        case (.equal, .none): return membership(side, constants, ignoresCase: ignoresCase).negated()
        case (let comparison, let quantifier):
            let isAll = quantifier == .all
            if constants.count > 1, side.isToMany, (side.quantifier == .all) != isAll {
                // For every value some constant, or for some value every constant, is no AND or OR of comparisons.
                let result = side.quantified {
                    side.compare($0, comparison, constants, isAll: isAll, ignoresCase: ignoresCase)
                }
                return quantifier == .none ? result.negated() : result
            }
            guard constants.count <= QueryLimits.nodeCountMax else {
                throw QueryError(
                    .limitExceeded,
                    "the operator \(comparison.rawValue) takes at most \(QueryLimits.nodeCountMax) elements of a list",
                    at: position)
            }
            let result = side.quantified { own in
                if constants.isEmpty { return isAll ? side.always(own) : side.never(own) }
                let leaves = constants.map { side.leaf(own, comparison, $0, ignoresCase: ignoresCase) }
                if !side.isToMany, !isAll, comparison == .notEqual, differs(constants, ignoresCase) {
                    return .constant(true)
                }
                return isAll ? .conjunction(leaves) : .disjunction(leaves)
            }
            return quantifier == .none ? result.negated() : result
        }
    }

    /// Whether every value differs from one of the constants: two of them are not equal.
    private func differs(_ constants: [Constant], _ ignoresCase: Bool) -> Bool {
        let values = constants.map { constant in
            if case .exact(let value) = constant { ignoresCase ? value.folded : value } else { Value.null }
        }
        return values.dropFirst().contains { $0 != values[0] }
    }

    private func membership(_ side: OperandSide, _ constants: [Constant], ignoresCase: Bool) -> Query.Predicate {
        let values = constants.compactMap { constant -> Value? in
            guard case .exact(let value) = constant, !value.isNull || side.canBeNull else { return nil }
            return ignoresCase ? value.folded : value
        }
        return side.quantified { .membership($0, side.operand, values, ignoresCase: ignoresCase) }
    }

    private func between(
        _ side: OperandSide, _ constants: [Constant], at position: Int?
    ) throws(QueryError) -> Query.Predicate {
        guard constants.count == 2 else {
            throw QueryError(
                .typeMismatch, "BETWEEN needs a list of exactly two values; this one has \(constants.count)",
                at: position)
        }
        guard !side.isToMany || side.quantifier == .all else {
            throw QueryError(
                .typeMismatch, "BETWEEN works on a collection with ALL only; '\(side.text)' is one",
                at: side.position)
        }
        for constant in constants {
            if case .exact(.null) = constant {
                throw QueryError(.typeMismatch, "BETWEEN needs two values; one of these is NULL", at: position)
            }
        }
        if !side.isToMany, case .exact(let low) = constants[0], case .exact(let high) = constants[1], high < low {
            return .constant(false)
        }
        return side.quantified { quantifier in
            .conjunction([
                side.leaf(quantifier, .greaterOrEqual, constants[0], ignoresCase: false),
                side.leaf(quantifier, .lessOrEqual, constants[1], ignoresCase: false),
            ])
        }
    }

    private func compareWhole(
        _ side: OperandSide, _ constants: [Constant], _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        guard let whole = side.whole else { return .constant(false) }
        let container = schema[whole.path.leafClass].properties[whole.property].type.container
        guard container != .map else {
            throw QueryError(
                .typeMismatch, "a map ('\(side.text)') does not compare as a whole; ANY and ALL compare its values",
                at: syntax.position)
        }
        try checkWhole(syntax, side)
        var values: [Value] = []
        for constant in constants {
            // What no element can equal makes the lists differ.
            guard case .exact(let value) = constant else { return .constant(syntax.comparison == .notEqual) }
            values.append(value)
        }
        return .comparison(
            Query.Comparison(
                quantifier: .any, left: .path(whole.path), comparison: syntax.comparison, ignoresCase: false,
                right: .constant(container == .set ? .set(of: values) : .list(values))))
    }
}

extension OperandSide {
    /// The comparison of many values with several constants: with every one, or with at least one.
    fileprivate func compare(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator, _ constants: [Constant],
        isAll: Bool, ignoresCase: Bool
    ) -> Query.Predicate {
        var values: [Value] = []
        var single: Constant?
        for constant in constants {
            var value = constant.value(under: comparison)
            switch constant {
            case .exact where ignoresCase: value = value?.folded
            // Doubles beyond all integers, which alone have such constants.
            case .belowAll where comparison.isOrdering: value = .double(-1e19)
            case .aboveAll where comparison.isOrdering: value = .double(1e19)
            default: break
            }
            if let value {
                values.append(value)
                single = constant
            } else {
                // Everything differs from NaN and from what no value equals, and nothing else is true of it.
                let isTrue = comparison == .notEqual
                guard isTrue != isAll else { continue }
                return isTrue ? always(quantifier) : never(quantifier)
            }
        }
        guard let single else { return isAll ? always(quantifier) : never(quantifier) }
        if isAll, comparison == .notEqual, !canBeNull { values.removeAll(where: \.isNull) }
        if values.allSatisfy({ $0 == values[0] }) {
            return leaf(quantifier, comparison, single, ignoresCase: ignoresCase)
        }
        if isAll, comparison == .notEqual {
            let membership = Query.Predicate.membership(
                quantifier == .any ? .all : .any, operand, values, ignoresCase: ignoresCase)
            return membership.negated()
        }
        guard case .set(let distinct) = Value.set(of: values) else { return .constant(false) }
        return .comparison(
            Query.Comparison(
                quantifier: quantifier, left: operand, comparison: comparison, ignoresCase: ignoresCase,
                right: .list(distinct), rightQuantifier: isAll ? .all : .any))
    }
}
