package import SluiceModel
package import SluiceQuery
package import SluiceViews
package import SluiceWire

/// The reading half of every store: object tables on one connection.
package class SQLiteObjectStore: ObjectReading, QueryPlanning {
    let tables: ObjectTables
    /// Whether a missing index of ids may be made.
    var isMakingIDIndexes: Bool

    init(_ tables: ObjectTables, isReadOnly: Bool) {
        self.tables = tables
        isMakingIDIndexes = !isReadOnly
    }

    package var schema: Schema { tables.schema }

    package var now: Timestamp { tables.now }

    package func row(_ object: ObjectRef) throws -> Row? { try tables.row(object) }

    package func isPresent(_ object: ObjectRef) throws -> Bool { try tables.isPresent(object) }

    package func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try tables.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    /// Values are remembered only while a work limit is in force, because nothing is written then.
    package var memo: EvaluationMemo? { tables.connection.evaluationMemo }

    package func spend(_ stepCount: Int) throws { try tables.connection.charge(stepCount) }

    package func findObject(_ id: ObjectID) throws -> ObjectRef? {
        try tables.findObject(id, isIndexing: isMakingIDIndexes)
    }

    package func count(ofClass classIndex: Int) throws -> Int { try tables.count(ofClass: classIndex) }

    package func countMax(ofClass classIndex: Int) -> Int? { try? tables.rowCount(ofClass: classIndex) }

    package func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws {
        try tables.forEachRow(ofClass: classIndex, body)
    }

    package func forEachRow(matching query: Query, _ body: (Row) throws -> Bool) throws {
        try tables.forEachRow(matching: query, in: self, body)
    }

    package func forEachStoredRow(matching query: Query, _ body: (StoredRow) throws -> Bool) throws {
        try tables.forEachStoredRow(matching: query, body)
    }

    package func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        try tables.rows(matching: query, after: position, limit: limit, body)
    }

    /// The next rows that match a query's predicate, whatever its sort and limit, in the order of their keys, which every
    /// replica of a database has alike. Not for `OBJECT(id)`.
    ///
    /// - Parameters:
    ///   - key: the rows with greater keys; nil for those from the first on.
    ///   - limit: the most rows wanted.
    ///   - byteCountMax: the page ends when its rows take about this many bytes.
    package func rows(
        matching query: Query, afterKey key: ObjectKey?, limit: Int, byteCountMax: Int
    ) throws -> [Row] {
        try tables.rows(matching: query, afterKey: key, limit: limit, byteCountMax: byteCountMax)
    }

    package func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws {
        try tables.links(fromMatchesOf: query, through: properties, body)
    }

    package func rows(
        matching query: Query, after cursor: RowCursor?, limit: Int, byteCountMax: Int
    ) throws -> (rows: [Row], next: RowCursor?) {
        try tables.rows(matching: query, after: cursor, limit: limit, byteCountMax: byteCountMax, in: self)
    }

    package func columns(
        matching query: Query, of properties: PropertySet, after cursor: RowCursor?, limit: Int, byteCountMax: Int,
        where isWanted: (ObjectKey, UInt64) -> Bool
    ) throws -> (rows: RowColumns, next: RowCursor?)? {
        try tables.columns(
            matching: query, of: properties, after: cursor, limit: limit, byteCountMax: byteCountMax, where: isWanted)
    }

    package func refs(matching query: Query) throws -> [ObjectRef] { try tables.refs(matching: query, in: self) }

    package func count(matching query: Query) throws -> Int { try tables.count(matching: query, in: self) }

    package func matchCount(of query: Query) throws -> Int { try tables.matchCount(of: query) }

    package func failure(_ error: FigureError) -> any Error { StorageError(.oversized, error.message) }

    package func figureRows(of query: Query, _ evaluator: Evaluator, _ body: ([Value]) throws -> Void) throws {
        try tables.figureRows(of: query, body)
    }

    package func plan(of query: Query, order: SQLCompiler.Order) throws -> QueryExplanation.Plan? {
        try tables.plan(of: query, order: order)
    }

    package func totalPlan(of query: Query) throws -> QueryExplanation.Plan? { try tables.totalPlan(of: query) }
}
