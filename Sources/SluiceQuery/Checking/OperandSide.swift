internal import SluiceModel

/// A side of a comparison that reads properties.
struct OperandSide {
    let operand: Query.Comparison.Operand
    let type: Query.Path.ValueType
    let quantifier: PathSyntax.Quantifier?
    /// What messages call it: `Car.price`.
    let name: String
    let position: Int?

    var canBeNull: Bool { operand.canBeNull }

    var isToMany: Bool { operand.isToMany }

    /// The canonical text of the side, without a quantifier.
    var text: String { CanonicalText.operand(operand) }

    var typeName: String {
        switch type {
        case .scalar(let type): type.rawValue
        case .link: "link"
        }
    }

    /// Makes a predicate under the side's quantifier: ANY if none is written, the negation of ANY for NONE.
    func quantified(_ make: (Query.Comparison.Quantifier) -> Query.Predicate) -> Query.Predicate {
        switch quantifier {
        case .all: make(.all)
        case PathSyntax.Quantifier.none?: make(.any).negated()
        case .any, nil: make(.any)
        }
    }

    /// The comparison of the side with a constant on its right.
    func leaf(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator, _ constant: Constant,
        ignoresCase: Bool
    ) -> Query.Predicate {
        switch constant {
        case .notANumber: return comparison == .notEqual ? always(quantifier) : never(quantifier)
        case .between(let floor, _):
            switch comparison {
            case .notEqual: return always(quantifier)
            case .less, .lessOrEqual: return make(quantifier, .lessOrEqual, floor)
            case .greater, .greaterOrEqual: return make(quantifier, .greater, floor)
            default: return never(quantifier)
            }
        case .belowAll:
            switch comparison {
            case .notEqual: return always(quantifier)
            case .greater, .greaterOrEqual: return notNull(quantifier)
            default: return never(quantifier)
            }
        case .aboveAll:
            switch comparison {
            case .notEqual: return always(quantifier)
            case .less, .lessOrEqual: return notNull(quantifier)
            default: return never(quantifier)
            }
        case .exact(.null): return nullLeaf(quantifier, comparison)
        case .exact(let value):
            return leaf(quantifier, comparison, ignoresCase ? value.folded : value, ignoresCase: ignoresCase)
        }
    }

    private func nullLeaf(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator
    ) -> Query.Predicate {
        switch comparison {
        case .equal, .lessOrEqual, .greaterOrEqual, .like:
            canBeNull ? make(quantifier, .equal, .null) : never(quantifier)
        case .notEqual: notNull(quantifier)
        case .beginsWith, .endsWith, .contains: always(quantifier)
        case .less, .greater, .isIn, .between: never(quantifier)
        }
    }

    private func leaf(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator, _ value: Value, ignoresCase: Bool
    ) -> Query.Predicate {
        switch (comparison, value) {
        case (.like, .string(let pattern)):
            return like(quantifier, pattern, ignoresCase: ignoresCase)
        case (.beginsWith, .string("")), (.endsWith, .string("")), (.contains, .string("")),
            (.beginsWith, .data([])), (.endsWith, .data([])), (.contains, .data([])):
            return notNull(quantifier)
        case (.equal, _): return .membership(quantifier, operand, [value], ignoresCase: ignoresCase)
        default: return make(quantifier, comparison, value, ignoresCase: ignoresCase)
        }
    }

    /// Replaces LIKE by a simpler operator where the pattern allows that.
    private func like(
        _ quantifier: Query.Comparison.Quantifier, _ pattern: String, ignoresCase: Bool
    ) -> Query.Predicate {
        var scalars = String.UnicodeScalarView()
        for scalar in pattern.unicodeScalars where !(scalar == "*" && scalars.last == "*") { scalars.append(scalar) }
        let begins = scalars.first != "*"
        let ends = scalars.last != "*"
        var inner = scalars
        if !begins { inner.removeFirst() }
        if !ends, !inner.isEmpty { inner.removeLast() }
        if inner.contains(where: { $0 == "*" || $0 == "?" }) {
            return make(quantifier, .like, .string(String(scalars)), ignoresCase: ignoresCase)
        }
        let comparison: ComparisonOperator =
            switch (begins, ends) {
            case (true, true): .equal
            case (true, false): .beginsWith
            case (false, true): .endsWith
            case (false, false): .contains
            }
        return leaf(quantifier, comparison, .string(String(inner)), ignoresCase: ignoresCase)
    }

    // MARK: Leaves

    private func make(
        _ quantifier: Query.Comparison.Quantifier, _ comparison: ComparisonOperator, _ value: Value,
        ignoresCase: Bool = false
    ) -> Query.Predicate {
        .comparison(
            Query.Comparison(
                .each(quantifier, .any), operand, comparison, .constant(value), ignoresCase: ignoresCase
            ).canonicalBool)
    }

    /// The predicate that no value passes. Under ALL it is still true where there is no value.
    func never(_ quantifier: Query.Comparison.Quantifier) -> Query.Predicate {
        .membership(quantifier, operand, [], ignoresCase: false)
    }

    /// The predicate that every value passes. Under ANY it is still false where there is no value.
    func always(_ quantifier: Query.Comparison.Quantifier) -> Query.Predicate {
        guard isToMany, quantifier == .any else { return .constant(true) }
        return Query.Predicate.membership(.all, operand, [], ignoresCase: false).negated()
    }

    func notNull(_ quantifier: Query.Comparison.Quantifier) -> Query.Predicate {
        canBeNull ? make(quantifier, .notEqual, .null) : always(quantifier)
    }
}
