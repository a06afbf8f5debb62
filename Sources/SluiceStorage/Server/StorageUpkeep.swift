package import SluiceModel
package import SluiceViews

/// What keeps a database's file in order, apart from what it holds: damage and obstacles, limits of work, indexes,
/// checkpoints, copies and trimming.
package protocol StorageUpkeep: QueryPlanning {
    /// Why the database can no longer be used, since its file vanished; nil while it can.
    var failure: StorageError? { get }

    /// Looks whether the database's file is still where it was opened.
    ///
    /// - Throws: ``StorageError/Code/vanished`` if it is not; every transaction fails from then on.
    func checkFile() throws

    /// Why the database was opened for reading only, such as a full disk; every transaction throws it. Nil if it can be
    /// written.
    var obstacle: StorageError? { get }

    /// Tries whether the database's file could be written now: writes a file beside it and removes it.
    ///
    /// - Returns: what prevents it; nil if nothing does.
    func probe() -> StorageError?

    /// How many bytes the file would have without the pages that are free, the write-ahead log left out. O(1).
    var usedByteCount: Int { get throws }

    /// How many bytes the log has. O(1).
    var logByteCount: Int { get }

    /// Makes the file count as full when it has a size, in bytes, without the write-ahead log; nil for no limit. Outside a
    /// transaction.
    func limitFile(to byteCount: Int?) throws

    /// Closes the file, even if others still hold the database. Later calls throw ``StorageError/Code/misuse`` or
    /// ``StorageError/Code/notFound``.
    func close()

    /// Why the database takes no writes: it is damaged. Nil while no damage was met. Every transaction fails with it
    /// from then on, also after the database is opened again, until the file is whole.
    var damage: StorageError? { get }

    /// Remembers that the database is damaged. Outside a transaction.
    ///
    /// - Parameter error: an error of damage, see ``StorageError/isOfDamage``.
    func note(damage error: StorageError)

    /// Runs `body` and limits the work of all its reads together. Must be called outside a transaction and outside
    /// another limit.
    ///
    /// - Throws: ``StorageError/Code/interrupted`` when the limit is reached, ``StorageError/Code/cancelled`` when
    ///   nobody waits for the result any more, and what `body` throws.
    func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result

    /// Whether ``snapshot()`` can open another connection.
    var canBeReadAside: Bool { get }

    /// Opens a snapshot of the database as it is now, to be read beside the writer; nil where there can be no second
    /// connection, as in memory. Must be called outside a transaction.
    func snapshot() throws -> (any ServerSnapshot)?

    /// See ``ServerSnapshot/digest(isCancelled:)``; for a database in memory. Outside a transaction.
    func digest(isCancelled: () -> Bool) throws -> [UInt8]

    /// Drops the oldest groups beyond what is to be kept, and the tombstones of their deletions, in a small transaction
    /// of its own. Every engine that applies the same journal drops the same.
    ///
    /// - Parameters:
    ///   - keepingVersions: the most entries to keep.
    ///   - keepingBytes: the most bytes of entries to keep.
    ///   - time: groups that were accepted earlier are dropped; nil for none because of their age.
    ///   - entriesMax: the most entries to drop in this call, if the first group has no more.
    ///   - pinned: the version after which everything is kept in any case; nil for none.
    /// - Returns: the number of entries dropped.
    @discardableResult
    func trimLog(
        keepingVersions: UInt64, keepingBytes: Int, acceptedSince time: Timestamp?, entriesMax: Int, pinned: UInt64?
    ) throws -> Int

    /// All indexes of objects, except those of keys.
    func indexes() throws -> [QueryExplanation.Index]

    /// The indexes that ``make(_:)`` made, in this or an earlier run of the server.
    func automaticIndexes() throws -> [TableIndex]

    /// Makes an index in a transaction of its own. O(n log n) in the rows of the class.
    func make(_ index: TableIndex) throws

    /// Drops an index that ``make(_:)`` made, in a transaction of its own.
    func drop(_ index: TableIndex) throws

    /// An upper bound of the number of rows in a class's table. O(1).
    func rowCountMax(ofClass classIndex: Int) throws -> Int

    /// Moves committed pages from the write-ahead log into the database file, as far as no reader prevents it. Between
    /// transactions only.
    ///
    /// - Parameter truncating: whether to cut the write-ahead log to nothing too.
    func checkpoint(truncating: Bool) throws

    /// Writes a copy of the database to a new file, which appears whole or not at all. Between transactions only.
    func copy(toFile path: String) throws
}

extension StorageUpkeep {
    /// Drops the oldest groups, whoever has not seen them.
    @discardableResult
    package func trimLog(
        keepingVersions: UInt64, keepingBytes: Int, acceptedSince time: Timestamp?, entriesMax: Int
    ) throws -> Int {
        try trimLog(
            keepingVersions: keepingVersions, keepingBytes: keepingBytes, acceptedSince: time, entriesMax: entriesMax,
            pinned: nil)
    }

    /// Drops the oldest groups whatever their age.
    @discardableResult
    package func trimLog(keepingVersions: UInt64, keepingBytes: Int, entriesMax: Int) throws -> Int {
        try trimLog(
            keepingVersions: keepingVersions, keepingBytes: keepingBytes, acceptedSince: nil, entriesMax: entriesMax,
            pinned: nil)
    }
}
