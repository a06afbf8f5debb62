/// Two quantifiers within each other by ANY and ALL alone: NONE is NOT ANY, wherever it stands.
struct Nesting {
    let outer: Query.Comparison.Quantifier
    let inner: Query.Comparison.Quantifier
    let isNegated: Bool

    /// - Parameters:
    ///   - outer: the quantifier of the left side; ANY if nil.
    ///   - inner: the quantifier of the right side; ANY if nil.
    init(_ outer: PathSyntax.Quantifier?, _ inner: PathSyntax.Quantifier?) {
        var isNegated = outer == PathSyntax.Quantifier.none
        var own: Query.Comparison.Quantifier = outer == .all ? .all : .any
        if inner == PathSyntax.Quantifier.none {
            // Some has none: not all have any.
            own = own.complement
            isNegated.toggle()
        }
        self.outer = own
        self.inner = inner == .all ? .all : .any
        self.isNegated = isNegated
    }

    /// Whether it does not matter which side is outside.
    var commutes: Bool { outer == inner }

    /// The predicate of the two quantifiers, negated as they say.
    func predicate(
        _ make: (Query.Comparison.Quantifier, Query.Comparison.Quantifier) -> Query.Predicate
    ) -> Query.Predicate {
        let predicate = make(outer, inner)
        return isNegated ? predicate.negated() : predicate
    }
}
