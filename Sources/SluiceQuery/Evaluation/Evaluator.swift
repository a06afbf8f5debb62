package import SluiceModel

/// Judges single objects by a query.
package struct Evaluator: Sendable {
    private let root: EvaluatorNode
    private let positions: [PathReader]
    private let reach: DependencyReach
    /// The part of the order that matches are in; nil for all of it.
    private let section: (section: Query.Section, order: SortOrder, className: String)?

    /// - Parameter schema: the schema that the query was checked against.
    package init(_ query: Query, schema: Schema) {
        root = EvaluatorNode(query.predicate, schema: schema)
        positions = query.positionPaths.map { PathReader($0, schema: schema) }
        reach = DependencyReach(query.dependencies, classIndex: query.classIndex)
        section = query.hasSection ? (query.section, SortOrder(query.sort), query.className) : nil
    }

    /// Whether an object of the queried class satisfies the predicate, and stands in the section that the query names.
    /// Sort, limit and stages have no other effect.
    ///
    /// Allocates nothing, except for decimals that Foundation computes with or compares, and for collections of links
    /// that are compared as wholes and lead to absent objects.
    package func matches(_ row: Row, in source: any ObjectSource) throws -> Bool {
        guard let section else { return try EvaluationContext.with(row) { try root.matches($0, source) } }
        guard try EvaluationContext.with(row, { try root.matches($0, source) }) else { return false }
        let id = { Identity(className: section.className, key: row.key).objectID }
        return section.section.contains(try sortPlace(of: row, in: source), id, in: section.order)
    }

    /// The values that place a result: one for each key of the sort, then one for each further position path.
    package func sortValues(of row: Row, in source: any ObjectSource) throws -> [Value] {
        try EvaluationContext.with(row) { context in try positions.map { try $0.value(in: context, source) } }
    }

    /// The values that place a result of a query without stages. Allocates nothing where the sort has one key, which is
    /// a property of the row.
    package func sortPlace(of row: Row, in source: any ObjectSource) throws -> SortValues {
        guard let first = positions.first else { return SortValues(first: .null) }
        return try EvaluationContext.with(row) { context in
            SortValues(
                first: try first.value(in: context, source),
                rest: positions.count == 1 ? [] : try positions.dropFirst().map { try $0.value(in: context, source) })
        }
    }

    /// The properties that a row must have to be judgeable; nil where that depends on other objects, too.
    ///
    /// - Parameter trustsBacklinks: as for ``isJudgeable(_:in:trustsBacklinks:)``.
    package func neededProperties(trustsBacklinks: Bool) -> PropertySet? {
        reach.neededProperties(trustsBacklinks: trustsBacklinks)
    }

    /// Whether everything that predicate and sort read is here: false if a property that they read is absent, on the
    /// row or on an object that their paths lead to. A ghost does not count as missing; it reads as null.
    ///
    /// - Parameter trustsBacklinks: whether all objects that link to another are here, or missing ones do not matter.
    ///   If false, no query that follows links backwards can be judged.
    package func isJudgeable(
        _ row: Row, in source: any ObjectSource, trustsBacklinks: Bool = false
    ) throws -> Bool {
        try reach.isHere(row, in: source, trustsBacklinks: trustsBacklinks)
    }
}
