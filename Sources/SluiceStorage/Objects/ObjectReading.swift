package import SluiceModel
package import SluiceQuery
package import SluiceViews

/// The objects of a store at one version, as either side reads them. Every error is a ``StorageError`` unless a closure
/// throws another.
///
/// An object is *present*, a *ghost* (something links to it, but its content is not here) or unknown; only present
/// objects have rows. Not safe for use from several threads at once.
package protocol ObjectReading: ViewSource {
    /// The classes stored here. Positions in it never change their meaning.
    var schema: Schema { get }

    /// The present object with a global id, in whatever class.
    ///
    /// On a writing connection the first call builds the missing indexes of ids, O(n) once; a reader without an index
    /// scans.
    func findObject(_ id: ObjectID) throws -> ObjectRef?

    /// The number of present objects of a class. O(n) without reading contents.
    func count(ofClass classIndex: Int) throws -> Int

    /// Every present row of a class in the order of storage, until `body` returns false.
    func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws

    /// Every row that matches a query's predicate in the order of storage, sort and limit aside, until `body` returns
    /// false.
    func forEachRow(matching query: Query, _ body: (Row) throws -> Bool) throws

    /// The next rows that match a query's predicate in the order of storage, sort and limit aside.
    ///
    /// - Parameters:
    ///   - cursor: where the page before ended; nil for the first.
    ///   - limit: the most rows wanted.
    ///   - byteCountMax: no more rows once those read take about so many bytes.
    /// - Returns: the rows, and where to go on; nil at the end.
    func rows(
        matching query: Query, after cursor: RowCursor?, limit: Int, byteCountMax: Int
    ) throws -> (rows: [Row], next: RowCursor?)

    /// The results of a query: in its order, up to its limit.
    func refs(matching query: Query) throws -> [ObjectRef]

    /// The number of results of a query, at most its limit.
    func count(matching query: Query) throws -> Int

    /// The statement that a query becomes, and how SQLite runs it; nil for one object by its id. Runs nothing.
    ///
    /// - Parameter inOrder: whether results are to come in the query's order and up to its limit, else as they are stored.
    func plan(of query: Query, inOrder: Bool) throws -> QueryExplanation.Plan?
}

extension ObjectReading {
    package func object(withID id: ObjectID) throws -> ObjectRef? { try findObject(id) }
}
