package import SluiceModel

/// A date property that a condition compares with `$now`: a comparison changes at the time at which the date is
/// ``shift`` later than the clock.
///
/// Every comparison with `$now` is one of these or its negation: `date <= now + shift`. As dates are whole microseconds,
/// `<` is `<=` with a shift of one less.
package struct TimeEdge: Hashable, Sendable {
    /// The class that has the property; queried, or at the end of links.
    package let classIndex: Int
    package let property: Int
    /// Microseconds.
    package let shift: Int64

    init?(_ comparison: Query.Comparison) {
        guard case .path(let path) = comparison.left, case .value(let property) = path.leaf,
            case .now(let offset) = comparison.right
        else { return nil }
        classIndex = path.leafClass
        self.property = property
        shift = comparison.comparison == .less || comparison.comparison == .greaterOrEqual ? offset - 1 : offset
    }

    /// The last date that has passed at a time.
    package func lastPassed(at time: Timestamp) -> Timestamp { time.advanced(by: shift) }

    /// When a date passes.
    package func passing(of date: Timestamp) -> Timestamp { date.advanced(by: -shift) }

    /// A query for the object whose date passes first after a time.
    package func next(after time: Timestamp, schema: Schema) throws(QueryError) -> Query {
        try query([(.greater, lastPassed(at: time))], schema, clauses: [.sort([.init(path(schema))]), .limit(1)])
    }

    /// A query for the objects whose dates pass between two times; the later one included.
    package func passed(after earlier: Timestamp, until later: Timestamp, schema: Schema) throws(QueryError) -> Query {
        try query([(.greater, lastPassed(at: earlier)), (.lessOrEqual, lastPassed(at: later))], schema, clauses: [])
    }

    private func path(_ schema: Schema) -> PathSyntax {
        PathSyntax([.init(.property(schema[classIndex].properties[property].name))])
    }

    private func query(
        _ ends: [(ComparisonOperator, Timestamp)], _ schema: Schema, clauses: [QuerySyntax.Clause]
    ) throws(QueryError) -> Query {
        let path = path(schema)
        let condition = ends.map { comparison, date in
            PredicateSyntax.comparison(ComparisonSyntax(.path(path), comparison, .value(.date(date))))
        }
        return try Query(
            QuerySyntax(.objects(className: schema[classIndex].name), where: .and(condition), clauses: clauses),
            schema: schema)
    }
}

extension Query.Predicate {
    /// Each edge once, those in subqueries included.
    var timeEdges: [TimeEdge] {
        var edges: [TimeEdge] = []
        func add(_ edge: TimeEdge) { if !edges.contains(edge) { edges.append(edge) } }
        forEachComparison { comparison in
            if let edge = TimeEdge(comparison) { add(edge) }
            for case .subquery(let subquery) in comparison.paths.map(\.leaf) {
                subquery.predicate.timeEdges.forEach(add)
            }
        }
        return edges
    }

    /// The same condition with a time in place of `$now`.
    fileprivate func at(_ time: Timestamp) -> Query.Predicate {
        switch self {
        case .constant: self
        case .comparison(let comparison): .comparison(comparison.at(time))
        case .not(let comparison): .not(comparison.at(time))
        case .and(let operands): .and(operands.map { $0.at(time) })
        case .or(let operands): .or(operands.map { $0.at(time) })
        }
    }
}

extension Query.Comparison {
    fileprivate func at(_ time: Timestamp) -> Query.Comparison {
        Query.Comparison(relation, left.at(time), comparison, right.at(time), ignoresCase: ignoresCase)
    }
}

extension Query.Comparison.Operand {
    fileprivate func at(_ time: Timestamp) -> Query.Comparison.Operand {
        switch self {
        case .constant, .list: self
        case .now(let offset): .constant(.date(time.advanced(by: offset)))
        case .path(let path): .path(path.at(time))
        case .arithmetic(let operation, let left, let right, let type):
            .arithmetic(operation, left.at(time), right.at(time), type)
        }
    }
}

extension Query.Path {
    fileprivate func at(_ time: Timestamp) -> Query.Path {
        guard case .subquery(let subquery) = leaf, !subquery.predicate.timeEdges.isEmpty else { return self }
        let bound = Query.Subquery(
            collection: subquery.collection, predicate: subquery.predicate.at(time), scope: subquery.scope)
        return Query.Path(
            scope: scope, steps: steps, leafClass: leafClass, leaf: .subquery(bound), type: type, canBeNull: canBeNull,
            text: "\(text)@\(time.microseconds)")
    }
}

extension Query {
    /// Whether the condition has `$now`.
    package var readsTime: Bool { !form.timeEdges.isEmpty }

    /// The query at one time: what it finds it finds by constants. Only to be run at once; its text is that of the query.
    package func at(_ time: Timestamp) -> Query {
        guard readsTime else { return self }
        let form = QueryForm(form, at: time, predicate: predicate.at(time), text: canonicalText)
        return Query(form: form, constants: [], hash: hash, context: context)
    }
}
