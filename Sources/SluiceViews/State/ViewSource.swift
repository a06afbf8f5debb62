package import SluiceModel
package import SluiceQuery

/// A state that live views read from.
package protocol ViewSource: ObjectSource {
    /// Calls `body` with the rows that match a query's predicate, in the query's order, until it returns false.
    ///
    /// They match as the query's reader sees them; see ``Query/context``.
    /// The query's own limit does not apply. It is not called for `OBJECT(id)` queries.
    ///
    /// - Parameters:
    ///   - position: rows up to and including this position are left out; nil starts at the beginning.
    ///   - limit: the most rows wanted; nil for all.
    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws

    /// Calls `body` with what the objects that match a query's predicate link to through some properties, and with how
    /// many links there are, in no particular order. One target may come several times.
    func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws

    /// How many objects meet a query's condition, as ``rows(matching:after:limit:_:)`` finds them, whatever the query's
    /// limit and section. It is not called for `OBJECT(id)` queries.
    func matchCount(of query: Query) throws -> Int

    /// Calls `body` with the values of a query's ``Query/positionPaths`` for each object that meets its condition, as the
    /// query's reader sees it, in no particular order.
    ///
    /// - Parameter evaluator: that of a query with these paths, which reads them where the source does not.
    func figureRows(of query: Query, _ evaluator: Evaluator, _ body: ([Value]) throws -> Void) throws

    /// The error for figures that are more than may be kept; it ends the query alone.
    func failure(_ error: FigureError) -> any Error

    /// The object with an object id; nil if the state has no such object.
    func object(withID id: ObjectID) throws -> ObjectRef?
}

extension ViewSource {
    package func matchCount(of query: Query) throws -> Int {
        var count = 0
        try rows(matching: query.condition, after: nil, limit: nil) { _ in
            count += 1
            return true
        }
        return count
    }

    package func failure(_ error: FigureError) -> any Error { error }

    package func figureRows(of query: Query, _ evaluator: Evaluator, _ body: ([Value]) throws -> Void) throws {
        let isWhole = query.context.isEverything
        let readable = ReadableObjects(self, in: query.context)
        let objects: any ObjectSource = isWhole ? self : readable
        try rows(matching: query.condition, after: nil, limit: nil) { row in
            let shown = isWhole ? row : try readable.shown(row, ofClass: query.classIndex)
            try body(evaluator.sortValues(of: shown, in: objects))
            return true
        }
    }

    package func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws {
        try rows(matching: query, after: nil, limit: nil) { row in
            for property in properties { try row.forEachLink(in: property) { try body(property, $0, 1) } }
            return true
        }
    }
}
