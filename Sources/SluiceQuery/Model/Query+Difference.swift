package import SluiceModel

extension Query {
    /// A query for the objects of a class that meet one condition and not another.
    ///
    /// Where both conditions are alternatives, those that they share are left out, and so are the elements that two
    /// lists share: what one reader may read and another may not is found by what differs.
    ///
    /// - Parameters:
    ///   - className: the class of both conditions.
    ///   - condition: the condition that is met; nil for every object.
    ///   - other: the condition that is not met; nil for every object.
    /// - Returns: nil if there can be no such object.
    package static func difference(
        on className: String, _ condition: Query?, butNot other: Query?, schema: Schema
    ) -> Query? {
        guard let other, let classIndex = schema.index(of: className),
            let surplus = surplus(of: condition, over: other)
        else { return nil }
        let predicate = Predicate.conjunction([surplus, other.predicate.negated()])
        if case .constant(false) = predicate { return nil }
        return Query(predicate, onClass: classIndex, className)
    }

    /// - Returns: nil if nothing can meet it.
    private static func surplus(of condition: Query?, over other: Query) -> Predicate? {
        guard condition?.key != other.key else { return nil }
        let others = other.predicate.alternatives
        let alternatives = (condition?.predicate ?? .constant(true)).alternatives.compactMap { $0.reduced(by: others) }
        let predicate = Predicate.disjunction(alternatives)
        if case .constant(false) = predicate { return nil }
        return predicate
    }

    /// A query of a condition that was checked already.
    init(
        _ predicate: Predicate, onClass classIndex: Int, _ className: String,
        _ clauses: CheckedClauses = CheckedClauses()
    ) {
        let form = QueryForm(className: className, classIndex: classIndex, predicate: predicate, clauses: clauses)
        let constants = predicate.constants
        let text = form.text(with: constants)
        self.init(form: form, constants: constants, hash: SHA256.truncatedID(of: Array(text.utf8)))
    }
}

extension Query.Predicate {
    fileprivate var alternatives: [Query.Predicate] { if case .or(let operands) = self { operands } else { [self] } }

    /// An alternative without what others cover; nil if nothing is left. Together with "none of the others" it means
    /// the same.
    fileprivate func reduced(by others: [Query.Predicate]) -> Query.Predicate? {
        if case .constant(false) = self { return nil }
        let text = CanonicalText.predicate(self)
        if others.contains(where: { CanonicalText.predicate($0) == text }) { return nil }
        guard case .comparison(let comparison) = self, comparison.comparison == .isIn,
            comparison.relation == .each(.any, .any), constants.count == 1, case .list(var elements) = comparison.right
        else { return self }
        let parts = CanonicalText.parts(of: self)
        let count = elements.count
        for case .comparison(let other) in others where other.comparison == .isIn && other.relation == .each(.any, .any)
        {
            let predicate = Query.Predicate.comparison(other)
            guard predicate.constants.count == 1, case .list(let covered) = other.right,
                CanonicalText.parts(of: predicate) == parts
            else { continue }
            let known = Set(covered)
            elements.removeAll { known.contains($0) }
        }
        if elements.isEmpty { return nil }
        return elements.count == count ? self : replacingConstants(by: [.list(elements)])
    }
}
