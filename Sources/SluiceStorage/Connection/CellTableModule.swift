internal import CSQLite

/// Lets statements read a ``CellTable`` as the table ``name`` (SQLite's "The Virtual Table Mechanism Of SQLite",
/// section 1.1.2: a table-valued module without arguments). Its columns are `c0`, `c1` and so on.
///
/// One `INSERT … SELECT` from it stores a page of rows in half the time that as many single inserts take.
final class CellTableModule {
    static let name = "sluice_cells"
    /// More than any class has, with the columns that every table has.
    private static let columnCount = 520

    /// What the table has at present; empty between statements.
    var cells: CellTable?

    /// Makes the table known to a connection, which keeps the module for as long as it is open.
    func install(on connection: SQLiteConnection) throws(StorageError) {
        let result = sqlite3_create_module_v2(
            connection.handle, Self.name, Self.callbacks, Unmanaged.passRetained(self).toOpaque()
        ) { module in
            if let module { Unmanaged<CellTableModule>.fromOpaque(module).release() }
        }
        guard result == SQLITE_OK else { throw connection.error(result) }
    }

    /// SQLite's structure, and behind it ours, as the mechanism demands: SQLite passes on the address of its own, which is
    /// that of the whole. The connection keeps the module for longer than any table, and a cursor its cells until it is
    /// closed.
    private struct Table {
        var base = sqlite3_vtab()
        let module: Unmanaged<CellTableModule>
    }

    private struct Cursor {
        var base = sqlite3_vtab_cursor()
        let cells: Unmanaged<CellTable>
        let rowCount: Int
        var row = 0
    }

    private typealias TablePointer = UnsafeMutablePointer<sqlite3_vtab>
    private typealias CursorPointer = UnsafeMutablePointer<sqlite3_vtab_cursor>

    private static func cursor(_ pointer: CursorPointer?) -> UnsafeMutablePointer<Cursor>? {
        pointer.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Cursor.self) }
    }

    /// Made once in a process and never changed, so every thread may read it.
    nonisolated(unsafe) private static let callbacks: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        // Without xCreate the table exists in every connection and cannot be made by a statement.
        module.xConnect = { connection, module, _, _, table, _ in
            guard let module, let table else { return SQLITE_ERROR }
            let columns = (0..<CellTableModule.columnCount).map { "c\($0)" }.joined(separator: ", ")
            let result = sqlite3_declare_vtab(connection, "CREATE TABLE x (\(columns))")
            guard result == SQLITE_OK else { return result }
            let own = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            own.initialize(to: Table(module: Unmanaged<CellTableModule>.fromOpaque(module)))
            table.pointee = UnsafeMutableRawPointer(own).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        module.xBestIndex = { _, plan in
            plan?.pointee.estimatedCost = 1_000
            return SQLITE_OK
        }
        module.xDisconnect = { table in
            UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self).deallocate()
            return SQLITE_OK
        }
        module.xOpen = { table, cursor in
            guard let table, let cursor else { return SQLITE_ERROR }
            let module = UnsafeMutableRawPointer(table).assumingMemoryBound(to: Table.self).pointee.module
            guard let cells = module.takeUnretainedValue().cells else { return SQLITE_MISUSE }
            let own = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
            own.initialize(to: Cursor(cells: Unmanaged.passRetained(cells), rowCount: cells.rowCount))
            cursor.pointee = UnsafeMutableRawPointer(own).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        module.xClose = { pointer in
            let cursor = CellTableModule.cursor(pointer)
            cursor?.pointee.cells.release()
            cursor?.deallocate()
            return SQLITE_OK
        }
        module.xFilter = { pointer, _, _, _, _ in
            CellTableModule.cursor(pointer)?.pointee.row = 0
            return SQLITE_OK
        }
        module.xNext = { pointer in
            CellTableModule.cursor(pointer)?.pointee.row += 1
            return SQLITE_OK
        }
        module.xEof = { pointer in
            guard let cursor = CellTableModule.cursor(pointer) else { return 1 }
            return cursor.pointee.row < cursor.pointee.rowCount ? 0 : 1
        }
        module.xColumn = { pointer, context, column in
            guard let cursor = CellTableModule.cursor(pointer) else { return SQLITE_ERROR }
            let row = cursor.pointee.row
            cursor.pointee.cells._withUnsafeGuaranteedRef { $0.answer(context, row: row, column: Int(column)) }
            return SQLITE_OK
        }
        module.xRowid = { pointer, row in
            row?.pointee = Int64(CellTableModule.cursor(pointer)?.pointee.row ?? 0)
            return SQLITE_OK
        }
        let copy = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        copy.initialize(to: module)
        return UnsafePointer(copy)
    }()
}
