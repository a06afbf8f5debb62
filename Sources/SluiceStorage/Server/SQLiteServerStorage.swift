package import SluiceModel
package import SluiceQuery

/// A database of a server as its journal makes it: objects, the log, sequences and rejections of clients, epochs, rules,
/// records of jobs and the schema, by positions and versions.
///
/// All of that changes only by groups of the journal: by ``apply(_:)``, or by methods that make a step of the
/// transaction's own group. Everything is synchronous and belongs to one thread. Reads see the open transaction.
///
/// The server's `CommitPipeline` opens the transactions of groups, and `Database` those of everything else. What is sent is
/// read after the commit. A transaction of a server alone on a file is on the disk when it returns. ``apply(_:)`` stores
/// the group's record too, so a journal of this file needs no write of its own.
package final class SQLiteServerStorage: SQLiteWritableStore {
    /// Chosen at random when the database was created.
    package let databaseID: ObjectID

    /// The last version in the log, that of the open transaction included; 0 before the first upload.
    package var version: UInt64 { log.version }
    /// The version after which the log begins: the changes after it, or after any later version, can be read.
    package var logStart: UInt64 { log.start }
    /// When ``version`` was accepted; nil if there is none, or if the log no longer has it.
    package var acceptedAt: Timestamp? { version > 0 ? log.acceptedAt : nil }
    /// When the last group was accepted, also one that made no version; the next is accepted no earlier. 0 before the
    /// first.
    package var groupAcceptedAt: Timestamp { log.acceptedAt }

    /// The extent of the log, known without reading it.
    struct LogState {
        var start: UInt64
        var version: UInt64
        var head: JournalHead
        var byteCount = 0
        /// When the last group was accepted.
        var acceptedAt = Timestamp(microseconds: 0)
        /// When the group was accepted that made ``version``: the time of queries.
        var time = Timestamp(microseconds: 0)
        /// The version at which values of another type came into the objects last.
        var retyped: UInt64?

        /// Reads where the log ends.
        init(_ connection: SQLiteConnection, databaseID: ObjectID, start: UInt64) throws {
            self.start = start
            version = start
            head = JournalHead(of: databaseID)
            let file = connection.name
            let sql = "SELECT position, version, accepted, chain FROM _journal ORDER BY position DESC LIMIT 1"
            try connection.withStatement(sql) { statement in
                guard try statement.step() else { return }
                version = UInt64(try statement.number(1, file: file, what: "the version of the last log entry"))
                acceptedAt = Timestamp(
                    microseconds: try statement.number(
                        2, in: StoredNumber.times, file: file, what: "the time of the last log entry"))
                let position = try statement.number(
                    0, in: 1...StoredNumber.counts.upperBound, file: file, what: "the position of the last log entry")
                head = JournalHead(position: UInt64(position), chain: statement.blob(3))
            }
            guard start <= version else {
                throw StorageError.damaged(file, "the log begins after version \(start) and ends with \(version)")
            }
            time = try Self.time(connection, ofLast: version, start: start) ?? acceptedAt
        }

        /// When the last version was accepted. O(groups since that made none).
        ///
        /// - Returns: nil if an older server has trimmed the log up to it.
        private static func time(_ connection: SQLiteConnection, ofLast version: UInt64, start: UInt64) throws
            -> Timestamp?
        {
            if version == start { return try storedTime(connection) }
            var time: Int64?
            let sql = "SELECT version, accepted FROM _journal ORDER BY position DESC"
            try connection.withStatement(sql) { statement in
                while try statement.step(), UInt64(clamping: statement.int(0)) == version { time = statement.int(1) }
            }
            return time.map { Timestamp(microseconds: $0) }
        }

        /// When the version was accepted after which the log begins.
        static func storedTime(_ connection: SQLiteConnection) throws -> Timestamp? {
            try MetaTable(connection).integer("logStartTime").map { Timestamp(microseconds: $0) }
        }

        /// Reads how large the log is, and the latest time in it.
        mutating func measure(_ connection: SQLiteConnection) throws -> HybridTimestamp? {
            byteCount = Int(try connection.integer("SELECT sum(length(record) + length(undo)) FROM _journal") ?? 0)
            let latest = try connection.integer("SELECT max(latest) FROM _journal")
            return latest.map { HybridTimestamp(microseconds: $0) }
        }
    }

    var log: LogState { didSet { tables.now = log.time } }
    var committedLog: LogState
    package var epochs: [Epoch] = []
    var writeIndex: WriteIndex?
    /// Where the steps of a transaction that is no group are appended, before it commits; nil if nobody else appends to
    /// this database.
    package var journal: (any Journal)?
    /// What the open transaction has done beyond applied groups.
    var pendingSteps: [JournalStep] = []
    var versionClock: VersionClock
    /// Why the database takes no writes: it is damaged. Nil while no damage was met. Every transaction fails with it
    /// from then on, also after the database is opened again, until the file is whole.
    package internal(set) var damage: StorageError? { didSet { isMakingIDIndexes = damage == nil } }

    /// Opens a database, or creates it.
    ///
    /// - Parameters:
    ///   - databaseID: the id of a new database; an existing one keeps its own.
    ///   - durability: what a commit survives.
    ///   - byteCountMax: the size of the file, in bytes, at which it counts as full, without the write-ahead log; nil
    ///     for no limit. A file that is larger already does not grow any more.
    package static func open(
        _ location: StorageLocation, databaseID: ObjectID, durability: StorageDurability = .full,
        byteCountMax: Int? = nil
    ) throws -> SQLiteServerStorage {
        let (connection, file) = try connect(location, kind: .server, durability: durability) { connection in
            try makeTables(on: connection, databaseID: databaseID)
        }
        if byteCountMax != nil { try connection.limitFile(to: byteCountMax) }
        let storage = try SQLiteServerStorage(connection, file: file)
        try storage.admit(databaseID: storage.databaseID, isSynced: durability == .full)
        storage.recallDamage()
        return storage
    }

    /// Whether a path leads to anything, or to what is left of a database. Then opening it makes no new one.
    package static func isTaken(_ path: String) -> Bool { DatabasePath.isTaken(path) }

    /// Gives a database that is not open another name: that of its file with `-foreign`, and a number if that is taken.
    ///
    /// - Returns: the name of the file, without its folder.
    package static func setAside(_ path: String) throws -> String { try DatabasePath.resolve(path).setAside() }

    /// Makes the file count as full when it has a size, in bytes, without the write-ahead log; nil for no limit. Outside a
    /// transaction.
    package func limitFile(to byteCount: Int?) throws { try connection.limitFile(to: byteCount) }

    /// How many bytes the file would have without the pages that are free, the write-ahead log left out. O(1).
    package var usedByteCount: Int {
        get throws {
            let pages = try connection.integer("PRAGMA page_count") ?? 0
            let free = try connection.integer("PRAGMA freelist_count") ?? 0
            return Int((pages - free) * (try connection.integer("PRAGMA page_size") ?? 4_096))
        }
    }

    private override init(_ connection: SQLiteConnection, file: OpenFile?) throws {
        let meta = MetaTable(connection)
        let id = try Self.databaseID(connection)
        databaseID = id
        let start = UInt64(try meta.integer("logStart") ?? 0)
        log = try LogState(connection, databaseID: id, start: start)
        var latest: HybridTimestamp?
        do {
            latest = try log.measure(connection)
        } catch let error as StorageError where error.isOfDamage {
            // The objects can be served without what was done to them.
            log.start = log.version
            log.byteCount = 0
            damage = error
        }
        log.retyped = try meta.integer("retyped").map { UInt64($0) }
        committedLog = log
        versionClock = VersionClock(version: log.version, latest: latest)
        try super.init(connection, file: file)
        tables.now = log.time
        epochs = try storedEpochs()
    }

    /// The id that a database has.
    static func databaseID(_ connection: SQLiteConnection) throws -> ObjectID {
        guard let bytes = try MetaTable(connection).blob("databaseID"), let id = ObjectID(Hexadecimal.encode(bytes))
        else { throw StorageError.damaged(connection.name, "the database id is missing") }
        return id
    }

    private static func makeTables(on connection: SQLiteConnection, databaseID: ObjectID) throws {
        try makeJournal(on: connection)
        try connection.execute(
            """
            CREATE TABLE _clients (id INTEGER PRIMARY KEY, user TEXT, nonce BLOB NOT NULL, \
            sequence INTEGER NOT NULL, version INTEGER NOT NULL, created INTEGER NOT NULL, seen INTEGER NOT NULL)
            """)
        try connection.execute(
            """
            CREATE TABLE _rejections (client INTEGER NOT NULL, sequence INTEGER NOT NULL, rejection BLOB NOT NULL, \
            PRIMARY KEY (client, sequence)) WITHOUT ROWID
            """)
        try MetaTable(connection).set("databaseID", SQLBinding.bytes(of: databaseID))
        try makeEpochs(on: connection)
        try makeJobs(on: connection)
    }

    override var commitCount: UInt64 { version }

    override func begin() throws {
        if let damage { throw damage }
        try super.begin()
    }

    package override func close() {
        let record = damageRecord
        super.close()
        // What SQLite does as it closes changes the file.
        if let damage { record?.write(damage.damage) }
    }

    override func willCommit() throws { try storePendingSteps() }

    override func didCommit() {
        committedLog = log
        if writeIndex?.isOutgrown() ?? false { writeIndex = nil }
    }

    /// The index is dropped, since it may have values of properties that were removed.
    override func didChangeSchema() { writeIndex = nil }

    package override func merge(_ other: Schema, sides: (own: String, other: String)) throws -> SchemaChanges {
        let changes = try mergeSchema(other, sides: sides)
        if !changes.isEmpty { pendingSteps.append(.schema(other)) }
        return changes
    }

    func mergeSchema(_ other: Schema, sides: (own: String, other: String)) throws -> SchemaChanges {
        let changes = try super.merge(other, sides: sides)
        if changes.retypes.contains(where: { $0.type.element != schema[$0.position].type.element }) {
            log.retyped = version
            try meta.set("retyped", Int64(version))
        }
        return changes
    }

    package override func removeClass(_ classIndex: Int) throws {
        try perform(.removal(classIndex: classIndex, property: nil))
    }

    package override func removeProperty(_ property: Int, ofClass classIndex: Int) throws {
        try perform(.removal(classIndex: classIndex, property: property))
    }

    func removeFromSchema(_ classIndex: Int, _ property: Int?) throws {
        if let property {
            try super.removeProperty(property, ofClass: classIndex)
        } else {
            try super.removeClass(classIndex)
        }
    }

    /// The version at which a property got another type last; nil if none did. A query may find other objects since
    /// then, though none has changed: `5 / 2` is 2 with integers.
    package var retypedVersion: UInt64? { log.retyped }

    override func didRollBack() {
        log = committedLog
        pendingSteps = []
        versionClock.rollBack(to: log.version)
        writeIndex = nil
        if let stored = try? storedEpochs() { epochs = stored }
    }

    /// Whether ``snapshot()`` can open another connection.
    package var canBeReadAside: Bool { connection.path != nil }

    /// Opens a snapshot of the database as it is now, to be read beside the writer; nil where there can be no second
    /// connection, as in memory. Must be called outside a transaction.
    package func snapshot() throws -> ServerSnapshot? {
        guard let path = connection.path else { return nil }
        let snapshot = try ServerSnapshot(
            path: path, access: obstacle == nil ? .read : connection.access, schema: schema, version: version, time: now
        )
        do { try checkFile() } catch {
            // The path led to another file.
            snapshot.close()
            throw error
        }
        return snapshot
    }

    /// The objects that match a query. If the query sorts or has stages, they come in its order and up to its limit;
    /// else in the order of storage, and whatever its limit.
    ///
    /// - Parameter cursor: for a query without order, where the page before ended; nil for all objects.
    package func roots(matching query: Query, after cursor: RowCursor?) throws -> [ObjectRef] {
        try tables.roots(matching: query, after: cursor, in: self)
    }

    /// How often the object has been deleted, or a creation has met it; 0 for an unknown one.
    package func incarnation(of object: ObjectRef) throws -> UInt64 { try tables.incarnation(of: object) }

    /// Whether anything is known of an object: it is present, deleted, or the target of a link.
    package func knows(_ object: ObjectRef) throws -> Bool { try tables.knows(object) }

    /// Stores those rows of a batch of whose objects nothing is known.
    ///
    /// - Returns: the positions of the others, ascending.
    func insertUnknown(_ batch: RowBatch) throws -> [Int] {
        try requireTransaction()
        return try tables.insertUnknown(batch, at: Array(batch.keys.indices)).leftOut
    }

    /// Whether anything is known of an object of a class with a key in a range. O(log n).
    package func knowsAny(in keys: ClosedRange<ObjectKey>, ofClass classIndex: Int) throws -> Bool {
        try tables.knowsAny(in: keys, ofClass: classIndex)
    }

    /// Writes a copy of the database to a new file, which appears whole or not at all. Between transactions only.
    package func copy(toFile path: String) throws {
        guard !connection.isInTransaction else {
            throw StorageError(.misuse, "\(connection.name): a transaction is open; commit it before copying")
        }
        try DatabaseFile.copy(connection, to: path)
    }

    /// Copies the database to a new file and opens the copy. If it cannot be opened, nothing is left of it, so that it
    /// can be tried again.
    package func copy<Opened>(toFile path: String, andOpen open: () throws -> Opened) throws -> Opened {
        try copy(toFile: path)
        let copy = FileIdentity(path: path)
        do { return try open() } catch {
            if copy == FileIdentity(path: path) { try? DatabasePath.resolve(path).removeFiles() }
            throw error
        }
    }
}
