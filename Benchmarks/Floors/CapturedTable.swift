import CSQLite

/// Holds the rows of a table in memory as SQLite stores them, so that they can be bound again without any conversion.
struct CapturedTable {
    private enum Cell {
        case null
        case integer(Int64)
        case real(Double)
        /// A part of `bytes`.
        case text(offset: Int, count: Int32)
        case blob(offset: Int, count: Int32)
    }

    let name: String
    let columns: [String]
    private var cells: [Cell] = []
    private var bytes: [UInt8] = []

    init(name: String, columns: [String]) {
        self.name = name
        self.columns = columns
    }

    var rowCount: Int { cells.count / columns.count }

    mutating func append(_ column: Int32, of statement: OpaquePointer) {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: cells.append(.integer(sqlite3_column_int64(statement, column)))
        case SQLITE_FLOAT: cells.append(.real(sqlite3_column_double(statement, column)))
        case SQLITE_TEXT: cells.append(.text(offset: bytes.count, count: appendBytes(column, of: statement)))
        case SQLITE_BLOB: cells.append(.blob(offset: bytes.count, count: appendBytes(column, of: statement)))
        default: cells.append(.null)
        }
    }

    private mutating func appendBytes(_ column: Int32, of statement: OpaquePointer) -> Int32 {
        let start = sqlite3_column_blob(statement, column)
        let count = sqlite3_column_bytes(statement, column)
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: start, count: Int(count)))
        return count
    }

    /// Binds one row after the other and calls `body` for each.
    func forEachRow(bindingTo statement: OpaquePointer, _ body: () throws -> Void) throws {
        try cells.withUnsafeBufferPointer { cells in
            try bytes.withUnsafeBytes { bytes in
                var index = 0
                while index < cells.count {
                    for column in 1...Int32(columns.count) {
                        bind(cells[index], to: column, of: statement, bytes)
                        index += 1
                    }
                    try body()
                }
            }
        }
    }

    private func bind(_ cell: Cell, to column: Int32, of statement: OpaquePointer, _ bytes: UnsafeRawBufferPointer) {
        switch cell {
        case .null: sqlite3_bind_null(statement, column)
        case .integer(let value): sqlite3_bind_int64(statement, column, value)
        case .real(let value): sqlite3_bind_double(statement, column, value)
        case .text(let offset, let count):
            let start = bytes.baseAddress.map { ($0 + offset).assumingMemoryBound(to: CChar.self) }
            sqlite3_bind_text(statement, column, start, count, nil)
        case .blob(let offset, let count):
            sqlite3_bind_blob(statement, column, bytes.baseAddress.map { $0 + offset }, count, nil)
        }
    }
}
