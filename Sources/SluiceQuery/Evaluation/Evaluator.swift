package import SluiceModel

/// A query made ready to judge single objects.
package struct Evaluator: Sendable {
    private let root: EvaluatorNode
    private let positions: [PathReader]
    private let reach: DependencyReach

    /// - Parameter schema: the schema that the query was checked against.
    package init(_ query: Query, schema: Schema) {
        root = EvaluatorNode(query.predicate, schema: schema)
        positions = query.positionPaths.map { PathReader($0, schema: schema) }
        reach = DependencyReach(query.dependencies, classIndex: query.classIndex)
    }

    /// Whether an object of the queried class satisfies the predicate. Limit and sort play no part.
    ///
    /// Allocates nothing, but for what Foundation does in arithmetic and comparisons of decimals, and for collections of
    /// links that are compared as a whole and lead to what is not here.
    package func matches(_ row: Row, in source: any ObjectSource) throws -> Bool {
        try EvaluationContext.with(row) { try root.matches($0, source) }
    }

    /// The values that place a result: one for each key of the sort, then one for each further position path.
    package func sortValues(of row: Row, in source: any ObjectSource) throws -> [Value] {
        try EvaluationContext.with(row) { context in try positions.map { try $0.value(in: context, source) } }
    }

    /// Whether everything that predicate and sort read is here: false if a property on their paths is absent, on the
    /// row or on an object that the paths lead to. A ghost is no lack: it is null here as it is everywhere.
    ///
    /// - Parameter trustsBacklinks: whether every object that links to another is here, or what is not does not count.
    ///   Else nothing that follows a link backwards can be judged.
    package func isJudgeable(
        _ row: Row, in source: any ObjectSource, trustsBacklinks: Bool = false
    ) throws -> Bool {
        try reach.isHere(row, in: source, trustsBacklinks: trustsBacklinks)
    }
}
