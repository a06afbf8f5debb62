internal import SluiceModel
internal import SluiceQuery

extension PredicateSyntax {
    func forEachComparison(_ body: (ComparisonSyntax) -> Void) {
        switch self {
        case .constant: break
        case .comparison(let comparison): body(comparison)
        case .not(let operand): operand.forEachComparison(body)
        case .and(let operands), .or(let operands): for operand in operands { operand.forEachComparison(body) }
        }
    }

    /// The variables that the condition names, each once, in the order of the text.
    var variables: [VariableSyntax] {
        var found: [VariableSyntax] = []
        forEachComparison { comparison in
            for literal in comparison.literals {
                if let variable = literal.variable, !found.contains(variable) { found.append(variable) }
            }
        }
        return found
    }
}

extension ComparisonSyntax {
    /// All constants of both sides, also inside subqueries.
    var literals: [LiteralSyntax] { left.literals + right.literals }

    /// Whether a side reads from an object.
    var readsObjects: Bool { left.readsObjects || right.readsObjects }

    /// The variable of a comparison that asks whether it has a value, `$user.id == NULL`, and the answer for one that
    /// has none; nil for any other comparison.
    var presenceTest: (variable: VariableSyntax, isTrueWithout: Bool)? {
        guard comparison == .equal || comparison == .notEqual else { return nil }
        let isTrueWithout = comparison == .equal
        if let variable = left.variable, right.isNull { return (variable, isTrueWithout) }
        if let variable = right.variable, left.isNull { return (variable, isTrueWithout) }
        return nil
    }
}

extension ExpressionSyntax {
    fileprivate var literals: [LiteralSyntax] {
        switch self {
        case .path: return []
        case .literal(let literal): return [literal]
        case .list(let literals, _, _): return literals
        case .arithmetic(let arithmetic): return arithmetic.left.literals + arithmetic.right.literals
        case .subquery(let subquery):
            var found: [LiteralSyntax] = []
            subquery.predicate.forEachComparison { found += $0.literals }
            return found
        }
    }

    fileprivate var readsObjects: Bool {
        switch self {
        case .path, .subquery: true
        case .literal, .list: false
        case .arithmetic(let arithmetic): arithmetic.left.readsObjects || arithmetic.right.readsObjects
        }
    }

    fileprivate var variable: VariableSyntax? {
        if case .literal(let literal) = self { literal.variable } else { nil }
    }

    fileprivate var isNull: Bool {
        if case .literal(let literal) = self, case .value(.null) = literal.kind { true } else { false }
    }
}

extension LiteralSyntax {
    var variable: VariableSyntax? { if case .variable(let variable) = kind { variable } else { nil } }
}

extension UserCondition {
    var predicate: PredicateSyntax {
        switch form {
        case .condition(let predicate): predicate
        case .query(let query): query.predicate
        case .permissionList(let level, let flag):
            PermissionList.grant(level, flag)?.predicate ?? .constant(false)
        }
    }

    /// Paths where no object is there to read them from.
    var misplacedPaths: [QueryError] {
        guard case .condition(let predicate) = form else { return [] }
        var errors: [QueryError] = []
        predicate.forEachComparison { comparison in
            guard comparison.readsObjects, comparison.existenceQuery == nil else { return }
            errors.append(
                QueryError(
                    .syntax,
                    "this is judged for the user alone, without an object; write $user, $role, or "
                        + "'ANY Class.property == …', which asks whether there is such an object",
                    at: comparison.left.position ?? comparison.position))
        }
        return errors
    }
}

extension ComparisonSyntax {
    /// For `ANY Class.path == …`, the query for the objects that meet it; nil for any other comparison.
    ///
    /// The rest of the path keeps ANY, which it must lose where it leads to one value only.
    var existenceQuery: QuerySyntax? {
        guard case .path(var path) = left, path.quantifier == .any, path.components.count > 1,
            case .property(let className) = path.components[0].kind, !right.readsPaths
        else { return nil }
        let position = path.components[0].position
        path.components.removeFirst()
        var comparison = self
        comparison.left = .path(path)
        return QuerySyntax(
            .objects(className: className, position: position), where: .comparison(comparison),
            clauses: [.limit(1)])
    }
}

extension ExpressionSyntax {
    fileprivate var readsPaths: Bool { readsObjects }
}
