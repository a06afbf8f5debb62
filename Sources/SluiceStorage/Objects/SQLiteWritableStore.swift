package import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// The writing half of every store: transactions, and a schema that grows. A subclass that keeps more in memory
/// restores that in ``didRollBack()``.
package class SQLiteWritableStore: SQLiteObjectStore {
    let connection: SQLiteConnection
    let meta: MetaTable
    /// Held while the store is open; nil in memory.
    let file: OpenFile?
    private var committedSchema: Schema
    /// Keeps the write-ahead log short beside the commits; nil in memory, and where nothing can be written.
    private(set) var checkpointer: LogCheckpointer?
    /// By how many pages the write-ahead log grows before it is moved into the file. Tests use fewer.
    package var loggedPageCount = 4_000 { didSet { makeCheckpointer() } }

    init(_ connection: SQLiteConnection, file: OpenFile?) throws {
        self.connection = connection
        self.file = file
        meta = MetaTable(connection)
        committedSchema = try meta.schema(file: connection.name)
        super.init(try ObjectTables(connection, schema: committedSchema), isReadOnly: false)
        makeCheckpointer()
    }

    private func makeCheckpointer() {
        checkpointer?.close()
        guard let file, file.obstacle == nil, let path = connection.path else { return }
        connection.boundLog(to: 10 * loggedPageCount)
        checkpointer = LogCheckpointer(path: path, after: loggedPageCount)
    }

    /// Opens the connection of a store, and creates the store if there is none.
    ///
    /// - Parameter prepare: adds to a new database what the kind of store needs beyond objects.
    static func connect(
        _ location: StorageLocation, kind: DatabaseHeader.Kind, durability: StorageDurability,
        prepare: (SQLiteConnection) throws -> Void
    ) throws -> (SQLiteConnection, OpenFile?) {
        func fill(_ connection: SQLiteConnection) throws {
            try prepareObjects(on: connection)
            try prepare(connection)
        }
        switch location {
        case .file(let path):
            let (connection, file) = try DatabaseFile.open(path, kind: kind, prepare: fill)
            try connection.configure(durability: durability, cacheSize: 64 << 20)
            return (connection, file)
        case .memory:
            let connection = try SQLiteConnection(location: ":memory:", name: "the store in memory")
            try connection.configure(durability: durability, cacheSize: 64 << 20)
            try DatabaseFile.fill(connection, kind: kind, prepare: fill)
            return (connection, nil)
        }
    }

    /// Adds to a new database what every store needs.
    static func prepareObjects(on connection: SQLiteConnection) throws {
        try MetaTable.make(on: connection)
        try MetaTable(connection).set("schema", StoredSchema(Schema()).wireBytes())
    }

    /// Runs `body`, and counts and limits the work of what it reads.
    package func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result {
        try connection.withWorkLimit(limit, body)
    }

    /// Rolls back an open transaction, closes the file and frees its lock. Later calls of the store throw.
    package func close() {
        guard connection.handle != nil else { return }
        rollback()
        tables.close()
        checkpointer?.close()
        try? checkFile()
        if failure != nil { connection.keepLogOnClose() }
        connection.close()
        file?.close(commitCount: commitCount)
    }

    /// How much was committed, for the marker of the file: a later commit of importance has a higher number.
    var commitCount: UInt64 { 0 }

    /// What was noticed as the file was opened, and is fine; nil in general.
    package private(set) var openingNotice: String?

    /// Compares what the file holds with its marker; to be called once, when ``commitCount`` is known.
    func admit(databaseID: ObjectID?, isSynced: Bool) throws {
        openingNotice = try file?.admit(databaseID: databaseID, commitCount: commitCount, isSynced: isSynced)
    }

    /// Why the store can no longer be used, since its file vanished; nil while it can.
    package var failure: StorageError? { file?.failure }

    /// Looks whether the store's file is still where it was opened.
    ///
    /// - Throws: ``StorageError/Code/vanished`` if it is not; every transaction fails from then on.
    package func checkFile() throws { try file?.check() }

    /// Why the store was opened for reading only, such as a full disk; ``transaction(_:)`` throws it. Nil if it can be written.
    package var obstacle: StorageError? { file?.obstacle }

    /// Tries whether the store's file could be written now: writes a file beside it and removes it.
    ///
    /// - Returns: what prevents it; nil if nothing does.
    package func probe() -> StorageError? { file?.probe() }

    /// Called before a commit, to write what else belongs to the transaction.
    func willCommit() throws {}

    /// Called after a commit that succeeded.
    func didCommit() {}

    /// Called after the schema changed within the open transaction.
    func didChangeSchema() {}

    /// Called after the transaction was undone, for whatever reason.
    func didRollBack() {}

    // MARK: Transactions

    /// Whether a transaction is open.
    package var isInTransaction: Bool { connection.isInTransaction }

    func begin() throws {
        guard !connection.isInTransaction else {
            throw StorageError(.misuse, "\(connection.name): a transaction is open already; commit or roll back first")
        }
        if let failure { throw failure }
        if let obstacle { throw obstacle }
        try connection.begin()
    }

    func commit() throws {
        // SQLite may have ended the transaction with the write that failed.
        if let failure = connection.writeFailure, !isInTransaction { throw failure }
        try requireTransaction()
        do {
            try willCommit()
            try connection.commit()
            try file?.confirm(commitCount: commitCount)
        } catch {
            undo()
            throw error
        }
        committedSchema = tables.schema
        checkpointer?.note(connection.loggedPageCount, every: loggedPageCount)
        didCommit()
    }

    func rollback() { undo() }

    /// Runs `body` in a write transaction, and makes what it did durable and visible at its end. If `body` throws, or
    /// if a write in it fails and `body` does not throw, nothing of it is stored. There is at most one transaction at a
    /// time.
    ///
    /// - Throws: what `body` throws, or the first error of a write; ``StorageError/Code/vanished`` if the store's file
    ///   is no longer where it was opened, since what was committed would be lost with it.
    package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try begin()
        return try finish(body)
    }

    /// Runs `body` in the transaction that was begun, and ends it.
    func finish<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            rollback()
            throw error
        }
    }

    private func undo() {
        connection.rollback()
        // If the tables cannot be opened again, the next call meets the same error.
        try? tables.recover(schema: committedSchema)
        didRollBack()
    }

    /// Throws unless a transaction is open. SQLite ends a transaction by itself after some errors, and what follows
    /// must not be committed alone.
    func requireTransaction() throws {
        guard connection.isInTransaction else {
            throw StorageError(.misuse, "\(connection.name): no transaction is open; begin one before writing")
        }
    }

    // MARK: Objects

    /// Adds the classes, properties, indexes, names and wider types of `other` that the schema does not have. Existing
    /// rows get the defaults of new properties. O(rows) where numbers become wider, else independent of the rows.
    ///
    /// - Parameter sides: what to call the store and `other` in messages.
    /// - Throws: `SchemaError` when the two schemas contradict each other; nothing is then changed.
    package func merge(_ other: Schema, sides: (own: String, other: String)) throws -> SchemaChanges {
        try requireTransaction()
        let changes = try tables.merge(other, sides: sides)
        if !changes.isEmpty { try storeSchema() }
        return changes
    }

    /// Adds the schema of a server, and takes the names that the server has.
    ///
    /// - Throws: `SchemaError` when the server identifies objects in another way; nothing is then changed.
    package func adopt(_ server: Schema) throws -> SchemaChanges {
        try requireTransaction()
        let changes = try tables.adopt(server)
        if !changes.isEmpty { try storeSchema() }
        return changes
    }

    /// Removes a class that has no objects and that no property links to. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    package func removeClass(_ classIndex: Int) throws {
        try requireTransaction()
        try tables.removeClass(classIndex)
        try storeSchema()
    }

    /// Removes a property of which no object has another value than the default. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    package func removeProperty(_ property: Int, ofClass classIndex: Int) throws {
        try requireTransaction()
        try tables.removeProperty(property, ofClass: classIndex)
        try storeSchema()
    }

    private func storeSchema() throws {
        try meta.set("schema", StoredSchema(tables.schema).wireBytes())
        didChangeSchema()
    }

    /// Stores a new object. A ghost or deleted object of that key becomes present in place.
    ///
    /// - Throws: ``StorageError/Code/constraint`` if the object is present.
    package func insert(_ row: Row, ofClass classIndex: Int) throws {
        try requireTransaction()
        try tables.insert(row, ofClass: classIndex, ifKnown: .refusePresent)
    }

    /// Stores a new object if it is not present. Faster than asking first whether it is.
    ///
    /// - Returns: false, and nothing is changed, if the object is present.
    package func insertIfAbsent(_ row: Row, ofClass classIndex: Int) throws -> Bool {
        try requireTransaction()
        return try tables.insert(row, ofClass: classIndex, ifKnown: .keepPresent)
    }

    /// Writes properties of a present object, and the row's version and `absent`.
    ///
    /// - Parameters:
    ///   - row: the new row.
    ///   - changed: the properties to write.
    ///   - edits: how lists in `row` come from what is stored, so that only their changed elements need be written.
    /// - Throws: ``StorageError/Code/notFound`` if the object is not present.
    package func update(
        _ row: Row, ofClass classIndex: Int, changed: PropertySet, edits: [Int: ListEdits]
    ) throws {
        try requireTransaction()
        try tables.update(row, ofClass: classIndex, changed: changed, edits: edits)
    }

    /// Stores a row, whether or not the object is present.
    package func put(_ row: Row, ofClass classIndex: Int) throws {
        try requireTransaction()
        try tables.insert(row, ofClass: classIndex, ifKnown: .replace)
    }

    /// Removes an object's content and leaves a tombstone; does nothing if it is not present.
    ///
    /// - Parameter version: the version of the tombstone.
    package func delete(_ object: ObjectRef, version: UInt64) throws {
        try requireTransaction()
        try tables.delete(object, version: version)
    }

    /// Leaves a tombstone of an object that is not present, known or not.
    func noteDeletion(of object: ObjectRef, version: UInt64) throws {
        try requireTransaction()
        try tables.noteDeletion(of: object, version: version)
    }

    /// Notes of a present object that it has, or may come to have, more than one creation.
    func noteRebirth(of object: ObjectRef) throws {
        try requireTransaction()
        try tables.noteRebirth(of: object)
    }

    /// Moves committed pages into the database file.
    package func checkpoint(truncating: Bool) throws {
        try connection.execute("PRAGMA wal_checkpoint(\(truncating ? "TRUNCATE" : "PASSIVE"))")
    }

    /// How many rows a statement stores at the most. Tests use fewer.
    package var rowsPerStatementMax: Int {
        get { tables.rowsPerStatementMax }
        set { tables.rowsPerStatementMax = newValue }
    }

    /// How many elements a list has at the least for edits to write single rows. Tests use fewer.
    package var heldElementCountMin: Int {
        get { tables.heldElementCountMin }
        set { tables.heldElementCountMin = newValue }
    }

    /// Fails writes on purpose, for tests of recovery.
    package var faults: FaultPlan? {
        get { connection.faults }
        set { connection.faults = newValue }
    }
}

extension SQLiteWritableStore {
    /// Writes properties of a present object as wholes.
    package func update(_ row: Row, ofClass classIndex: Int, changed: PropertySet) throws {
        try update(row, ofClass: classIndex, changed: changed, edits: [:])
    }
}
