package import SluiceModel
package import SluiceQuery
package import SluiceViews
package import SluiceWire

/// One database of a server: objects, the log of accepted transactions, and the clients.
///
/// Everything is synchronous and belongs to one thread. Reads see the open transaction.
package protocol ServerStorage: ObjectWriting {
    /// Chosen at random when the database was created.
    var databaseID: ObjectID { get }

    /// The epoch that the next version belongs to. A new one begins each time the database is opened, so that a version
    /// that was undone by restoring a backup can be told from the later version of the same number.
    var epoch: UInt64 { get }

    /// The last version in the log, that of the open transaction included; 0 before the first upload.
    var version: UInt64 { get }

    /// When ``version`` was accepted; nil if there is none, or if the log no longer has it.
    var acceptedAt: Timestamp? { get }

    /// The version after which the log begins: the changes after it, or after any later version, can be read.
    var logStart: UInt64 { get }

    /// Why the database takes no writes: it is damaged. Nil while no damage was met. Every transaction fails with it
    /// from then on, also after the database is opened again, until the file is whole.
    var damage: StorageError? { get }

    /// Remembers that the database is damaged. Outside a transaction.
    ///
    /// - Parameter error: an error of damage, see ``StorageError/isOfDamage``.
    func note(damage error: StorageError)

    /// The version at which a property got another type last; nil if none did. A query may find other objects since
    /// then, though none has changed: `5 / 2` is 2 with integers.
    var retypedVersion: UInt64? { get }

    /// Runs `body` and limits the work of all its reads together. Must be called outside a transaction and outside
    /// another limit.
    ///
    /// - Throws: ``StorageError/Code/interrupted`` when the limit is reached, ``StorageError/Code/cancelled`` when
    ///   nobody waits for the result any more, and what `body` throws.
    func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result

    /// Opens a snapshot of the database as it is now, to be read beside the writer; nil where there can be no second
    /// connection, as in memory. Must be called outside a transaction.
    func snapshot() throws -> (any ServerSnapshot)?

    /// The objects that match a query. If the query sorts or has stages, they come in its order and up to its limit;
    /// else in the order of storage, and whatever its limit.
    ///
    /// - Parameter cursor: for a query without order, where the page before ended; nil for all objects.
    func roots(matching query: Query, after cursor: RowCursor?) throws -> [ObjectRef]

    /// How often the object has been deleted; 0 for an unknown one.
    func incarnation(of object: ObjectRef) throws -> UInt64

    /// Adds an entry to the log. Its version must be ``version`` + 1.
    func append(_ entry: LogEntry) throws

    /// Calls `body` with the entries after a version in ascending order, until it returns false.
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func forEachLogEntry(after version: UInt64, _ body: (LogEntry) throws -> Bool) throws

    /// The version that last wrote or deleted an object; nil if the database does not know it.
    func lastVersion(of object: ObjectRef) throws -> UInt64?

    /// A version up to which everything was written earlier than a time; 0 if none is known.
    func version(before timestamp: HybridTimestamp) -> UInt64

    /// What was done to an object after a version, according to the log.
    ///
    /// Recent versions are answered from memory; for an older one the log is read back to it once.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func history(of object: ObjectRef, since version: UInt64) throws -> ObjectHistory

    /// Every object touched after a version, with its image at that version (nil if it did not exist), in the order in
    /// which they were first touched.
    ///
    /// - Parameter countMax: the most objects wanted; the log is not read on once there are more.
    /// - Returns: nil if there are more objects.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func oldImages(since version: UInt64, countMax: Int) throws -> [(object: ObjectRef, row: Row?)]?

    /// Drops the oldest entries beyond what is to be kept, and the tombstones of their deletions, in a small
    /// transaction of its own.
    ///
    /// - Parameters:
    ///   - keepingVersions: the most entries to keep.
    ///   - keepingBytes: the most bytes of entries to keep.
    ///   - entriesMax: the most entries to drop in this call.
    /// - Returns: the number of entries dropped.
    @discardableResult
    func trimLog(keepingVersions: UInt64, keepingBytes: Int, entriesMax: Int) throws -> Int

    /// Creates a client, with an id that no client has had before.
    ///
    /// - Parameter sequence: the sequence of the last transaction that counts as acknowledged.
    func makeClient(userID: String?, nonce: ObjectID, sequence: UInt64, createdAt: Timestamp) throws -> ClientRecord

    /// A client by id; nil if there is none.
    func client(_ id: UInt64) throws -> ClientRecord?

    /// Stores a changed record of a client.
    func update(_ client: ClientRecord) throws

    /// Stores the sequence of the last transaction acknowledged to a client.
    func setClientProgress(_ id: UInt64, sequence: UInt64) throws

    /// Removes a client and its rejections.
    func removeClient(_ id: UInt64) throws

    /// Whether a client has ever had an id in this history, known or removed.
    func hasGivenID(_ id: UInt64) throws -> Bool

    /// The number of clients. O(n).
    var clientCount: Int { get throws }

    /// Records that clients are connected and up to date.
    func noteSeen(_ clients: [UInt64], at time: Timestamp) throws

    /// Removes clients that were last connected before a time, if the log no longer reaches back to their version or
    /// they never uploaded anything. One call looks at some clients, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: where the last call stopped; 0 to begin.
    ///   - countMax: the most clients to look at.
    /// - Returns: how many were removed, and where to continue; nil after the last client.
    func forgetClients(lastSeenBefore time: Timestamp, after id: UInt64, countMax: Int) throws -> (
        count: Int, next: UInt64?
    )

    /// Stores a rejection until the client confirms it. Only the last ``rejectionCountMax`` are kept.
    func addRejection(_ rejection: ServerMessage.Rejection, of client: UInt64) throws

    /// The stored rejections of a client, ascending by sequence.
    func rejections(of client: UInt64) throws -> [ServerMessage.Rejection]

    /// Drops the rejections that a client has confirmed.
    ///
    /// - Parameter sequence: the highest of their sequences.
    func dropRejections(of client: UInt64, through sequence: UInt64) throws

    /// Begins a new epoch after ``version``.
    ///
    /// - Parameter id: a number chosen at random.
    func beginEpoch(_ id: UInt64) throws

    /// Whether a version that a client reached in an epoch is part of this history. False for an epoch that is no
    /// longer stored.
    func reaches(_ version: UInt64, inEpoch id: UInt64) -> Bool

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

extension ServerStorage {
    /// Creates a client that has uploaded nothing.
    package func makeClient(userID: String?, nonce: ObjectID, createdAt: Timestamp) throws -> ClientRecord {
        try makeClient(userID: userID, nonce: nonce, sequence: 0, createdAt: createdAt)
    }

    /// Every object touched after a version, with its image at that version, however many there are.
    package func oldImages(since version: UInt64) throws -> [(object: ObjectRef, row: Row?)] {
        try oldImages(since: version, countMax: .max) ?? []
    }
}
