internal import FoundationEssentials
package import SluiceModel

/// Alternatives that fix the values of the same paths, such as `(a == 1 AND b == 2) OR (a == 3 AND b == 4)`, as one
/// condition: the tuple of the paths' values is in a list of tuples.
///
/// Looking up a tuple costs O(log n) for n alternatives, testing them one after another O(n). The negation, `(a != 1 OR
/// b != 2) AND (a != 3 OR b != 4)`, is the same list under NOT.
package struct TupleMembership {
    /// Paths with one value each.
    package let paths: [Query.Path]
    /// The tuples, sorted: a value for each path, never null.
    package let tuples: [[Value]]

    /// With fewer alternatives, testing one after another costs no more.
    private static let countMin = 4

    /// Separates such alternatives among the operands of OR, or their negations among the operands of AND, from the
    /// other operands.
    ///
    /// - Returns: the memberships, which are operands of the OR, or whose negations are operands of the AND; and the
    ///   other operands.
    package static func split(
        _ operands: [Query.Predicate], isConjunction: Bool
    ) -> (memberships: [TupleMembership], others: [Query.Predicate]) {
        guard operands.count >= countMin else { return ([], operands) }
        var groups: [String: (paths: [Query.Path], members: [(tuple: [Value], operand: Query.Predicate)])] = [:]
        var others: [Query.Predicate] = []
        for operand in operands {
            guard let terms = terms(of: operand, isConjunction: isConjunction) else {
                others.append(operand)
                continue
            }
            let name = terms.map { "\($0.path.scope):\($0.path.text)" }.joined(separator: ",")
            groups[name, default: (terms.map(\.path), [])].members.append((terms.map(\.value), operand))
        }
        var memberships: [TupleMembership] = []
        for (_, group) in groups.sorted(by: { UTF8Order.less($0.key, $1.key) }) {
            if group.members.count < countMin {
                others += group.members.map(\.operand)
            } else {
                memberships.append(
                    TupleMembership(paths: group.paths, tuples: group.members.map(\.tuple).sorted(by: precedes)))
            }
        }
        return (memberships, others)
    }

    /// The values that an alternative fixes, in the order of their paths; nil if it has any other condition.
    private static func terms(
        of operand: Query.Predicate, isConjunction: Bool
    ) -> [(path: Query.Path, value: Value)]? {
        let parts: [Query.Predicate]
        switch operand {
        case .and(let inner) where !isConjunction: parts = inner
        case .or(let inner) where isConjunction: parts = inner
        default: return nil
        }
        var terms: [(path: Query.Path, value: Value)] = []
        for part in parts {
            guard case .comparison(let comparison) = part,
                comparison.comparison == (isConjunction ? .notEqual : .equal), !comparison.ignoresCase,
                case .path(let path) = comparison.left, !path.isToMany, case .scalar = path.type,
                case .constant(let value) = comparison.right, value.isListable
            else { return nil }
            terms.append((path, value))
        }
        return terms.sorted { left, right in
            (left.path.scope, left.path.text) != (right.path.scope, right.path.text)
                ? left.path.scope != right.path.scope
                    ? left.path.scope < right.path.scope : UTF8Order.less(left.path.text, right.path.text)
                : Value.compare(left.value, right.value) < 0
        }
    }

    private static func precedes(_ left: [Value], _ right: [Value]) -> Bool {
        for (own, other) in zip(left, right) {
            let order = Value.compare(own, other)
            if order != 0 { return order < 0 }
        }
        return false
    }
}

extension Value {
    /// Whether being equal to this value means the same as being in a list that has it.
    fileprivate var isListable: Bool {
        switch self {
        case .bool, .int, .string, .data, .date, .uuid, .objectID: true
        case .float(let number): !number.isNaN
        case .double(let number): !number.isNaN
        case .decimal(let number): !number.isNaN
        case .null, .link, .list, .set, .map: false
        }
    }
}
