internal import SluiceModel

/// Merges the equalities of one operand under OR, such as `a == 1 OR a IN {2, 3}`, into one IN, and its inequalities
/// under AND into the negation of one.
struct MembershipMerger {
    private struct Group {
        let operand: Query.Comparison.Operand
        let ignoresCase: Bool
        var values: [Value]
    }

    private let isConjunction: Bool
    private var groups: [Group] = []
    private var positions: [[UInt8]: Int] = [:]
    private var others: [Query.Predicate] = []

    /// - Parameter isConjunction: whether the operands are those of an AND instead of an OR.
    static func merge(_ operands: [Query.Predicate], isConjunction: Bool) -> [Query.Predicate] {
        var merger = MembershipMerger(isConjunction: isConjunction)
        for operand in operands { merger.add(operand) }
        return merger.others
            + merger.groups.map { group in
                let membership = Query.Predicate.membership(
                    .any, group.operand, group.values, ignoresCase: group.ignoresCase)
                return isConjunction ? membership.negated() : membership
            }
    }

    private init(isConjunction: Bool) { self.isConjunction = isConjunction }

    private mutating func add(_ operand: Query.Predicate) {
        let comparison: Query.Comparison
        switch (operand, isConjunction) {
        case (.comparison(let own), false) where own.comparison == .equal || own.comparison == .isIn: comparison = own
        case (.comparison(let own), true) where own.comparison == .notEqual: comparison = own
        case (.not(let own), true) where own.comparison == .isIn: comparison = own
        default:
            others.append(operand)
            return
        }
        guard comparison.quantifier == .any, !isConjunction || !comparison.left.isToMany else {
            others.append(operand)
            return
        }
        switch comparison.right {
        case .constant(.null), .constant(.list), .constant(.set), .path, .arithmetic, .now: others.append(operand)
        case .constant(let value): add([value], to: comparison)
        case .list(let list) where comparison.comparison == .isIn: add(list, to: comparison)
        case .list: others.append(operand)
        }
    }

    private mutating func add(_ values: [Value], to comparison: Query.Comparison) {
        let text = Array((CanonicalText.operand(comparison.left, "ANY ") + (comparison.ignoresCase ? " [c]" : "")).utf8)
        if let position = positions[text] {
            groups[position].values += values
        } else {
            positions[text] = groups.count
            groups.append(Group(operand: comparison.left, ignoresCase: comparison.ignoresCase, values: values))
        }
    }
}

extension Query.Predicate {
    /// The predicate that values of a side are among those given: an IN, an equality, or a constant. NULL becomes an
    /// equality of its own.
    ///
    /// - Parameter values: of the side's type or null, in any order.
    static func membership(
        _ quantifier: Query.Comparison.Quantifier, _ operand: Query.Comparison.Operand, _ values: [Value],
        ignoresCase: Bool
    ) -> Query.Predicate {
        let quantifier = operand.isToMany ? quantifier : .any
        if quantifier == .any, values.count > 1, values.contains(where: \.isNull) {
            let others = values.filter { !$0.isNull }
            return .disjunction([
                membership(quantifier, operand, [.null], ignoresCase: false),
                membership(quantifier, operand, others, ignoresCase: ignoresCase),
            ])
        }
        guard case .set(let distinct) = Value.set(of: values) else { return .constant(false) }
        if distinct.isEmpty, quantifier == .any { return .constant(false) }
        let isSingle = distinct.count == 1
        return .comparison(
            Query.Comparison(
                .each(quantifier, .any), operand, isSingle ? .equal : .isIn,
                isSingle ? .constant(distinct[0]) : .list(distinct),
                ignoresCase: ignoresCase && !distinct.allSatisfy(\.isNull)))
    }
}
