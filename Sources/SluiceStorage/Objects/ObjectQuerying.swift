package import SluiceModel
package import SluiceQuery

/// Objects by query. Not called for `OBJECT(id)` queries.
package protocol ObjectQuerying: ObjectReading {
    /// Calls `body` with the rows that match a query's predicate, in the query's order, until it returns false. The
    /// query's own limit is not applied.
    ///
    /// - Parameters:
    ///   - position: sort values and id of a row; rows up to and including it are left out. Nil for the start.
    ///   - limit: the most rows wanted; nil for all.
    func forEachRow(
        matching query: Query, after position: (values: [Value], id: ObjectID)?, limit: Int?,
        _ body: (Row) throws -> Bool) throws

    /// The objects that match a query's predicate, in the query's order, cut at the query's limit.
    func objects(matching query: Query) throws -> [ObjectRef]

    /// How many objects match a query's predicate.
    func count(matching query: Query) throws -> Int

    /// Calls `body` with the matching rows in the order of storage, from behind a place on.
    ///
    /// - Parameters:
    ///   - place: what the last call returned; nil for the start.
    ///   - limit: the most rows wanted.
    /// - Returns: the place of the last row, or nil when there are no more.
    func scan(_ query: Query, after place: Int64?, limit: Int, _ body: (Row) throws -> Void) throws -> Int64?
}
