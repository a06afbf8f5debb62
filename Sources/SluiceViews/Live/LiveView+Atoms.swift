package import SluiceQuery

/// What the reader of a view may read of the queried class, as parts of an OR that other readers may have as well.
///
/// The view's results are those that the query has for a reader of one part or another.
package struct ReadAtoms {
    /// What the reader may read of other classes. Together with the query it says with whom atoms can be shared.
    package let rest: ReadContext
    /// The atoms: conditions on the queried class.
    package let conditions: [Query]

    /// What a reader may read who has one atom alone.
    package func context(of condition: Query) -> ReadContext? { rest.ruling(condition) }
}

extension LiveView {
    /// The atoms by which a change finds the view; nil if it has to be found as a whole.
    ///
    /// A view has atoms if it holds nothing, so that what an atom tells of a change is what the view would tell: it has
    /// no window or stages, and follows no links. No path of the query leads to a class with a condition, and no link
    /// shows only with its target: these conditions often differ where atoms are shared.
    ///
    /// - Complexity: linear in the text of the condition.
    package var atoms: ReadAtoms? {
        guard let rule = dividedRule, rule.alternativeCount > 1, let rest = query.context.closing(query.classIndex)
        else { return nil }
        return ReadAtoms(rest: rest, conditions: rule.alternatives)
    }

    /// How many atoms the view would have; 1 if it has to be found as a whole anyway.
    package var atomCount: Int { dividedRule?.alternativeCount ?? 1 }

    /// Whether what may be read of the queried class decides alone, object by object, what the view has of its matches.
    /// Such a view holds nothing.
    private var isDivisible: Bool {
        query.object == nil && !query.isPartial && !holdsMembers && !query.context.veilsLinks
            && shape.ruledClasses.isEmpty
    }

    private var dividedRule: Query? { isDivisible ? query.context.condition(ofClass: query.classIndex) : nil }

    /// Makes a view active that holds nothing, whatever the state is.
    package func activateWithoutReading() {
        precondition(!holdsMembers && query.object == nil, "the view has to be read")
        roots = .matches
        closure = nil
        isActive = true
    }
}
