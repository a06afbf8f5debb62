/// Two nested quantifiers, expressed by ANY, ALL and a negation: NONE is NOT ANY, on either side.
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
            // ANY … NONE: some value on the left has none on the right, so not all have any.
            own = own.complement
            isNegated.toggle()
        }
        self.outer = own
        self.inner = inner == .all ? .all : .any
        self.isNegated = isNegated
    }

    /// Whether the two quantifiers can change places.
    var commutes: Bool { outer == inner }

    /// Makes a predicate of the two quantifiers, negated where they say so.
    func predicate(
        _ make: (Query.Comparison.Quantifier, Query.Comparison.Quantifier) -> Query.Predicate
    ) -> Query.Predicate {
        let predicate = make(outer, inner)
        return isNegated ? predicate.negated() : predicate
    }
}
