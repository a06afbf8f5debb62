internal import CSQLite
internal import SluiceModel
internal import SluiceWire

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
    /// The bytes of texts and blobs that were copied.
    private(set) var byteCount = 0
    /// Owned by the table, which frees them when it ends. Their addresses lead into ``arena`` and ``texts``.
    private let cells: UnsafeMutableBufferPointer<Cell>
    private var arena = BindingArena()
    private(set) var rowCount = 0
    /// The row that is being filled.
    private var row = 0
    /// The texts that are not in the arena.
    private var texts: [TextColumn.Bytes] = []

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
        row = rowCount
        rowCount += 1
    }

    /// Drops the last row.
    func removeLast() {
        rowCount -= 1
        for index in rowCount * width..<(rowCount + 1) * width { cells[index] = Cell() }
    }

    /// Drops all rows.
    func removeAll() {
        for index in 0..<rowCount * width { cells[index] = Cell() }
        rowCount = 0
        byteCount = 0
        texts = []
        arena.removeAll()
    }

    /// Goes back to a row, to fill more of its columns.
    func select(_ row: Int) {
        precondition(row < rowCount, "there is no such row")
        self.row = row
    }

    // MARK: Filling: columns of the row, counted from 1

    private func set(_ column: Int32, _ kind: Kind, _ word: UInt64, length: Int = 0) {
        cells[row * width + Int(column) - 1] = Cell(kind: kind, length: Int32(clamping: length), word: word)
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
        byteCount += bytes.count
        set(column, kind, UInt64(UInt(bitPattern: copy)), length: bytes.count)
    }

    // MARK: Filling a column of all rows

    /// - Parameters:
    ///   - positions: where the values of the rows are, in the order of the rows.
    ///   - isNull: which positions are null; empty for none.
    @inline(__always)
    func fill(_ column: Int32, _ positions: ArraySlice<Int>, _ isNull: [Bool], _ number: (Int) -> Int64) {
        fill(column, positions, isNull) { Cell(kind: .integer, word: UInt64(bitPattern: number($0))) }
    }

    @inline(__always)
    func fill(_ column: Int32, _ positions: ArraySlice<Int>, _ isNull: [Bool], _ number: (Int) -> Double) {
        fill(column, positions, isNull) { Cell(kind: .real, word: number($0).bitPattern) }
    }

    /// Fills a column with texts that stay where they are.
    func fill(_ column: Int32, _ positions: ArraySlice<Int>, _ isNull: [Bool], _ texts: TextColumn) {
        self.texts.append(texts.bytes)
        fill(column, positions, isNull) { position in
            let text = texts.utf8(texts.index(ofRow: position))
            let address = UInt64(UInt(bitPattern: text.baseAddress))
            return Cell(kind: .text, length: Int32(clamping: text.count), word: address)
        }
    }

    @inline(__always)
    private func fill(_ column: Int32, _ positions: ArraySlice<Int>, _ isNull: [Bool], _ cell: (Int) -> Cell) {
        precondition(positions.count <= rowCount && Int(column) <= width, "the column is not in the table")
        var index = Int(column) - 1
        for position in positions {
            if isNull.isEmpty || !isNull[position] { cells[index] = cell(position) }
            index += width
        }
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
