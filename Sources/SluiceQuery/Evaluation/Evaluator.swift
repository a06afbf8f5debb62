package import SluiceModel

/// A query made ready to judge single objects.
package struct Evaluator: Sendable {
    /// - Parameter schema: the schema that the query was checked against.
    package init(_ query: Query, schema: Schema) {}

    /// Whether an object of the queried class satisfies the predicate. Limit and sort play no part.
    package func matches(_ row: Row, in source: any ObjectSource) throws -> Bool { false }

    /// The values that the sort compares, one for each key.
    package func sortValues(of row: Row, in source: any ObjectSource) throws -> [Value] { [] }

    /// Whether everything that predicate and sort read is here: false if a property on their paths is absent, on the
    /// row or on an object that the paths lead to. A ghost is no lack: it is null here as it is everywhere.
    package func isJudgeable(_ row: Row, in source: any ObjectSource) throws -> Bool { true }
}
