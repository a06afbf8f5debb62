internal import SluiceModel

extension Checker {
    /// Checks a comparison of a side with a list of constants on its right.
    func compare(
        _ side: OperandSide, _ literals: [LiteralSyntax], _ listQuantifier: PathSyntax.Quantifier?,
        _ syntax: ComparisonSyntax, at position: Int?
    ) throws(QueryError) -> Query.Predicate {
        if syntax.comparison == .between, let predicate = try betweenTimes(side, literals, syntax) { return predicate }
        let constants = try constants(literals, for: side, syntax, at: position)
        var comparison = syntax.comparison
        switch comparison {
        case .between: return try between(side, constants, at: position)
        // IN is equality with one of the constants.
        case .isIn: comparison = .equal
        default:
            if listQuantifier == nil, side.quantifier == nil, side.isToMany {
                return try wholes(side, constants, syntax, isListLeft: false)
            }
        }
        let nesting = Nesting(side.quantifier, listQuantifier)
        if !side.isToMany || nesting.commutes { try checkCount(constants, nesting.inner, comparison, at: position) }
        return nesting.predicate { outer, inner in
            side.compare(outer, comparison, constants, inner, ignoresCase: syntax.ignoresCase)
        }
    }

    /// Checks a comparison of a list of constants with a side on its right.
    func compare(
        _ literals: [LiteralSyntax], _ listQuantifier: PathSyntax.Quantifier?, _ side: OperandSide,
        _ syntax: ComparisonSyntax, at position: Int?
    ) throws(QueryError) -> Query.Predicate {
        var syntax = syntax
        switch syntax.comparison {
        case .between:
            throw QueryError(.syntax, "the operator BETWEEN takes no list on its left", at: position)
        case .isIn:
            guard side.isToMany else {
                throw QueryError(
                    .typeMismatch, "the keypath following 'IN' must contain a list; '\(side.text)' has none",
                    at: side.position)
            }
            syntax.comparison = .equal
        default: break
        }
        let constants = try constants(literals, for: side, syntax, at: position)
        if listQuantifier == nil, side.quantifier == nil, side.isToMany {
            return try wholes(side, constants, syntax, isListLeft: true)
        }
        let nesting = Nesting(listQuantifier, side.quantifier)
        let ignoresCase = syntax.ignoresCase
        if let mirrored = syntax.comparison.mirrored, nesting.commutes || !side.isToMany {
            try checkCount(constants, nesting.outer, mirrored, at: position)
            return nesting.predicate { outer, inner in
                side.compare(inner, mirrored, constants, outer, ignoresCase: ignoresCase)
            }
        }
        try checkCount(constants, nil, syntax.comparison, at: position)
        return nesting.predicate { outer, inner in
            let leaves = constants.map { constant in
                if let mirrored = syntax.comparison.mirrored {
                    side.leaf(inner, mirrored, constant, ignoresCase: ignoresCase)
                } else {
                    side.reversedLeaf(constant, syntax.comparison, inner, ignoresCase: ignoresCase)
                }
            }
            return outer == .all ? .conjunction(leaves) : .disjunction(leaves)
        }
    }

    /// Converts the constants of a list to the type of the side that it is compared with.
    private func constants(
        _ literals: [LiteralSyntax], for side: OperandSide, _ syntax: ComparisonSyntax, at position: Int?
    ) throws(QueryError) -> [Constant] {
        guard literals.count <= QueryLimits.listCountMax || !isLimited else {
            throw QueryError(
                .limitExceeded, "a list has more than \(QueryLimits.listCountMax) elements", at: position)
        }
        try checkOperator(syntax, on: side)
        var constants: [Constant] = []
        constants.reserveCapacity(literals.count)
        for literal in literals { constants.append(try constant(literal, for: side)) }
        return constants
    }

    /// Refuses a list that becomes more conditions than a query may have.
    ///
    /// - Parameter quantifier: the quantifier of the list; nil where each constant becomes a condition, whatever the
    ///   operator is.
    private func checkCount(
        _ constants: [Constant], _ quantifier: Query.Comparison.Quantifier?, _ comparison: ComparisonOperator,
        at position: Int?
    ) throws(QueryError) {
        switch (comparison, quantifier) {
        case (.equal, .any), (.notEqual, .all): return
        default: break
        }
        guard constants.count <= QueryLimits.nodeCountMax else {
            throw QueryError(
                .limitExceeded,
                "the operator \(comparison.rawValue) takes at most \(QueryLimits.nodeCountMax) elements of a list",
                at: position)
        }
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
}

extension OperandSide {
    /// Makes the predicate that any or all values of the side (`quantifier`) pass the comparison with any or all of the
    /// constants (`inner`).
    func compare(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator, _ constants: [Constant],
        _ inner: Query.Comparison.Quantifier, ignoresCase: Bool
    ) -> Query.Predicate {
        switch (comparison, inner) {
        case (.equal, .any): return membership(quantifier, constants, ignoresCase: ignoresCase)
        case (.notEqual, .all):
            return membership(quantifier.complement, constants, ignoresCase: ignoresCase).negated()
        default: break
        }
        guard !isToMany || quantifier == inner || constants.count <= 1 else {
            return nested(quantifier, comparison, constants, inner, ignoresCase: ignoresCase)
        }
        if constants.isEmpty { return inner == .all ? always(quantifier) : never(quantifier) }
        if !isToMany, inner == .any, comparison == .notEqual, Self.differs(constants, ignoresCase) {
            return .constant(true)
        }
        let leaves = constants.map { leaf(quantifier, comparison, $0, ignoresCase: ignoresCase) }
        return inner == .all ? .conjunction(leaves) : .disjunction(leaves)
    }

    /// Whether two of the constants are not equal, so that every value differs from one of them.
    private static func differs(_ constants: [Constant], _ ignoresCase: Bool) -> Bool {
        let values = constants.map { constant in
            if case .exact(let value) = constant { ignoresCase ? value.folded : value } else { Value.null }
        }
        return values.dropFirst().contains { $0 != values[0] }
    }

    private func membership(
        _ quantifier: Query.Comparison.Quantifier, _ constants: [Constant], ignoresCase: Bool
    ) -> Query.Predicate {
        let values = constants.compactMap { constant -> Value? in
            guard case .exact(let value) = constant, !value.isNull || canBeNull else { return nil }
            return ignoresCase ? value.folded : value
        }
        return .membership(quantifier, operand, values, ignoresCase: ignoresCase)
    }

    /// A comparison of every value with some constant, or of some value with every constant: simple comparisons under
    /// AND or OR cannot say that.
    private func nested(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator, _ constants: [Constant],
        _ inner: Query.Comparison.Quantifier, ignoresCase: Bool
    ) -> Query.Predicate {
        var values: [Value] = []
        var single: Constant?
        for constant in constants {
            var value = constant.value(under: comparison)
            switch constant {
            case .exact where ignoresCase: value = value?.folded
            // Only integers have such constants, and these doubles are beyond all integers.
            case .belowAll where comparison.isOrdering: value = .double(-1e19)
            case .aboveAll where comparison.isOrdering: value = .double(1e19)
            default: break
            }
            if let value {
                values.append(value)
                single = constant
            } else {
                // Every value differs from NaN, and from a number that no value equals; all other operators are false.
                let isTrue = comparison == .notEqual
                guard isTrue != (inner == .all) else { continue }
                return isTrue ? always(quantifier) : never(quantifier)
            }
        }
        guard let single else { return inner == .all ? always(quantifier) : never(quantifier) }
        if values.allSatisfy({ $0 == values[0] }) {
            return leaf(quantifier, comparison, single, ignoresCase: ignoresCase)
        }
        guard case .set(let distinct) = Value.set(of: values) else { return .constant(false) }
        return .comparison(
            Query.Comparison(
                .each(quantifier, inner), operand, comparison, .list(distinct), ignoresCase: ignoresCase))
    }
}
