internal import SluiceModel
internal import SluiceQuery

/// The rows of a batch whose objects are present.
struct PresentRows {
    /// Their positions in the batch, in no particular order, and beside each its local row id.
    var positions: [Int] = []
    var rows: [Int64] = []
    /// What those that change were before and are now, where somebody asks for it.
    var changes: [(position: Int, old: Row, row: Row)] = []
    /// The positions of all others, ascending.
    var leftOut: [Int] = []
}

extension ObjectTables {
    /// Changes those rows of a batch whose objects are present, with two statements for a thousand rows. A row that is
    /// later than the batch's stays as it is.
    ///
    /// - Parameters:
    ///   - positions: the rows of the batch to look at, ascending.
    ///   - isReadingOlds: whether to return the rows that change. Those that are the same already are not written then.
    /// - Returns: the rows whose objects are present. An object that comes again in the batch is left out there.
    func updatePresent(_ batch: RowBatch, at positions: [Int], isReadingOlds: Bool) throws -> PresentRows {
        let table = try table(batch.classIndex)
        let columns = BatchColumns(batch, table)
        let rows = BatchRows(batch, of: table.schema)
        var present = PresentRows()
        var seen = RowBitmap()
        for start in stride(from: 0, to: positions.count, by: rowsPerStatementMax) {
            let chunk = positions[start..<min(start + rowsPerStatementMax, positions.count)]
            let found = try find(batch, at: chunk, table, isReadingOlds: isReadingOlds)
            let update = BulkUpdate(batch, columns, table, rowCountMax: chunk.count)
            var isPresent = [Bool](repeating: false, count: chunk.count)
            for object in found where object.isPresent && seen.insert(object.row) {
                isPresent[object.offset] = true
                let position = chunk[chunk.startIndex + object.offset]
                present.positions.append(position)
                present.rows.append(object.row)
                if let old = object.old {
                    guard let row = rows.row(at: position, replacing: old) else { continue }
                    present.changes.append((position, old, row))
                }
                guard object.version <= batch.versions[position] else { continue }
                try update.add(object, position)
            }
            try update.run(on: self)
            for (offset, position) in chunk.enumerated() where !isPresent[offset] { present.leftOut.append(position) }
        }
        return present
    }
}

/// Collects changes of rows of one class, all of the same properties, and stores them with one statement.
private final class BulkUpdate {
    private let batch: RowBatch
    private let columns: BatchColumns
    private let table: ClassTable
    private let cells: CellTable
    private let carried: PropertySet
    /// The columns that change, by their positions among all.
    private let singles: [Int]
    private let collections: [Int]
    private var changed: [(row: Int64, position: Int)] = []

    init(_ batch: RowBatch, _ columns: BatchColumns, _ table: ClassTable, rowCountMax: Int) {
        self.batch = batch
        self.columns = columns
        self.table = table
        carried = PropertySet(batch.properties)
        let written = carried.subtracting(PropertySet(table.schema.primaryKeyIndex.map { [$0] } ?? []))
        singles = table.singles.indices.filter { written.contains(table.singles[$0].property) }
        collections = table.collections.indices.filter { written.contains(table.collections[$0].property) }
        cells = CellTable(width: 3 + table.keyColumns.count + singles.count, rowCountMax: rowCountMax)
    }

    func add(_ object: FoundObject, _ position: Int) throws {
        cells.beginRow()
        cells.bind(1, object.row)
        cells.bind(2, Int64(bitPattern: batch.versions[position]))
        cells.bind(3, object.absent.subtracting(carried))
        try table.bind(batch.keys[position], from: 4, to: cells)
        changed.append((object.row, position))
    }

    func run(on tables: ObjectTables) throws {
        guard !changed.isEmpty else { return }
        table.held = nil
        let positions = changed.map(\.position)[...]
        var column = Int32(4 + table.keyColumns.count)
        for single in singles {
            try tables.fill(
                cells, column, table.singles[single], with: columns.singles[single], of: columns, at: positions, table)
            column += 1
        }
        try tables.connection.reading(cells) {
            try table.statement(.updateTogether(carried)) { sql }.run()
        }
        for collection in collections {
            let column = table.collections[collection]
            for (row, position) in changed {
                try tables.deleteElements(of: column, ofRow: row, table)
                try tables.insertElements(
                    columns.value(columns.collections[collection], at: position), column, ofRow: row, table)
            }
        }
    }

    /// An insertion that always meets a row with the same id, since that changes rows in place as they come: `UPDATE`
    /// would first write what it reads from another table to a table of its own.
    private var sql: String {
        let changed = [TableLayout.version, TableLayout.absent] + singles.map { table.singles[$0].name }
        let names =
            [TableLayout.row, TableLayout.version, TableLayout.absent] + table.keyColumns
            + singles.map { table.singles[$0].name }
        return """
            INSERT INTO \(table.name) (\(names.joined(separator: ", ")), \(TableLayout.state)) \
            SELECT \((0..<cells.width).map { "c\($0)" }.joined(separator: ", ")), \(TableLayout.State.present) \
            FROM \(CellTableModule.name) WHERE true ON CONFLICT (\(TableLayout.row)) DO UPDATE SET \
            \(changed.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
    }
}
