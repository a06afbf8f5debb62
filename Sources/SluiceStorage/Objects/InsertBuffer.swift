/// New rows of one class that are stored with one statement, as soon as anything else is read or written or there are
/// enough of them.
final class InsertBuffer: UnwrittenRows {
    /// Fewer rows than this are stored as fast one by one.
    private static let rowCountMin = 4
    /// The most bytes of texts and blobs that wait.
    private static let byteCountMax = 1 << 20

    let cells: CellTable
    private let connection: SQLiteConnection
    /// The table keeps the buffer.
    private unowned let table: ClassTable
    private let rowCountMax: Int

    init(_ table: ClassTable, _ connection: SQLiteConnection, rowCountMax: Int) {
        self.table = table
        self.connection = connection
        self.rowCountMax = rowCountMax
        cells = CellTable(width: 3 + (table.isKeyed ? 0 : 2) + table.singles.count, rowCountMax: rowCountMax)
    }

    /// Whether the rows should be written now.
    var isFull: Bool { cells.rowCount >= rowCountMax || cells.byteCount >= Self.byteCountMax }

    func drop() { cells.removeAll() }

    func write() throws(StorageError) {
        defer { cells.removeAll() }
        if cells.rowCount < Self.rowCountMin { table.absentKeys.noteShortRun() }
        let statement = try table.statement(.insertBuffered) {
            """
            INSERT INTO \(table.name) (\(table.rowColumns().joined(separator: ", ")), \(TableLayout.state)) \
            SELECT \((0..<cells.width).map { "c\($0)" }.joined(separator: ", ")), \(TableLayout.State.present) \
            FROM \(CellTableModule.name)
            """
        }
        try connection.reading(cells) { () throws(StorageError) in try statement.run() }
    }
}
