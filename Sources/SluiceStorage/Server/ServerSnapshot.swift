package import SluiceModel
package import SluiceQuery

/// A server's database as it was at one version, to be read beside the writer on a connection of its own.
///
/// It belongs to one thread at a time, and may be handed from one to another. The write-ahead log cannot be cleared
/// while a snapshot is open, so a snapshot is not kept for longer than one query takes.
package final class ServerSnapshot: SQLiteObjectStore {
    /// The last version that the snapshot shows.
    package let version: UInt64
    private let connection: SQLiteConnection

    /// Begins to read at once, so that everything is as of this moment.
    ///
    /// - Parameter time: the time of the state, for queries.
    init(path: String, access: FileAccess, schema: Schema, version: UInt64, time: Timestamp) throws {
        connection = try SQLiteConnection(path: path, access: access)
        try connection.configure(durability: .process, cacheSize: 16 << 20)
        self.version = version
        try connection.beginReading()
        // SQLite begins a read transaction with its first read.
        _ = try connection.integer("SELECT count(*) FROM _meta")
        super.init(try ObjectTables(connection, schema: schema), isReadOnly: true)
        tables.now = time
    }

    /// See ``SQLiteWritableStore/withWorkLimit(_:_:)``.
    package func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result {
        try connection.withWorkLimit(limit, body)
    }

    /// See ``SQLiteServerStorage/roots(matching:after:)``.
    package func roots(matching query: Query, after cursor: RowCursor?) throws -> [ObjectRef] {
        try tables.roots(matching: query, after: cursor, in: self)
    }

    /// A digest of the whole state: replicas of a database that are at one position have the same. O(n).
    ///
    /// - Parameter isCancelled: asked now and then whether it is no longer wanted.
    /// - Throws: ``StorageError/Code/cancelled`` if it is not.
    package func digest(isCancelled: () -> Bool) throws -> [UInt8] {
        try StateDigest.compute(connection, schema: schema, isCancelled: isCancelled)
    }

    /// Ends the snapshot and closes its connection.
    package func close() {
        connection.rollback()
        tables.close()
        connection.close()
    }
}
