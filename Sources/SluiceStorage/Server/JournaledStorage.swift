package import SluiceModel
package import SluiceQuery

/// A database as its journal makes it: objects, the log, sequences and rejections of clients, epochs and the schema, by
/// positions and versions.
///
/// All of that changes only by groups of the journal: by ``apply(_:)``, or by the methods below that make a step of the
/// transaction's own group. Everything is synchronous and belongs to one thread. Reads see the open transaction.
package protocol JournaledStorage: KeyPaging, JobRecords {
    /// Chosen at random when the database was created.
    var databaseID: ObjectID { get }

    /// The epoch that the next version belongs to. A new one begins with each start of a server and each change of history, so that a version
    /// that was undone by restoring a backup can be told from the later version of the same number.
    var epoch: UInt64 { get }

    /// The epochs of this history that are known, in the order of their starts.
    var epochs: [Epoch] { get }

    /// The last version in the log, that of the open transaction included; 0 before the first upload.
    var version: UInt64 { get }

    /// When ``version`` was accepted; nil if there is none, or if the log no longer has it.
    var acceptedAt: Timestamp? { get }

    /// When a version was accepted: the time of queries at that version. The first versions have the time 0 where an older
    /// server has trimmed the log. O(log n).
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func time(ofVersion version: UInt64) throws -> Timestamp

    /// Runs queries at a later time than that of ``version``. Nothing may be applied meanwhile.
    func reading<Result>(at time: Timestamp, _ body: () throws -> Result) rethrows -> Result

    /// Where the steps of a transaction that is no group are appended, before it commits; nil if nobody else appends to
    /// this database.
    var journal: (any Journal)? { get set }

    /// Where the database stands in its journal, the open transaction included.
    var head: JournalHead { get }

    /// Runs `body` in a write transaction, and makes what it did durable and visible at its end. If `body` throws,
    /// nothing of it is stored. There is at most one transaction at a time.
    ///
    /// - Throws: what `body` throws; ``StorageError/Code/vanished`` if the file is no longer where it was opened, since
    ///   what was committed would be lost with it; ``JournalConflict`` if the steps of `body` belong after others that
    ///   are not applied yet.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result

    /// Applies the next record of the journal: makes the objects, the log, sequences, rejections, epochs and schema as
    /// they are after it, from nothing but the record. Within a transaction, which must be undone after an error.
    ///
    /// - Returns: what there is to publish.
    /// - Throws: ``StorageError/Code/journal`` if the record is not the next one of this database's history, or does
    ///   not fit its state.
    func apply(_ record: JournalRecord) throws -> AppliedGroup

    /// Applies a record that was just made of a group for the present state.
    ///
    /// - Parameter known: what the maker has found out about the group's objects.
    func apply(
        _ record: JournalRecord, _ group: JournalGroup, known: KnownObjects
    ) throws -> AppliedGroup

    /// The stored records after a position, see ``Journal/records(after:countMax:)``.
    func records(after position: UInt64, countMax: Int) throws -> [JournalRecord]

    /// Adds the classes, properties, indexes, names and wider types of `other` that the schema does not have. Existing
    /// rows get the defaults of new properties. O(rows) where numbers become wider, else independent of the rows.
    ///
    /// - Parameter sides: what to call the database and `other` in messages.
    /// - Throws: `SchemaError` when the two schemas contradict each other; nothing is then changed.
    func merge(_ other: Schema, sides: (own: String, other: String)) throws -> SchemaChanges

    /// Removes a class that has no objects and that no property links to. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    func removeClass(_ classIndex: Int) throws

    /// Removes a property of which no object has another value than the default. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    func removeProperty(_ property: Int, ofClass classIndex: Int) throws

    /// How many times rules were set; 0 while there are none. The last of them hold.
    var rulesVersion: Int { get throws }

    /// The version of the database at which the present rules were set; 0 if there are none, or if a server set them that
    /// did not note it.
    var rulesSince: UInt64 { get throws }

    /// The rules that were set as the `version`th, counted from 1; nil if there are none, or so many came after them that
    /// they are no longer kept.
    func rules(ofVersion version: Int) throws -> [UInt8]?

    /// Whether the `version`th rules were these, also where they are no longer kept.
    func rules(ofVersion version: Int, are bytes: [UInt8]) throws -> Bool

    /// Sets other rules, which hold from now on. The last ones before them are kept.
    func setRules(_ bytes: [UInt8]) throws

    /// The version after which the log begins: the changes after it, or after any later version, can be read.
    var logStart: UInt64 { get }

    /// The version at which a property got another type last; nil if none did. A query may find other objects since
    /// then, though none has changed: `5 / 2` is 2 with integers.
    var retypedVersion: UInt64? { get }

    /// The objects that match a query. If the query sorts or has stages, they come in its order and up to its limit;
    /// else in the order of storage, and whatever its limit.
    ///
    /// - Parameter cursor: for a query without order, where the page before ended; nil for all objects.
    func roots(matching query: Query, after cursor: RowCursor?) throws -> [ObjectRef]

    /// How often the object has been deleted, or a creation has met it; 0 for an unknown one.
    func incarnation(of object: ObjectRef) throws -> UInt64

    /// Whether anything is known of an object: it is present, deleted, or the target of a link.
    func knows(_ object: ObjectRef) throws -> Bool

    /// Whether anything is known of an object of a class with a key in a range. O(log n).
    func knowsAny(in keys: ClosedRange<ObjectKey>, ofClass classIndex: Int) throws -> Bool

    /// Calls `body` with the entries after a version in ascending order, until it returns false.
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func forEachLogEntry(after version: UInt64, _ body: (LogEntry) throws -> Bool) throws

    /// The version that last wrote or deleted an object; nil if the database does not know it.
    func lastVersion(of object: ObjectRef) throws -> UInt64?

    /// The latest time at which anything was written; nil if nothing was.
    var latestTimestamp: HybridTimestamp? { get }

    /// A version up to which everything was written earlier than a time; 0 if none is known.
    func version(before timestamp: HybridTimestamp) -> UInt64

    /// What was done to an object after a version, according to the log.
    ///
    /// Recent versions are answered from memory; for an older one the log is read back to it once.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func history(of object: ObjectRef, since version: UInt64) throws -> ObjectHistory

    /// Every object touched after a version, with its image at that version (nil if it did not exist), in the order in
    /// which they were first touched, and the properties that were written since.
    ///
    /// - Parameter countMax: the most objects wanted; the log is not read on once there are more.
    /// - Returns: nil if there are more objects.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    func oldImages(
        since version: UInt64, countMax: Int
    ) throws -> [(object: ObjectRef, row: Row?, written: PropertySet)]?

    /// What a client is to be told of its rejected transactions, as the journal has it, ascending by sequence. The last
    /// thousand are kept until the client confirms them.
    func rejections(of client: UInt64) throws -> [[UInt8]]

    /// Drops the rejections that a client has confirmed.
    ///
    /// - Parameter sequence: the highest of their sequences.
    func dropRejections(of client: UInt64, through sequence: UInt64) throws

    /// Begins a new epoch after ``version``.
    ///
    /// - Parameter id: a number chosen at random.
    func beginEpoch(_ id: UInt64) throws

    /// Appends a step at which every server of a cluster computes the digest of its replica.
    func beginComparison() throws

    /// Whether a version that a client reached in an epoch is part of this history. False for an epoch that is no
    /// longer stored.
    func reaches(_ version: UInt64, inEpoch id: UInt64) -> Bool

    /// Up to where the uploads of a client are accepted or rejected; 0 for an unknown one.
    func acceptedSequence(of client: UInt64) throws -> UInt64
}

extension JournaledStorage {
    /// Every object touched after a version, with its image at that version, however many there are.
    package func oldImages(since version: UInt64) throws -> [(object: ObjectRef, row: Row?, written: PropertySet)] {
        try oldImages(since: version, countMax: .max) ?? []
    }
}
