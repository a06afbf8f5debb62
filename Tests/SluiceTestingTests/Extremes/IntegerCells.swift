import CSQLite
import Foundation
import SluiceModel
import SluiceTesting
import SluiceWire

/// The integers of a SQLite file, each of which can be replaced.
struct IntegerCells {
    /// One integer in a table.
    struct Cell {
        let table: String
        let column: String
        /// Finds the row.
        let condition: String

        /// The bytes that are there; nil for an integer.
        var bytes: [UInt8]?

        var name: String { "\(table).\(column) where \(condition)" }
    }

    /// What stands in the place of an integer, as SQL.
    static let extremes = [
        "-1", "4294967296", "4611686018427387903", "9223372036854775807", "(-9223372036854775807 - 1)", "NULL",
        "'text'",
    ]

    /// The file.
    let bytes: Data
    let cells: [Cell]

    /// - Parameter rowCountMax: the number of rows of a table, from its ends, that count. Of single values, all do.
    init(_ path: String, rowCountMax: Int = 1) throws {
        bytes = try Data(contentsOf: URL(filePath: path))
        var cells: [Cell] = []
        let database = try Handle(path)
        let tables = try database.rows(
            "SELECT name, sql LIKE '%WITHOUT ROWID%' FROM sqlite_master WHERE type = 'table'")
        for table in tables {
            let (name, hasRows) = (table[0], table[1] == "0")
            let quoted = "\"" + name.replacing("\"", with: "\"\"") + "\""
            let columns = try database.rows("SELECT name, pk FROM pragma_table_info('\(name)')")
            let keys = hasRows ? ["rowid"] : columns.filter { $0[1] != "0" }.map { "\"\($0[0])\"" }
            let order = keys.joined(separator: ", ")
            let parts = keys.map { "'\($0) IS ' || quote(\($0))" }.joined(separator: " || ' AND ' || ")
            let all = try database.rows("SELECT \(parts) FROM \(quoted) ORDER BY \(order)").map { $0[0] }
            let chosen = Set(all.prefix(rowCountMax / 2) + all.suffix(rowCountMax - rowCountMax / 2))
            // Every row of a table of single values is about something else.
            for condition in name.hasPrefix("_meta") ? all : chosen.sorted() {
                for column in columns {
                    let text = "\"\(column[0])\""
                    let found = try database.rows(
                        "SELECT typeof(\(text)), hex(\(text)) FROM \(quoted) WHERE \(condition)")
                    switch found.first?.first {
                    case "integer": cells.append(Cell(table: quoted, column: text, condition: condition))
                    case "blob":
                        cells.append(
                            Cell(
                                table: quoted, column: text, condition: condition,
                                bytes: Hexadecimal.decode(found[0][1])))
                    default: break
                    }
                }
            }
        }
        self.cells = cells
    }

    /// Calls `body` with each integer and each of what may stand there instead, and with some numbers in blobs, drawn
    /// from a seed.
    func forEachCase(blobCaseCount: Int, _ body: (Cell, _ value: String) throws -> Void) rethrows {
        for cell in cells where cell.bytes == nil {
            for value in Self.extremes { try body(cell, value) }
        }
        let blobs = cells.filter { $0.bytes?.isEmpty == false }
        guard !blobs.isEmpty else { return }
        var random = SeededGenerator(seed: UInt64(blobs.count))
        for _ in 0..<blobCaseCount {
            let cell = blobs[Int.random(in: blobs.indices, using: &random)]
            guard let bytes = cell.bytes else { continue }
            let offset = Int.random(in: bytes.indices, using: &random)
            var writer = ByteWriter()
            writer.varint(extremeNumbers[Int.random(in: extremeNumbers.indices, using: &random)])
            // One byte for another keeps the lengths around it.
            let isShort = Bool.random(using: &random)
            let number = isShort ? [UInt8.random(in: 0...255, using: &random)] : writer.bytes
            let changed = bytes[..<offset] + number + bytes[(offset + 1)...]
            try body(cell, "x'\(Hexadecimal.encode(changed))'")
        }
    }

    /// Writes the file with something else in a cell, alone into its folder.
    ///
    /// - Returns: false if the table does not take that there.
    func write(to path: String, _ cell: Cell, _ value: String) throws -> Bool {
        try write(to: path)
        let sql = "UPDATE \(cell.table) SET \(cell.column) = \(value) WHERE \(cell.condition)"
        return (try? Handle(path).rows(sql)) != nil
    }

    /// Writes the file as it was, alone into its folder.
    func write(to path: String) throws {
        // With nothing that an earlier file of this name has left.
        let folder = URL(filePath: path).deletingLastPathComponent()
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try bytes.write(to: URL(filePath: path))
    }

    private struct Failure: Error {
        let message: String
    }

    /// A connection to a file.
    private final class Handle {
        private var handle: OpaquePointer?

        init(_ path: String) throws {
            guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
                throw Failure(message: "\(path) cannot be opened")
            }
            sqlite3_exec(handle, "PRAGMA synchronous = OFF", nil, nil, nil)
        }

        deinit { sqlite3_close(handle) }

        func rows(_ sql: String) throws -> [[String]] {
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
                throw Failure(message: "\(sql): \(String(cString: sqlite3_errmsg(handle)))")
            }
            var rows: [[String]] = []
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_ROW:
                    rows.append(
                        (0..<sqlite3_column_count(statement)).map { column in
                            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
                        })
                case SQLITE_DONE: return rows
                default: throw Failure(message: "\(sql): \(String(cString: sqlite3_errmsg(handle)))")
                }
            }
        }
    }
}
