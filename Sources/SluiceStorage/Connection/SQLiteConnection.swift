internal import CSQLite
internal import SluiceQuery

/// One connection to an SQLite database. Used by one thread at a time.
final class SQLiteConnection {
    /// Nil once closed.
    private(set) var handle: OpaquePointer?
    /// What messages call the database.
    let name: String
    /// How the file is used.
    let access: FileAccess
    /// The size of the file at which it counts as full, in bytes; nil for none.
    private var byteCountMax: Int?
    /// Fails writes on purpose; tests install it.
    var faults: FaultPlan?
    /// What the running query may do; nil where there is no limit.
    var workLimit: WorkLimit?
    /// What conditions have come to since the limit is in force.
    var evaluationMemo: EvaluationMemo?
    /// What the running statement remembers; a statement that runs within another has its own.
    var queryMemo: QueryMemo?
    /// Lets statements read values that are not stored.
    private let cellTables = CellTableModule()
    /// Rows that are to be written before any other statement runs; nil if there are none.
    var unwritten: (any UnwrittenRows)?
    /// The pages that the write-ahead log had after the last commit; 0 unless it is bounded.
    private(set) var loggedPageCount = 0
    private var loggedPageCountMax = Int.max
    /// The first error of a write since the transaction began.
    private(set) var writeFailure: StorageError?
    /// Prepared statements that nobody uses at the moment.
    private var idle: [String: Statement] = [:]
    private static let idleMax = 256
    /// Set up once in a process, before its first connection. Where others use SQLite already, it stays as they have
    /// it.
    private static let isLibraryConfigured = sluice_sqlite_stop_counting_memory() == SQLITE_OK

    /// - Parameters:
    ///   - location: an SQLite URI, or `:memory:`; ``FileAccess/location(_:)`` makes one of a path.
    ///   - name: what messages call the database.
    ///   - access: how the file is used.
    init(location: String, name: String, access: FileAccess = .write) throws(StorageError) {
        _ = Self.isLibraryConfigured
        var handle: OpaquePointer?
        let mode = access.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = mode | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let result = sqlite3_open_v2(location, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(handle)
            throw .sqlite(result, file: name, detail: detail)
        }
        self.handle = handle
        self.name = name
        self.access = access
        try cellTables.install(on: self)
        sqlite3_busy_timeout(handle, 5_000)
        guard case .readAlone = access else { return }
        _ = sluice_sqlite_keep_log(handle)
        // SQLite then keeps the index of the log in memory.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
    }

    /// Opens a file.
    convenience init(path: String, access: FileAccess) throws(StorageError) {
        try self.init(location: access.location(path), name: path, access: access)
    }

    deinit { close() }

    /// Ends the connection: at once, or with the last statement that others keep. What comes later throws.
    func close() {
        idle.removeAll()
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Sets what every connection of a store has in common.
    ///
    /// - Parameter cacheSize: the page cache, in bytes.
    func configure(durability: StorageDurability, cacheSize: Int) throws(StorageError) {
        try configure(durability: durability)
        try execute("PRAGMA secure_delete = OFF")
        // Damage is noticed as a page is read, and not by what is made of it.
        try execute("PRAGMA cell_size_check = ON")
        try execute("PRAGMA foreign_keys = OFF")
        try execute("PRAGMA temp_store = MEMORY")
        try execute("PRAGMA cache_size = -\(cacheSize / 1024)")
    }

    /// Keeps checkpoints out of commits until the write-ahead log has so many pages; see ``LogCheckpointer``. From then on
    /// each commit moves pages into the file, as far as no reader prevents it.
    func boundLog(to pageCount: Int) {
        loggedPageCountMax = pageCount
        // The connection is not retained: nothing is committed by it once it has ended, so the hook is not called then.
        sqlite3_wal_hook(
            handle,
            { context, handle, _, pageCount in
                guard let context else { return SQLITE_OK }
                let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
                connection.loggedPageCount = Int(pageCount)
                if connection.loggedPageCount >= connection.loggedPageCountMax {
                    sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Sets whether commits are synced; between transactions.
    func configure(durability: StorageDurability) throws(StorageError) {
        try execute("PRAGMA synchronous = \(durability == .full ? "FULL" : "NORMAL")")
    }

    /// Makes the file count as full when it has a size, in bytes; nil for SQLite's own limit.
    func limitFile(to byteCount: Int?) throws {
        let pageSize = try integer("PRAGMA page_size") ?? 4096
        // The largest number of pages that SQLite takes.
        let pageCount = byteCount.map { max(1, Int64($0) / pageSize) } ?? 0xFFFF_FFFE
        try execute("PRAGMA max_page_count = \(pageCount)")
        byteCountMax = byteCount
    }

    // MARK: Statements

    /// Runs a statement prepared for this once. Rows are skipped.
    func execute(_ sql: String) throws(StorageError) {
        let statement = try Statement(sql, on: self, isPersistent: false)
        while try statement.step() {}
    }

    /// A statement of the caller's own, to keep and run many times.
    func prepare(_ sql: String) throws(StorageError) -> Statement {
        try Statement(sql, on: self, isPersistent: true)
    }

    /// Lends a statement out of the cache; it is reset afterwards. Lending the same text twice at once is fine.
    func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
        let statement = try idle.removeValue(forKey: sql) ?? prepare(sql)
        defer {
            statement.reset()
            if idle.count >= Self.idleMax { idle.removeAll() }
            idle[sql] = statement
        }
        return try body(statement)
    }

    /// Runs `body` while ``CellTableModule/name`` is the table of these cells.
    func reading<Result, Failure>(
        _ cells: CellTable, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Unwritten rows may have to be written first.
        let outer = cellTables.cells
        cellTables.cells = cells
        defer { cellTables.cells = outer }
        return try body()
    }

    /// The integer in the first column of the first row; nil if there is no row or it is null.
    func integer(_ sql: String) throws -> Int64? {
        try withStatement(sql) { statement in
            try statement.step() && !statement.isNull(0) ? statement.int(0) : nil
        }
    }

    /// The database's file; nil for one in memory.
    var path: String? {
        guard let handle, let path = sqlite3_db_filename(handle, "main"), path.pointee != 0 else { return nil }
        return String(cString: path)
    }

    /// How many rows the last statement changed.
    var changeCount: Int { Int(sqlite3_changes64(handle)) }

    /// Whether the path that was opened leads to another file by now, or to none.
    var hasMoved: Bool {
        var result: Int32 = 0
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &result)
        return result != 0
    }

    /// Has ``close()`` leave the files beside the database where they are. SQLite removes them by their names, and the
    /// names may have been given to other files since.
    func keepLogOnClose() {
        var isKept: Int32 = 1
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
    }

    // MARK: Transactions

    /// Whether a transaction is open. SQLite itself ends one after some errors.
    var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    func begin() throws {
        writeFailure = nil
        try withStatement("BEGIN IMMEDIATE") { try $0.run() }
    }

    /// Begins reading: everything until ``rollback()`` or ``commit()`` sees one version.
    func beginReading() throws { try withStatement("BEGIN") { try $0.run() } }

    /// Commits; after an error the transaction is rolled back.
    ///
    /// - Throws: the error of a write of the transaction, if one failed, since the write may be done in part.
    func commit() throws {
        do {
            try writeUnwritten()
            if let writeFailure { throw writeFailure }
            try checkFault()
            try withStatement("COMMIT") { try $0.run() }
        } catch {
            rollback()
            throw error
        }
    }

    /// Runs several writes as one, within a transaction or without.
    func atomically(_ body: () throws -> Void) throws {
        try execute("SAVEPOINT step")
        do {
            try body()
            try execute("RELEASE step")
        } catch {
            dropUnwritten()
            if isInTransaction { sqlite3_exec(handle, "ROLLBACK TO step; RELEASE step", nil, nil, nil) }
            throw error
        }
    }

    func rollback() {
        dropUnwritten()
        guard isInTransaction else { return }
        sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    // MARK: Errors

    func error(_ result: Int32) -> StorageError {
        guard let handle else { return StorageError(.misuse, "\(name) is closed; open it again") }
        if result & 0xFF == SQLITE_FULL, let byteCountMax {
            return StorageError(
                .full,
                "\(name): the database would be larger than its quota of \(byteCountMax) bytes, or no space is left; "
                    + "allow it more or free some space", sqliteCode: result)
        }
        return .sqlite(result, file: name, detail: String(cString: sqlite3_errmsg(handle)))
    }

    /// Fails if the fault plan says so.
    func checkFault() throws(StorageError) {
        guard let faults, let result = faults.next() else { return }
        rollback()
        let error = StorageError.sqlite(result, file: name, detail: "injected")
        noteWriteFailure(error)
        throw error
    }

    /// Notes that a write failed, so that the transaction cannot be committed.
    func noteWriteFailure(_ error: StorageError) { writeFailure = writeFailure ?? error }

    // MARK: Unwritten rows

    /// Writes what waits to be written.
    func writeUnwritten() throws(StorageError) {
        guard let rows = unwritten else { return }
        unwritten = nil
        do throws(StorageError) { try rows.write() } catch {
            noteWriteFailure(error)
            throw error
        }
    }

    /// Forgets what waits to be written.
    private func dropUnwritten() {
        unwritten?.drop()
        unwritten = nil
    }
}

/// Rows that a connection keeps to write them together. They are written before anything else is read or written, so
/// nobody can tell.
protocol UnwrittenRows: AnyObject {
    func write() throws(StorageError)

    /// Forgets the rows, which the rolled back transaction takes with it.
    func drop()
}
