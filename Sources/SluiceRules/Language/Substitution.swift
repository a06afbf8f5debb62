internal import SluiceQuery

/// Replaces the variables of a condition by their values.
///
/// A comparison with a variable that has no value never matches, under NOT too: it becomes false, or under an odd number
/// of negations true. So does a whole comparison of which a subquery inside has such a variable.
struct Substitution {
    let value: (VariableSyntax) -> RuleValue
    /// Whether a comparison with values fits the types of what it reads. One that does not never matches.
    var fits: (ComparisonSyntax) -> Bool = { _ in true }

    func predicate(_ predicate: PredicateSyntax, isNegated: Bool = false) -> PredicateSyntax {
        switch predicate {
        case .constant: predicate
        case .not(let operand): .not(self.predicate(operand, isNegated: !isNegated))
        case .and(let operands): .and(operands.map { self.predicate($0, isNegated: isNegated) })
        case .or(let operands): .or(operands.map { self.predicate($0, isNegated: isNegated) })
        case .comparison(let comparison): self.comparison(comparison, isNegated: isNegated)
        }
    }

    private func comparison(_ comparison: ComparisonSyntax, isNegated: Bool) -> PredicateSyntax {
        if let (variable, isTrueWithout) = comparison.presenceTest {
            switch value(variable) {
            case .unset: return .constant(isTrueWithout)
            case .unknown: return .constant(isNegated)
            case .one, .many, .members: return .constant(!isTrueWithout)
            }
        }
        let needed = comparison.neededVariables
        guard !needed.isEmpty || !comparison.variables.isEmpty else { return .comparison(comparison) }
        guard needed.allSatisfy({ value($0).hasValue }) else { return .constant(isNegated) }
        var bound = comparison
        bound.left = expression(comparison.left, isBesideObject: comparison.readsObjects)
        bound.right = expression(comparison.right, isBesideObject: comparison.readsObjects)
        return fits(bound) ? .comparison(bound) : .constant(isNegated)
    }

    private func expression(_ expression: ExpressionSyntax, isBesideObject: Bool) -> ExpressionSyntax {
        switch expression {
        case .path: return expression
        case .literal(let literal):
            guard let variable = literal.variable else { return expression }
            let value = value(variable)
            let literals = value.literals(isBesideObject: isBesideObject)
                .map { LiteralSyntax($0, position: literal.position) }
            return value.isList || literals.isEmpty
                ? .list(literals, position: literal.position) : .literal(literals[0])
        case .list(let literals, let quantifier, let position):
            let elements = literals.flatMap { literal in
                literal.variable.map { variable in
                    value(variable).literals(isBesideObject: isBesideObject)
                        .map { LiteralSyntax($0, position: literal.position) }
                } ?? [literal]
            }
            return .list(elements, quantifier: quantifier, position: position)
        case .arithmetic(var arithmetic):
            arithmetic.left = self.expression(arithmetic.left, isBesideObject: isBesideObject)
            arithmetic.right = self.expression(arithmetic.right, isBesideObject: isBesideObject)
            return .arithmetic(arithmetic)
        case .subquery(var subquery):
            subquery.predicate = Substitution(value: value).predicate(subquery.predicate)
            return .subquery(subquery)
        }
    }
}

extension ComparisonSyntax {
    /// The variables that the comparison names, each once.
    var variables: [VariableSyntax] { PredicateSyntax.comparison(self).variables }

    /// The variables without whose values the comparison never matches: all but those that it, or a condition inside a
    /// subquery, asks only whether they have a value.
    var neededVariables: [VariableSyntax] {
        presenceTest == nil ? left.neededVariables + right.neededVariables : []
    }
}

extension ExpressionSyntax {
    fileprivate var neededVariables: [VariableSyntax] {
        switch self {
        case .path: return []
        case .literal(let literal): return literal.variable.map { [$0] } ?? []
        case .list(let literals, _, _): return literals.compactMap(\.variable)
        case .arithmetic(let arithmetic): return arithmetic.left.neededVariables + arithmetic.right.neededVariables
        case .subquery(let subquery):
            var needed: [VariableSyntax] = []
            subquery.predicate.forEachComparison { needed += $0.neededVariables }
            return needed
        }
    }
}
