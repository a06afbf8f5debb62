package import SluiceModel
package import SluiceQuery
package import SluiceViews
package import SluiceWire

/// One database of a server: objects, the log of accepted uploads, and the clients.
///
/// Everything is synchronous and belongs to one thread. Reads see the open transaction.
package protocol ServerStorage: ObjectWriting {
    /// Drawn when the database was made.
    var databaseID: ObjectID { get }

    /// The stretch of history that the next version belongs to. A new one begins each time that the database is opened,
    /// so that a version of a history that was undone, by restoring a backup, is told from that of the same number.
    var epoch: UInt64 { get }

    /// The last version in the log, that of the open transaction included; 0 before the first upload.
    var version: UInt64 { get }

    /// When ``version`` was accepted; nil if there is none, or the log has it no more.
    var acceptedAt: Timestamp? { get }

    /// The oldest version that the log reaches back to: replay is possible from here on.
    var logStart: UInt64 { get }

    /// Runs `body`, whose reads together may do no more than a limit allows. Outside a transaction, and not within another
    /// limit.
    ///
    /// - Throws: ``StorageError/Code/interrupted`` when the limit is reached, ``StorageError/Code/cancelled`` when nobody
    ///   waits any more, and what `body` throws.
    func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result

    /// The database as it is now, to be read beside the writer; nil where there can be no other connection, as in memory.
    /// Outside a transaction.
    func snapshot() throws -> (any ServerSnapshot)?

    /// The objects that match a query, limits aside: in the query's order if it sorts, else in that of storage.
    ///
    /// - Parameter cursor: of a query that does not sort, where the page before ended; nil for all.
    func roots(matching query: Query, after cursor: RowCursor?) throws -> [ObjectRef]

    /// How often the object was deleted so far; 0 for an unknown one.
    func incarnation(of object: ObjectRef) throws -> UInt64

    /// Adds an entry to the log. Its version must be ``version`` + 1.
    func append(_ entry: LogEntry) throws

    /// The entries after a version in ascending order, until `body` returns false.
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func forEachLogEntry(after version: UInt64, _ body: (LogEntry) throws -> Bool) throws

    /// The version that last wrote or deleted an object; nil if the database does not know it.
    func lastVersion(of object: ObjectRef) throws -> UInt64?

    /// A version up to which everything was written earlier than a time; 0 if none is known.
    func version(before timestamp: HybridTimestamp) -> UInt64

    /// What was done to an object after a version, by the log.
    ///
    /// Answered from memory for recent versions; an older one reads the log back to it, once.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func history(of object: ObjectRef, since version: UInt64) throws -> ObjectHistory

    /// Every object touched after a version, with its image at that version (nil if it did not exist), in the order in
    /// which they were first touched.
    ///
    /// - Parameter countMax: the most objects wanted; no more of the log is read once there are more.
    /// - Returns: nil if there are more objects.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func oldImages(since version: UInt64, countMax: Int) throws -> [(object: ObjectRef, row: Row?)]?

    /// Drops the oldest entries beyond what is to be kept, and the tombstones that only they explained. Its own small
    /// transaction.
    ///
    /// - Parameters:
    ///   - keepingVersions: the most entries to keep.
    ///   - keepingBytes: the most bytes of entries to keep.
    ///   - entriesMax: the most entries to drop in this call.
    /// - Returns: the number of entries dropped.
    @discardableResult
    func trimLog(keepingVersions: UInt64, keepingBytes: Int, entriesMax: Int) throws -> Int

    /// Makes a client, with an id that none had before.
    ///
    /// - Parameter sequence: the last upload that counts as accepted from it.
    func makeClient(userID: String?, nonce: ObjectID, sequence: UInt64, createdAt: Timestamp) throws -> ClientRecord

    /// A client by id; nil if there is none.
    func client(_ id: UInt64) throws -> ClientRecord?

    /// Stores a changed record of a client.
    func update(_ client: ClientRecord) throws

    /// Notes the last upload accepted from a client.
    func setClientProgress(_ id: UInt64, sequence: UInt64) throws

    /// Forgets a client and what was refused of it.
    func removeClient(_ id: UInt64) throws

    /// Whether there was a client of an id in this history, whether or not it is known still.
    func hasGivenID(_ id: UInt64) throws -> Bool

    /// How many clients are known. O(n).
    var clientCount: Int { get throws }

    /// Notes that clients are here, and up to date.
    func noteSeen(_ clients: [UInt64], at time: Timestamp) throws

    /// Forgets clients that were last here before a time, and whose version the log no longer reaches or that never
    /// uploaded anything. Looks at the next clients in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: where the last call stopped; 0 to begin.
    ///   - countMax: the most clients to look at.
    /// - Returns: how many were forgotten, and where to go on; nil after the last client.
    func forgetClients(lastSeenBefore time: Timestamp, after id: UInt64, countMax: Int) throws -> (
        count: Int, next: UInt64?
    )

    /// Keeps what was refused of a client's until the client has heard of it. Of the most recent ones,
    /// ``rejectionCountMax`` are kept.
    func addRejection(_ rejection: ServerMessage.Rejection, of client: UInt64) throws

    /// What was refused of a client's and is still kept, ascending by sequence.
    func rejections(of client: UInt64) throws -> [ServerMessage.Rejection]

    /// Drops what a client has heard of.
    ///
    /// - Parameter sequence: the highest of them.
    func dropRejections(of client: UInt64, through sequence: UInt64) throws

    /// Begins a new stretch of history after ``version``.
    ///
    /// - Parameter id: drawn anew each time.
    func beginEpoch(_ id: UInt64) throws

    /// Whether a version that a client reached in an epoch is part of this history. False for epochs long gone.
    func reaches(_ version: UInt64, inEpoch id: UInt64) -> Bool

    /// Every index of objects, but for those of keys.
    func indexes() throws -> [QueryExplanation.Index]

    /// The indexes that ``make(_:)`` made, in whatever run of the server.
    func automaticIndexes() throws -> [TableIndex]

    /// Makes an index. Its own transaction, O(n log n) in the rows of the class.
    func make(_ index: TableIndex) throws

    /// Drops an index that ``make(_:)`` made. Its own transaction.
    func drop(_ index: TableIndex) throws

    /// At most how many rows a class's table has, in O(1).
    func rowCountMax(ofClass classIndex: Int) throws -> Int

    /// Moves committed pages from the write-ahead log into the database file, as far as no reader prevents it. Between
    /// transactions only.
    ///
    /// - Parameter truncating: whether to cut the write-ahead log to nothing too.
    func checkpoint(truncating: Bool) throws

    /// Writes a copy of the database to a new file, which appears whole or not at all. Between transactions only.
    func copy(toFile path: String) throws
}

extension ServerStorage {
    /// Makes a client that has uploaded nothing.
    package func makeClient(userID: String?, nonce: ObjectID, createdAt: Timestamp) throws -> ClientRecord {
        try makeClient(userID: userID, nonce: nonce, sequence: 0, createdAt: createdAt)
    }

    /// Every object touched after a version, with its image at that version, however many there are.
    package func oldImages(since version: UInt64) throws -> [(object: ObjectRef, row: Row?)] {
        try oldImages(since: version, countMax: .max) ?? []
    }
}
