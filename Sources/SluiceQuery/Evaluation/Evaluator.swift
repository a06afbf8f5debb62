package import SluiceModel

/// A query made ready to judge single objects.
package struct Evaluator: Sendable {
    private let root: EvaluatorNode
    private let sort: [PathReader]
    /// Every path that the predicate or the sort reads, once.
    private let readers: [PathReader]

    /// - Parameter schema: the schema that the query was checked against.
    package init(_ query: Query, schema: Schema) {
        root = EvaluatorNode(query.predicate, schema: schema)
        sort = query.sort.map { PathReader($0.path, schema: schema) }
        var paths = Set(query.sort.map(\.path))
        query.predicate.forEachComparison { paths.formUnion($0.paths) }
        readers = paths.map { PathReader($0, schema: schema) }
    }

    /// Whether an object of the queried class satisfies the predicate. Limit and sort play no part.
    package func matches(_ row: Row, in source: any ObjectSource) throws -> Bool {
        try root.matches(row, in: source)
    }

    /// The values that the sort compares, one for each key.
    package func sortValues(of row: Row, in source: any ObjectSource) throws -> [Value] {
        try sort.map { try $0.value(of: row, in: source) }
    }

    /// Whether everything that predicate and sort read is here: false if a property on their paths is absent, on the
    /// row or on an object that the paths lead to. A ghost is no lack: it is null here as it is everywhere.
    package func isJudgeable(_ row: Row, in source: any ObjectSource) throws -> Bool {
        try readers.allSatisfy { try $0.isHere(row, in: source) }
    }
}
