internal import SluiceModel

/// Comparisons with `$now`.
extension Checker {
    /// Checks a comparison of a side with `$now` on its right.
    ///
    /// What passes with time has to be found by an index of the property, so the side is a date property of an object:
    /// of the queried one, or of one that links lead to.
    func compare(
        _ side: OperandSide, now offset: Int64, _ literal: LiteralSyntax, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        guard side.type == .scalar(.date) else {
            throw QueryError(
                .typeMismatch,
                "unsupported comparison between type '\(side.typeName)' (\(side.name)) and '$now', which is a date",
                at: literal.position)
        }
        guard case .path(let path) = side.operand, case .value = path.leaf else {
            throw Self.misplacedNow("'\(side.text)'", literal)
        }
        guard offset.magnitude <= UInt64(TimeSpan.max) else {
            throw QueryError(
                .limitExceeded, "a time is at most 36500d before or after $now", at: literal.position)
        }
        guard syntax.comparison.isOrdering, !syntax.ignoresCase else {
            throw QueryError(
                .typeMismatch,
                "operator '\(syntax.comparison.rawValue)' not supported for '$now', which passes at once; compare by "
                    + "< <= > >= or BETWEEN", at: syntax.position)
        }
        return side.quantified { quantifier in
            .comparison(
                Query.Comparison(
                    .each(quantifier, .any), side.operand, syntax.comparison, .now(offset: offset), ignoresCase: false))
        }
    }

    /// Checks BETWEEN with `$now` in its list; nil if it is not there.
    func betweenTimes(
        _ side: OperandSide, _ literals: [LiteralSyntax], _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate? {
        guard literals.contains(where: { if case .now = $0.kind { true } else { false } }), literals.count == 2 else {
            return nil
        }
        guard !side.isToMany || side.quantifier == .all else {
            throw QueryError(
                .typeMismatch, "BETWEEN works on a collection with ALL only; '\(side.text)' is one", at: side.position)
        }
        var ends: [Query.Predicate] = []
        for (literal, comparison) in zip(literals, [ComparisonOperator.greaterOrEqual, .lessOrEqual]) {
            if case .value(.null) = literal.kind {
                throw QueryError(
                    .typeMismatch, "BETWEEN needs two values; one of these is NULL", at: literal.position)
            }
            var end = syntax
            end.comparison = comparison
            ends.append(try compare(side, literal, end))
        }
        return .conjunction(ends)
    }

    /// The error for a comparison of `$now` with what is no date property.
    static func misplacedNow(_ what: String, _ literal: LiteralSyntax) -> QueryError {
        QueryError(
            .typeMismatch,
            "'$now' compares with a date property of an object by < <= > >= and BETWEEN, not with \(what)",
            at: literal.position)
    }
}
