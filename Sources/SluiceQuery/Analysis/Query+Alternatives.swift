internal import SluiceModel

extension Query {
    /// Conditions of which every result meets at least one, and which only results meet: the operands of an OR, where an
    /// IN with constants counts as one for each of them. Queries that have an alternative in common can share what they
    /// know of it.
    ///
    /// - Precondition: the query has no clauses.
    /// - Complexity: linear in the text's length.
    package var alternatives: [Query] {
        precondition(!isPartial && sort.isEmpty && exclusions.isEmpty && object == nil, "a query with clauses")
        let parts = operands.flatMap(\.members)
        guard parts.count > 1 else { return [self] }
        return parts.map { part in
            let form = QueryForm(
                className: className, classIndex: classIndex, predicate: part, clauses: CheckedClauses())
            let constants = part.constants
            return Query(
                form: form, constants: constants,
                hash: SHA256.truncatedID(of: Array(form.text(with: constants).utf8)), context: context)
        }
    }

    /// The number of ``alternatives``, found without making them.
    package var alternativeCount: Int { operands.reduce(0) { $0 + ($1.listed?.values.count ?? 1) } }

    private var operands: [Predicate] { if case .or(let operands) = predicate { operands } else { [predicate] } }
}

extension Query.Predicate {
    /// An IN where any value may match, with its constants.
    fileprivate var listed: (comparison: Query.Comparison, values: [Value])? {
        guard case .comparison(let comparison) = self, comparison.comparison == .isIn,
            comparison.relation == .each(.any, .any), case .list(let values) = comparison.right
        else { return nil }
        return (comparison, values)
    }

    /// The equalities that an IN stands for, where any value may match; any other condition itself.
    fileprivate var members: [Query.Predicate] {
        guard let (comparison, values) = listed else { return [self] }
        return values.map { .membership(.any, comparison.left, [$0], ignoresCase: comparison.ignoresCase) }
    }
}
