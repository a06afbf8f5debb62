package import SluiceModel
package import SluiceQuery

/// A state that views can be built from and refilled from.
package protocol ViewSource: ObjectSource {
    /// Calls `body` with the rows that match a query's predicate, in the query's order, until it returns false.
    ///
    /// The query's own limit is not applied. Not called for `OBJECT(id)` queries.
    ///
    /// - Parameters:
    ///   - position: rows up to and including this one are left out; nil for the start.
    ///   - limit: the most rows wanted; nil for all.
    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws

    /// The object with a global id, if it is here.
    func object(withID id: ObjectID) throws -> ObjectRef?
}
