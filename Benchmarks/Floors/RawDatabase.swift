import CSQLite

/// Drives a database with nothing but SQLite's own calls.
final class RawDatabase {
    private let handle: OpaquePointer

    /// Opens a file with the settings that a client's store has.
    init(path: String) throws {
        var handle: OpaquePointer?
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK, let handle
        else { throw BenchmarkError("\(path) cannot be opened") }
        self.handle = handle
        for setting in [
            "synchronous = NORMAL", "secure_delete = OFF", "temp_store = MEMORY", "cache_size = -65536",
            "wal_autocheckpoint = 4000",
        ] {
            try execute("PRAGMA \(setting)")
        }
    }

    deinit { sqlite3_close_v2(handle) }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error(sql) }
    }

    /// The first column of the first row.
    func integer(_ sql: String) throws -> Int {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { throw error(sql) }
        return Int(sqlite3_column_int64(statement, 0))
    }

    /// Reads a whole table in the order of its row ids.
    ///
    /// - Parameter excluded: a column that is left out, so that an insert gives it its default.
    func capture(_ table: String, excluding excluded: String) throws -> CapturedTable {
        let statement = try prepare("SELECT * FROM \(table) ORDER BY _row")
        defer { sqlite3_finalize(statement) }
        let columns = (0..<sqlite3_column_count(statement)).filter {
            String(cString: sqlite3_column_name(statement, $0)) != excluded
        }
        var captured = CapturedTable(
            name: table, columns: columns.map { String(cString: sqlite3_column_name(statement, $0)) })
        while sqlite3_step(statement) == SQLITE_ROW {
            for column in columns { captured.append(column, of: statement) }
        }
        return captured
    }

    /// Inserts rows as they were captured.
    func insert(_ table: CapturedTable) throws {
        let parameters = table.columns.map { _ in "?" }.joined(separator: ", ")
        let statement = try prepare(
            "INSERT INTO \(table.name) (\(table.columns.joined(separator: ", "))) VALUES (\(parameters))")
        defer { sqlite3_finalize(statement) }
        try table.forEachRow(bindingTo: statement) {
            guard sqlite3_step(statement) == SQLITE_DONE else { throw error("an insert into \(table.name)") }
            sqlite3_reset(statement)
        }
    }

    /// Steps through rows and reads every column.
    ///
    /// - Returns: the number of rows.
    func step(_ sql: String) throws -> Int {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        let width = sqlite3_column_count(statement)
        var count = 0
        var sum = 0
        while sqlite3_step(statement) == SQLITE_ROW {
            for column in 0..<width {
                switch sqlite3_column_type(statement, column) {
                case SQLITE_INTEGER: sum &+= Int(sqlite3_column_int64(statement, column))
                case SQLITE_FLOAT: sum &+= Int(sqlite3_column_double(statement, column).bitPattern & 0xFF)
                case SQLITE_TEXT:
                    sum &+= Int(sqlite3_column_text(statement, column)?.pointee ?? 0)
                    sum &+= Int(sqlite3_column_bytes(statement, column))
                default: break
                }
            }
            count += 1
        }
        guard sum != 0 else { throw BenchmarkError("\(sql): every column is empty") }
        return count
    }

    /// Runs a statement once for each of the numbers 0, 1, …, each time in a transaction of its own.
    func commitEach(_ count: Int, _ sql: String) throws {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        for number in 0..<count {
            sqlite3_bind_int64(statement, 1, Int64(number))
            guard sqlite3_step(statement) == SQLITE_DONE else { throw error(sql) }
            sqlite3_reset(statement)
        }
    }

    private func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else { throw error(sql) }
        return statement
    }

    private func error(_ what: String) -> BenchmarkError {
        BenchmarkError("SQLite: \(what): \(String(cString: sqlite3_errmsg(handle)))")
    }
}
