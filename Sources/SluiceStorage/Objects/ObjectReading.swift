package import SluiceModel
package import SluiceQuery
package import SluiceViews
package import SluiceWire

/// Reads the objects of a store at one version, on either side. Every error is a ``StorageError`` unless a closure
/// throws another.
///
/// An object is *present*, a *ghost* (something links to it, but its content is not here) or unknown; only present
/// objects have rows. Not safe for use from several threads at once.
package protocol ObjectReading: ViewSource {
    /// The classes stored here. Their positions never change their meaning.
    var schema: Schema { get }

    /// The present object with an object id, of any class.
    ///
    /// On a writing connection the first call makes the missing indexes of ids, O(n) once; a reader without an index
    /// scans.
    func findObject(_ id: ObjectID) throws -> ObjectRef?

    /// The number of present objects of a class. O(n) without reading contents.
    func count(ofClass classIndex: Int) throws -> Int

    /// At most how many objects of a class are present, found in a small part of the time that reading them takes; nil
    /// where that cannot be.
    func countMax(ofClass classIndex: Int) -> Int?

    /// Calls `body` with every present row of a class in the order of storage, until it returns false.
    func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws

    /// Calls `body` with every row that matches a query's predicate, whatever its sort and limit, in the order in which
    /// they are found quickest, until it returns false.
    func forEachRow(matching query: Query, _ body: (Row) throws -> Bool) throws

    /// The same for a query of more than one object, without reading cells that `body` does not ask for.
    func forEachStoredRow(matching query: Query, _ body: (StoredRow) throws -> Bool) throws

    /// The next rows that match a query's predicate, whatever its sort and limit, in the order of storage.
    ///
    /// - Parameters:
    ///   - cursor: where the page before ended; nil for the first.
    ///   - limit: the most rows wanted.
    ///   - byteCountMax: the page ends when its rows take about this many bytes.
    /// - Returns: the rows, and the cursor of the next page; nil at the end.
    func rows(
        matching query: Query, after cursor: RowCursor?, limit: Int, byteCountMax: Int
    ) throws -> (rows: [Row], next: RowCursor?)

    /// The same rows by column, with some of their properties, without a ``Row`` of each.
    ///
    /// - Parameters:
    ///   - properties: the properties wanted.
    ///   - isWanted: called once with the key and the version of each row. The values of one that is not wanted are not
    ///     read; it counts for `limit`, and takes no bytes.
    /// - Returns: nil where one of the properties is not stored any more, and for a query of one object.
    func columns(
        matching query: Query, of properties: PropertySet, after cursor: RowCursor?, limit: Int, byteCountMax: Int,
        where isWanted: (ObjectKey, UInt64) -> Bool
    ) throws -> (rows: RowColumns, next: RowCursor?)?

    /// The results of a query, in its order and up to its limit.
    func refs(matching query: Query) throws -> [ObjectRef]

    /// The number of results of a query, at most its limit.
    func count(matching query: Query) throws -> Int
}

/// Explains how a store runs queries.
package protocol QueryPlanning {
    /// The SQL statement of a query, and SQLite's plan for it; nil for one object by its id, and for a query that shows
    /// nothing. The statement is not run.
    ///
    /// - Parameter order: ``SQLCompiler/Order/result`` for windows and lists, rows for pages, any for
    ///   ``ObjectReading/forEachRow(matching:_:)``.
    func plan(of query: Query, order: SQLCompiler.Order) throws -> QueryExplanation.Plan?

    /// The same of the statement that counts what matches; nil unless the query has TOTAL.
    func totalPlan(of query: Query) throws -> QueryExplanation.Plan?
}

extension ObjectReading {
    package func countMax(ofClass classIndex: Int) -> Int? { nil }

    /// A reader that shows objects otherwise than they are stored has no columns.
    package func columns(
        matching query: Query, of properties: PropertySet, after cursor: RowCursor?, limit: Int, byteCountMax: Int,
        where isWanted: (ObjectKey, UInt64) -> Bool
    ) throws -> (rows: RowColumns, next: RowCursor?)? { nil }

    package func object(withID id: ObjectID) throws -> ObjectRef? { try findObject(id) }
}
