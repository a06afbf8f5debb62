internal import SluiceModel

/// Makes one IN of equalities that stand side by side: `a == 1 OR a IN {2, 3}`, and of inequalities its negation.
struct MembershipMerger {
    private struct Group: Hashable {
        let path: Query.Path
        let ignoresCase: Bool
    }

    private let isConjunction: Bool
    private var values: [Group: [Value]] = [:]
    private var others: [Query.Predicate] = []

    /// - Parameter isConjunction: whether the operands stand in an AND instead of an OR.
    static func merge(_ operands: [Query.Predicate], isConjunction: Bool) -> [Query.Predicate] {
        var merger = MembershipMerger(isConjunction: isConjunction)
        for operand in operands { merger.add(operand) }
        return merger.others
            + merger.values.map { group, values in
                let membership = Query.Predicate.membership(
                    .any, group.path, values, ignoresCase: group.ignoresCase)
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
        guard comparison.quantifier == .any, case .path(let path) = comparison.left, !isConjunction || !path.isToMany
        else {
            others.append(operand)
            return
        }
        let group = Group(path: path, ignoresCase: comparison.ignoresCase)
        switch comparison.right {
        case .constant(.null): others.append(operand)
        case .constant(let value): values[group, default: []].append(value)
        case .list(let list): values[group, default: []] += list
        case .path: others.append(operand)
        }
    }
}

extension Query.Predicate {
    /// Whether a path's values are among those given: an IN, an equality, or a constant. NULL becomes an equality
    /// beside.
    ///
    /// - Parameter values: of the path's type or null, in any order.
    static func membership(
        _ quantifier: Query.Comparison.Quantifier, _ path: Query.Path, _ values: [Value], ignoresCase: Bool
    ) -> Query.Predicate {
        let quantifier = path.isToMany ? quantifier : .any
        if quantifier == .any, values.count > 1, values.contains(where: \.isNull) {
            let others = values.filter { !$0.isNull }
            return .disjunction([
                membership(quantifier, path, [.null], ignoresCase: false),
                membership(quantifier, path, others, ignoresCase: ignoresCase),
            ])
        }
        guard case .set(let distinct) = Value.set(of: values) else { return .constant(false) }
        if distinct.isEmpty, quantifier == .any { return .constant(false) }
        let isSingle = distinct.count == 1
        return .comparison(
            Query.Comparison(
                quantifier: quantifier, left: .path(path), comparison: isSingle ? .equal : .isIn,
                ignoresCase: ignoresCase && !distinct.allSatisfy(\.isNull),
                right: isSingle ? .constant(distinct[0]) : .list(distinct)))
    }
}
