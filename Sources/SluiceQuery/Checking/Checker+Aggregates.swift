internal import SluiceModel

extension Checker {
    /// Checks an aggregate: `collection.@sum.property`, `collection.property.@sum` or, of scalars, `collection.@sum`.
    func aggregate(
        _ operation: AggregateOperation, at index: Int, in syntax: PathSyntax
    ) throws(QueryError) -> Query.Path {
        let position = syntax.components[index].position
        let (whole, collectionEnd) = try plainPath(syntax, without: index)
        guard collectionEnd > 0, collectionEnd <= index, whole.isToMany else {
            throw QueryError(
                .typeMismatch,
                "@\(operation.rawValue) needs a collection before it; aggregate operations can only be used on key paths "
                    + "that include a collection property",
                at: position)
        }
        switch whole.leaf {
        case .value, .elements, .entry, .element: break
        default:
            throw QueryError(
                .typeMismatch,
                "@\(operation.rawValue) needs a property of numbers\(operation.takesDates ? " or dates" : "") to work on; "
                    + "'\(whole.text)' has none",
                at: position)
        }
        guard case .scalar(let type) = whole.type, let result = operation.result(of: type) else {
            throw QueryError(
                .typeMismatch,
                whole.type == .scalar(.date)
                    ? "cannot sum or average date properties ('\(whole.text)')"
                    : "@\(operation.rawValue) works on numbers\(operation.takesDates ? " and dates" : ""); "
                        + "'\(whole.text)' holds \(whole.typeName)",
                at: position)
        }
        let split: Int
        if case .elements = whole.leaf {
            split = whole.steps.count
        } else {
            split = whole.steps.lastIndex(where: \.isToMany) ?? 0
        }
        let elements = Query.Path(
            steps: Array(whole.steps[split...]), leafClass: whole.leafClass, leaf: whole.leaf, type: whole.type,
            canBeNull: whole.canBeNull, text: whole.text)
        let prefix = whole.steps[..<split]
        return Query.Path(
            scope: whole.scope, steps: Array(prefix),
            leafClass: whole.steps.count > split ? whole.steps[split].sourceClass : whole.leafClass,
            leaf: .aggregate(operation, elements), type: .scalar(result), canBeNull: true,
            text: try aggregateText(operation, syntax, collectionEnd, whole))
    }

    /// The canonical text of an aggregate, which has the operation right after the collection.
    private func aggregateText(
        _ operation: AggregateOperation, _ syntax: PathSyntax, _ collectionEnd: Int, _ whole: Query.Path
    ) throws(QueryError) -> String {
        let head = Array(syntax.components[..<collectionEnd])
        let text = try plainPath(PathSyntax(head)).path.text
        var rest = whole.text.dropFirst(text.count)
        if rest.hasPrefix(".@values") { rest.removeFirst(".@values".count) }
        return text + ".@\(operation.rawValue)" + rest
    }

    /// Checks `SUBQUERY(collection, $x, condition).@count`.
    func subquery(_ syntax: SubquerySyntax) throws(QueryError) -> Query.Path {
        guard scopes.count <= QueryLimits.subqueryDepthMax else {
            throw QueryError(
                .limitExceeded, "subqueries are nested more than \(QueryLimits.subqueryDepthMax) deep",
                at: syntax.position)
        }
        guard syntax.collection.quantifier == nil else {
            throw QueryError(
                .syntax, "the collection of a SUBQUERY takes no quantifier", at: syntax.collection.position)
        }
        let written = try path(syntax.collection)
        guard written.isToMany, case .link(let target) = written.type, let collection = written.endingAtObjects() else {
            throw QueryError(
                .typeMismatch,
                "SUBQUERY needs a collection of objects; '\(written.text)' is none", at: syntax.collection.position)
        }
        let scope = scopes.count
        let predicate = try on(target, variable: syntax.variable).predicate(syntax.predicate)
        let subquery = Query.Subquery(collection: collection, predicate: predicate, scope: scope)
        return Query.Path(
            steps: [], leafClass: scopes[0].classIndex, leaf: .subquery(subquery), type: .scalar(.int),
            canBeNull: false, text: CanonicalText.subquery(subquery))
    }
}

extension Query.Path {
    var typeName: String {
        switch type {
        case .scalar(let type): type.rawValue
        case .link: "link"
        }
    }

    /// The path with its last link as a step, so that it ends at the objects themselves; nil if it does not lead to
    /// objects.
    fileprivate func endingAtObjects() -> Query.Path? {
        var steps = steps
        guard case .link(let target) = type else { return nil }
        switch leaf {
        case .object: break
        case .link(let property):
            steps.append(
                Step(
                    sourceClass: leafClass, classIndex: leafClass, property: property, targetClass: target,
                    isToMany: false))
        case .elements(let property):
            steps.append(
                Step(
                    sourceClass: leafClass, classIndex: leafClass, property: property, targetClass: target,
                    isToMany: true))
        default: return nil
        }
        return Query.Path(
            scope: scope, steps: steps, leafClass: target, leaf: .object, type: type, canBeNull: canBeNull, text: text)
    }
}
