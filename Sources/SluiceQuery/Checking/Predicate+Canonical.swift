internal import SluiceModel

/// Constructors that keep predicates canonical.
extension Query.Predicate {
    /// All of the operands.
    static func conjunction(_ operands: [Query.Predicate]) -> Query.Predicate {
        combine(operands, neutral: true)
    }

    /// At least one of the operands.
    static func disjunction(_ operands: [Query.Predicate]) -> Query.Predicate {
        combine(operands, neutral: false)
    }

    private static func combine(_ operands: [Query.Predicate], neutral: Bool) -> Query.Predicate {
        var flat: [Query.Predicate] = []
        for operand in operands {
            switch operand {
            case .constant(let isTrue): if isTrue != neutral { return operand }
            case .and(let inner) where neutral, .or(let inner) where !neutral: flat += inner
            default: flat.append(operand)
            }
        }
        var texts: [(text: String, predicate: Query.Predicate)] = MembershipMerger.merge(flat, isConjunction: neutral)
            .map { (CanonicalText.predicate($0), $0) }
        texts.sort { UTF8Order.less($0.text, $1.text) }
        var distinct: [(text: String, predicate: Query.Predicate)] = []
        for element in texts where distinct.last.map({ !UTF8Order.equal($0.text, element.text) }) ?? true {
            distinct.append(element)
        }
        let result = distinct.map(\.predicate)
        switch result.count {
        case 0: return .constant(neutral)
        case 1: return result[0]
        default: return neutral ? .and(result) : .or(result)
        }
    }

    /// The predicate that is true exactly when this one is false, with NOT pushed down to the comparisons.
    ///
    /// Comparisons are two-valued: `a < 5` is false for null and for NaN, and so is `a >= 5`. An ordering is therefore
    /// replaced by its opposite only where neither can occur.
    func negated() -> Query.Predicate {
        switch self {
        case .constant(let isTrue): .constant(!isTrue)
        case .not(let comparison): .comparison(comparison)
        case .and(let operands): .disjunction(operands.map { $0.negated() })
        case .or(let operands): .conjunction(operands.map { $0.negated() })
        case .comparison(let comparison): comparison.complement.map { .comparison($0) } ?? .not(comparison)
        }
    }

    /// How deeply parentheses are nested in the canonical text.
    var parenthesesDepth: Int {
        switch self {
        case .constant: 0
        case .comparison(let comparison): comparison.parenthesesDepth
        case .not(let comparison): comparison.parenthesesDepth + 1
        case .or(let operands): operands.map(\.parenthesesDepth).max() ?? 0
        case .and(let operands):
            operands.map { operand in
                if case .or = operand { operand.parenthesesDepth + 1 } else { operand.parenthesesDepth }
            }.max() ?? 0
        }
    }
}

extension Query.Comparison {
    /// The comparison that is true exactly when this one is false; nil if there is none.
    var complement: Query.Comparison? {
        guard let complement = comparison.complement else { return nil }
        let isEquality = comparison == .equal || comparison == .notEqual
        switch relation {
        case .each(let own, let other):
            guard isEquality || left.isTotallyOrdered && right.isTotallyOrdered else { return nil }
            return Query.Comparison(
                .each(own.complement, other.complement), left, complement, right, ignoresCase: ignoresCase
            ).canonicalBool
        case .inOrder, .asSets:
            // Lists of different lengths are neither less, equal nor greater, so an ordering has no opposite.
            guard isEquality else { return nil }
            return Query.Comparison(relation, left, complement, right, ignoresCase: ignoresCase)
        }
    }

    /// The same comparison with `== false` in place of `!= true`, and the reverse, where a bool cannot be null.
    var canonicalBool: Query.Comparison {
        guard comparison == .notEqual, case .path(let path) = left, !path.canBeNull,
            case .constant(.bool(let value)) = right
        else { return self }
        return Query.Comparison(relation, left, .equal, .constant(.bool(!value)), ignoresCase: false)
    }
}

extension Query.Comparison {
    fileprivate var parenthesesDepth: Int { max(left.parenthesesDepth, right.parenthesesDepth) }
}

extension Query.Comparison.Operand {
    /// Whether an operand of arithmetic needs parentheses.
    func needsParentheses(in operation: ArithmeticOperator, isRight: Bool) -> Bool {
        guard case .arithmetic(let own, _, _, _) = self else { return false }
        return own.bindsTighter == operation.bindsTighter ? isRight : operation.bindsTighter
    }

    fileprivate var parenthesesDepth: Int {
        switch self {
        case .constant, .list, .now: return 0
        case .path(let path):
            guard case .subquery(let subquery) = path.leaf else { return 0 }
            return subquery.predicate.parenthesesDepth + 1
        case .arithmetic(let operation, let left, let right, _):
            return max(
                left.parenthesesDepth + (left.needsParentheses(in: operation, isRight: false) ? 1 : 0),
                right.parenthesesDepth + (right.needsParentheses(in: operation, isRight: true) ? 1 : 0))
        }
    }
}

extension ArithmeticOperator {
    fileprivate var bindsTighter: Bool { self == .multiply || self == .divide }

    /// Whether the operands may change places.
    var isCommutative: Bool { self == .add || self == .multiply }
}
