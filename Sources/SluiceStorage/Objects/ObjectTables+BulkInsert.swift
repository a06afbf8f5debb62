internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// The rows of a batch that were stored.
struct StoredRows {
    /// The local row ids, ascending.
    var rows: [Int64] = []
    /// The positions in the batch that were left out, since something is known of their objects; ascending.
    var leftOut: [Int] = []
}

extension ObjectTables {
    /// Stores those rows of a batch of whose objects nothing is known, not even a ghost or a tombstone, with a
    /// statement for a thousand rows.
    ///
    /// - Parameter positions: the rows of the batch to store.
    func insertUnknown(_ batch: RowBatch, at positions: [Int]) throws -> StoredRows {
        let table = try table(batch.classIndex)
        let columns = BatchColumns(batch, table)
        var stored = StoredRows()
        stored.rows.reserveCapacity(positions.count)
        for start in stride(from: 0, to: positions.count, by: rowsPerStatementMax) {
            let chunk = positions[start..<min(start + rowsPerStatementMax, positions.count)]
            try insertUnknown(batch, at: chunk, columns, table, &stored)
        }
        return stored
    }

    private func insertUnknown(
        _ batch: RowBatch, at positions: ArraySlice<Int>, _ columns: BatchColumns, _ table: ClassTable,
        _ stored: inout StoredRows
    ) throws {
        let cells = CellTable(
            width: 2 + (table.isKeyed ? 0 : 2) + table.singles.count, rowCountMax: positions.count)
        table.absentKeys.forget()
        let first = try table.takeRows(positions.count)
        for (offset, position) in positions.enumerated() {
            cells.beginRow()
            cells.bind(1, first + Int64(offset))
            cells.bind(2, Int64(bitPattern: batch.versions[position]))
            if !table.isKeyed { try table.bind(batch.keys[position], from: 3, to: cells) }
        }
        var column: Int32 = table.isKeyed ? 3 : 5
        for (single, source) in zip(table.singles, columns.singles) {
            try fill(cells, column, single, with: source, of: columns, at: positions, table)
            column += 1
        }
        let count = positions.count
        let insertedCount = try connection.reading(cells) {
            let statement = try table.statement(.insertUnknown) { Self.insertion(into: table, width: cells.width) }
            statement.bind(1, batch.absent)
            try statement.run()
            return connection.changeCount
        }
        let last = first + Int64(count) - 1
        let isStored = insertedCount == count ? nil : try presence(of: first...last, in: table)
        for (offset, position) in positions.enumerated() {
            guard isStored?[offset] ?? true else {
                stored.leftOut.append(position)
                continue
            }
            let row = first + Int64(offset)
            stored.rows.append(row)
            for (column, source) in zip(table.collections, columns.collections) {
                try insertElements(columns.value(source, at: position), column, ofRow: row, table)
            }
            if table.hasIDIndex { try insertID(of: batch.keys[position], row: row, table) }
        }
    }

    private static func insertion(into table: ClassTable, width: Int) -> String {
        let columns =
            [TableLayout.row, TableLayout.version] + (table.isKeyed ? [] : table.keyColumns) + table.singles.map(\.name)
        let values = (0..<width).map { "c\($0)" }
        return """
            INSERT OR IGNORE INTO \(table.name) (\(columns.joined(separator: ", ")), \(TableLayout.absent), \
            \(TableLayout.state)) SELECT \(values.joined(separator: ", ")), ?1, \(TableLayout.State.present) \
            FROM \(CellTableModule.name)
            """
    }

    /// Which of consecutive local row ids are used.
    private func presence(of rows: ClosedRange<Int64>, in table: ClassTable) throws -> [Bool] {
        var isPresent = [Bool](repeating: false, count: rows.count)
        let sql = "SELECT \(TableLayout.row) FROM \(table.name) WHERE \(TableLayout.row) BETWEEN ? AND ?"
        try connection.withStatement(sql) { statement in
            statement.bind(1, rows.lowerBound)
            statement.bind(2, rows.upperBound)
            while try statement.step() {
                let row = statement.int(0)
                // The key of a row and the pages above it can contradict each other in a damaged file.
                guard rows.contains(row) else {
                    throw StorageError(
                        .damaged, "\(connection.name): the table \(table.name) has a row where it does not belong")
                }
                isPresent[Int(row - rows.lowerBound)] = true
            }
        }
        return isPresent
    }
}

/// Where the values of a class's columns are in a batch.
struct BatchColumns {
    enum Source {
        case key
        case column(ValueColumn)
        case constant(Value)
    }

    let singles: [Source]
    let collections: [Source]
    let batch: RowBatch

    init(_ batch: RowBatch, _ table: ClassTable) {
        self.batch = batch
        var offsets: [Int: Int] = [:]
        for (offset, property) in batch.properties.enumerated() { offsets[property] = offset }
        func source(_ column: ClassTable.Column) -> Source {
            if column.property == table.schema.primaryKeyIndex { return .key }
            if let offset = offsets[column.property] { return .column(batch.columns[offset]) }
            return .constant(table.schema.properties[column.property].defaultValue)
        }
        singles = table.singles.map(source)
        collections = table.collections.map(source)
    }

    @inline(__always)
    func value(_ source: Source, at position: Int) -> Value {
        switch source {
        case .key: batch.keys[position].value
        case .column(let column): column.value(at: position, keys: batch.keys)
        case .constant(let value): value
        }
    }
}
