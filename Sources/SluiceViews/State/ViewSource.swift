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
