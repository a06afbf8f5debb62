package import SluiceModel
package import SluiceQuery

extension ViewSource {
    /// What a query computes, as its reader sees it: groups in no particular order; nil unless it has AGGREGATE. Looks at
    /// every match.
    ///
    /// - Parameter schema: the schema that the query was checked against.
    /// - Throws: what ``failure(_:)`` makes of too many groups.
    package func figures(of query: Query, schema: Schema) throws -> [GroupFigures]? {
        try figureTable(of: query, Evaluator(query, schema: schema))?.shown
    }

    /// Does the same with an evaluator of the query, and returns what can go on from there.
    package func figureTable(of query: Query, _ evaluator: Evaluator) throws -> FigureTable? {
        guard let aggregates = query.aggregates else { return nil }
        var table = FigureTable(aggregates)
        try figureRows(of: query, evaluator) { values in
            do throws(FigureError) { try table.add(values) } catch { throw failure(error) }
        }
        table.settle()
        return table
    }
}
