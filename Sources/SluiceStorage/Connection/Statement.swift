internal import CSQLite

/// A prepared statement: parameters and columns by position, without conversions that nobody asked for.
///
/// Texts and blobs are copied into a buffer of the statement's own, so that binding allocates nothing.
final class Statement: ParameterSink {
    let handle: OpaquePointer
    /// The connection owns its statements and outlives them.
    private unowned(unsafe) let connection: SQLiteConnection
    private let isWriting: Bool
    private var arena = BindingArena()

    init(_ sql: String, on connection: SQLiteConnection, isPersistent: Bool) throws(StorageError) {
        guard let database = connection.handle else { throw connection.error(SQLITE_MISUSE) }
        var handle: OpaquePointer?
        var sql = sql
        let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let result = sql.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_prepare_v3(database, $0.baseAddress, Int32($0.count), flags, &handle, nil)
            }
        }
        guard result == SQLITE_OK, let handle else { throw connection.error(result) }
        self.handle = handle
        self.connection = connection
        isWriting = sqlite3_stmt_readonly(handle) == 0
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Parameters, counted from 1

    func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    func bind(_ index: Int32, _ value: Double) { sqlite3_bind_double(handle, index, value) }

    func bind(_ index: Int32, _ value: String) {
        var value = value
        value.withUTF8 { bytes in
            let copy = arena.copy(UnsafeRawBufferPointer(bytes))
            sqlite3_bind_text(
                handle, index, copy?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count), nil)
        }
    }

    func bind(_ index: Int32, _ value: String?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    func bind(_ index: Int32, _ value: [UInt8]) {
        value.withUnsafeBytes { bindBytes(index, $0) }
    }

    func bindBytes(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else {
            sqlite3_bind_zeroblob(handle, index, 0)
            return
        }
        sqlite3_bind_blob64(handle, index, arena.copy(bytes), UInt64(bytes.count), nil)
    }

    // MARK: Running

    /// Moves to the next row; false at the end.
    func step() throws(StorageError) -> Bool {
        if connection.unwritten != nil { try connection.writeUnwritten() }
        if isWriting { try connection.checkFault() }
        let result = sqlite3_step(handle)
        if result == SQLITE_ROW { return true }
        if result == SQLITE_DONE { return false }
        let error = connection.error(result)
        if isWriting { connection.noteWriteFailure(error) }
        reset()
        throw error
    }

    /// Runs a statement that returns no rows, and makes it ready for the next run.
    func run() throws(StorageError) {
        _ = try step()
        reset()
    }

    /// Runs a statement that may violate a uniqueness constraint.
    ///
    /// - Returns: false if it did; nothing is changed then.
    func runUnlessDuplicate() throws(StorageError) -> Bool {
        if connection.unwritten != nil { try connection.writeUnwritten() }
        try connection.checkFault()
        let result = sqlite3_step(handle)
        switch result {
        case SQLITE_DONE:
            reset()
            return true
        case SQLITE_CONSTRAINT | 8 << 8, SQLITE_CONSTRAINT | 6 << 8:  // SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY
            reset()
            return false
        default:
            let error = connection.error(result)
            connection.noteWriteFailure(error)
            reset()
            throw error
        }
    }

    /// Makes the statement ready for the next run. Parameters must be bound again.
    func reset() {
        sqlite3_reset(handle)
        arena.removeAll()
    }

    // MARK: Columns, counted from 0

    var columnCount: Int32 { sqlite3_column_count(handle) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func isText(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_TEXT }

    func isBlob(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_BLOB }

    func isInteger(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_INTEGER }

    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    func string(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// The column's cell, valid until the next step or reset.
    func cell(_ column: Int32) -> Cell { Cell(value: sqlite3_column_value(handle, column)) }

    /// What a row has in a column. To ask it several things costs less than to ask the statement each time, since that
    /// enters and leaves SQLite's lock; a connection is used by one thread at a time.
    struct Cell {
        fileprivate let value: OpaquePointer?

        var isNull: Bool { sqlite3_value_type(value) == SQLITE_NULL }

        var isText: Bool { sqlite3_value_type(value) == SQLITE_TEXT }

        var int: Int64 { sqlite3_value_int64(value) }

        var double: Double { sqlite3_value_double(value) }

        var string: String { text ?? "" }

        /// The cell as text; nil for null, and where SQLite has no memory for it.
        var text: String? {
            guard let text = sqlite3_value_text(value) else { return nil }
            let count = Int(sqlite3_value_bytes(value))
            return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
        }

        /// The cell as text, valid as long as the cell.
        var utf8: UnsafeRawBufferPointer {
            guard let text = sqlite3_value_text(value) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
            return UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
        }
    }

    /// The column's bytes, valid until the next step or reset.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    func blob(_ column: Int32) -> [UInt8] { Array(bytes(column)) }
}
