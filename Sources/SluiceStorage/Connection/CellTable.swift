internal import CSQLite

/// Rows of values in the form in which SQLite takes them, for a statement that reads them as a table.
///
/// It is filled like the parameters of a statement, row after row.
final class CellTable: ParameterSink {
    private enum Kind: UInt8 {
        case null, integer, real, text, blob
    }

    private struct Cell {
        var kind = Kind.null
        var length: Int32 = 0
        /// The number, or the address of the bytes.
        var word: UInt64 = 0
    }

    let width: Int
    private let cells: UnsafeMutableBufferPointer<Cell>
    private var arena = BindingArena()
    private(set) var rowCount = 0

    init(width: Int, rowCountMax: Int) {
        self.width = width
        cells = .allocate(capacity: width * rowCountMax)
        cells.initialize(repeating: Cell())
    }

    deinit { cells.deallocate() }

    /// Begins the next row, all null.
    ///
    /// - Precondition: there is room for it.
    func beginRow() {
        precondition((rowCount + 1) * width <= cells.count, "more rows than there is room for")
        rowCount += 1
    }

    // MARK: Filling: columns of the last row, counted from 1

    private func set(_ column: Int32, _ kind: Kind, _ word: UInt64, length: Int = 0) {
        cells[(rowCount - 1) * width + Int(column) - 1] = Cell(kind: kind, length: Int32(clamping: length), word: word)
    }

    func bindNull(_ index: Int32) {}

    func bind(_ index: Int32, _ value: Int64) { set(index, .integer, UInt64(bitPattern: value)) }

    func bind(_ index: Int32, _ value: Double) { set(index, .real, value.bitPattern) }

    func bind(_ index: Int32, _ value: String) {
        var value = value
        value.withUTF8 { set(index, .text, bytes: UnsafeRawBufferPointer($0)) }
    }

    func bind(_ index: Int32, _ value: [UInt8]) { value.withUnsafeBytes { set(index, .blob, bytes: $0) } }

    func bindBytes(_ index: Int32, _ bytes: UnsafeRawBufferPointer) { set(index, .blob, bytes: bytes) }

    private func set(_ column: Int32, _ kind: Kind, bytes: UnsafeRawBufferPointer) {
        let copy = arena.copy(bytes)
        set(column, kind, UInt64(UInt(bitPattern: copy)), length: bytes.count)
    }

    // MARK: Reading

    /// Hands a cell to SQLite. The bytes stay valid for as long as the table lives.
    func answer(_ context: OpaquePointer?, row: Int, column: Int) {
        guard column < width else { return sqlite3_result_null(context) }
        let cell = cells[row * width + column]
        switch cell.kind {
        case .null: sqlite3_result_null(context)
        case .integer: sqlite3_result_int64(context, Int64(bitPattern: cell.word))
        case .real: sqlite3_result_double(context, Double(bitPattern: cell.word))
        case .text:
            sqlite3_result_text(context, UnsafePointer<CChar>(bitPattern: UInt(cell.word)), cell.length, nil)
        case .blob: sqlite3_result_blob(context, UnsafeRawPointer(bitPattern: UInt(cell.word)), cell.length, nil)
        }
    }
}
