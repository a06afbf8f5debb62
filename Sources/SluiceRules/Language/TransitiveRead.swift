internal import SluiceModel
internal import SluiceQuery

extension RulesDocument {
    /// How many classes a chain of transitive ones may go through; each adds a subquery to the condition.
    private static var transitiveDepthMax: Int { 4 }

    /// What is readable of a class: by its own rule and, if it is transitive, what a readable object links to.
    ///
    /// - Parameter path: the transitive classes that ask for this one. A circle of them ends where it closes.
    /// - Returns: nil if nothing is.
    func readPredicate(ofClass name: String, schema: Schema, path: [String] = []) -> PredicateSyntax? {
        guard let rules = classes.first(where: { $0.name == name })?.rules else { return nil }
        let own = rules.rules[.read]?.predicate(onClass: name, schema: schema)
        guard rules.isTransitive, path.count < Self.transitiveDepthMax else { return own }
        var parts = own.map { [$0] } ?? []
        for (source, property) in schema.links(to: name) where source != name && !path.contains(source) {
            guard let inner = readPredicate(ofClass: source, schema: schema, path: path + [name]),
                let showing = condition(onShowing: property.name, of: source)
            else { continue }
            let variable = "linking\(path.count)"
            // One count for each part of an OR, since a variable without a value makes a whole count never match.
            for part in inner.alternatives {
                let links = PathSyntax([
                    PathSyntax.Component(.backlink(className: source, property: property.name))
                ])
                let count = SubquerySyntax(links, variable, part.moved(to: variable))
                let isLinked = PredicateSyntax.comparison(
                    ComparisonSyntax(.subquery(count), .greater, .value(.int(0))))
                parts.append(showing.map { $0 && isLinked } ?? isLinked)
            }
        }
        return parts.count > 1 ? .or(parts) : parts.first
    }

    /// What must hold of the user for a link to pass on the right to read: the property's own rule, since what the link
    /// leads to would tell the value.
    ///
    /// - Returns: an inner nil if the property has no such rule; an outer nil if the links pass nothing on, since the
    ///   rule asks for objects itself.
    private func condition(onShowing property: String, of className: String) -> PredicateSyntax?? {
        let fields = classes.first { $0.name == className }?.rules.fields
        guard let rule = fields?.first(where: { $0.name == property })?.rules.read else { return .some(nil) }
        guard case .condition(let predicate) = rule.form else { return nil }
        var readsObjects = false
        predicate.forEachComparison { readsObjects = readsObjects || $0.readsObjects }
        return readsObjects ? nil : .some(predicate)
    }
}

extension PredicateSyntax {
    /// The operands of an OR, of whichever nesting; any other condition itself.
    var alternatives: [PredicateSyntax] {
        if case .or(let operands) = self { operands.flatMap(\.alternatives) } else { [self] }
    }

    /// The same condition on the object that a variable stands for.
    fileprivate func moved(to variable: String) -> PredicateSyntax {
        switch self {
        case .constant: return self
        case .not(let operand): return .not(operand.moved(to: variable))
        case .and(let operands): return .and(operands.map { $0.moved(to: variable) })
        case .or(let operands): return .or(operands.map { $0.moved(to: variable) })
        case .comparison(var comparison):
            comparison.left = comparison.left.moved(to: variable)
            comparison.right = comparison.right.moved(to: variable)
            return .comparison(comparison)
        }
    }
}

extension ExpressionSyntax {
    fileprivate func moved(to variable: String) -> ExpressionSyntax {
        switch self {
        case .literal, .list: return self
        case .path(let path): return .path(path.moved(to: variable))
        case .arithmetic(var arithmetic):
            arithmetic.left = arithmetic.left.moved(to: variable)
            arithmetic.right = arithmetic.right.moved(to: variable)
            return .arithmetic(arithmetic)
        case .subquery(var subquery):
            subquery.collection = subquery.collection.moved(to: variable)
            subquery.predicate = subquery.predicate.moved(to: variable)
            return .subquery(subquery)
        }
    }
}

extension PathSyntax {
    fileprivate func moved(to variable: String) -> PathSyntax {
        if case .variable = components.first?.kind { return self }
        return PathSyntax([Component(.variable(variable))] + components, quantifier: quantifier, position: position)
    }
}
