internal import SluiceModel

/// An object of a batch that has a row in its table.
struct FoundObject {
    /// Its place among the rows that were asked for.
    let offset: Int
    let row: Int64
    let isPresent: Bool
    let version: UInt64
    let absent: PropertySet
    let old: Row?
}

extension ObjectTables {
    /// Finds the objects of some rows of a batch that have a row here.
    ///
    /// - Parameter isReadingOlds: whether to read the rows of those that are present.
    func find(
        _ batch: RowBatch, at positions: ArraySlice<Int>, _ table: ClassTable, isReadingOlds: Bool
    ) throws -> [FoundObject] {
        let found = try findInOrder(batch, at: positions, table, isReadingOlds: isReadingOlds)
        guard found.count < positions.count else { return found }
        return try found
            + findByKey(
                batch, at: positions.dropFirst(found.count), after: found.count, table, isReadingOlds: isReadingOlds)
    }

    /// Finds the first object by its key, and those behind it as long as their rows follow in the same order: a store
    /// has mostly got them in the order in which they come again. To read the row that follows takes a third of the time
    /// of finding one by its key.
    ///
    /// - Returns: the objects up to the first that does not follow.
    private func findInOrder(
        _ batch: RowBatch, at positions: ArraySlice<Int>, _ table: ClassTable, isReadingOlds: Bool
    ) throws -> [FoundObject] {
        guard let first = positions.first else { return [] }
        let columns = FoundColumns(table, areRowsRead: isReadingOlds)
        let statement = try table.statement(isReadingOlds ? .rowsInOrder : .allInOrder) {
            """
            SELECT \(columns.names), \(table.keyColumns.map { "o.\($0)" }.joined(separator: ", ")) \
            FROM \(table.name) o WHERE o.\(TableLayout.row) >= \
            (SELECT \(TableLayout.row) FROM \(table.name) WHERE \(table.keyCondition)) ORDER BY o.\(TableLayout.row)
            """
        }
        defer { statement.reset() }
        try table.bind(batch.keys[first], to: statement)
        var found: [FoundObject] = []
        found.reserveCapacity(positions.count)
        // Rows in between that are not asked for must not cost more than what is found.
        var otherCount = 0
        while found.count < positions.count, otherCount <= found.count + 4, try statement.step() {
            let position = positions[positions.startIndex + found.count]
            if try table.key(of: statement, from: columns.count) == batch.keys[position] {
                found.append(try foundObject(statement, columns, offset: found.count, table))
            } else {
                otherCount += 1
            }
        }
        return found
    }

    /// Finds objects in any order.
    ///
    /// - Parameter offset: how many were asked for before these.
    private func findByKey(
        _ batch: RowBatch, at positions: ArraySlice<Int>, after offset: Int, _ table: ClassTable, isReadingOlds: Bool
    ) throws -> [FoundObject] {
        let columns = FoundColumns(table, areRowsRead: isReadingOlds)
        let cells = CellTable(width: table.keyColumns.count, rowCountMax: positions.count)
        for position in positions {
            cells.beginRow()
            try table.bind(batch.keys[position], to: cells)
        }
        return try connection.reading(cells) {
            let statement = try table.statement(isReadingOlds ? .findRows : .findAll) {
                let keys = table.keyColumns.enumerated().map { "o.\($1) = c.c\($0)" }.joined(separator: " AND ")
                return """
                    SELECT \(columns.names), c.rowid \
                    FROM \(CellTableModule.name) c CROSS JOIN \(table.name) o ON \(keys)
                    """
            }
            defer { statement.reset() }
            var found: [FoundObject] = []
            found.reserveCapacity(positions.count)
            while try statement.step() {
                let offset = offset + Int(statement.int(columns.count))
                found.append(try foundObject(statement, columns, offset: offset, table))
            }
            return found
        }
    }

    private func foundObject(
        _ statement: Statement, _ columns: FoundColumns, offset: Int, _ table: ClassTable
    ) throws -> FoundObject {
        let isPresent = statement.int(columns.count - 1) == TableLayout.State.present
        return FoundObject(
            offset: offset, row: statement.int(0), isPresent: isPresent,
            version: UInt64(bitPattern: statement.int(1)), absent: statement.propertySet(2),
            old: columns.areRowsRead && isPresent ? try readRow(statement, table) : nil)
    }
}

/// What is read of an object of a batch: row id, version and absent, or the whole row, and the state last.
private struct FoundColumns {
    let areRowsRead: Bool
    let count: Int32
    private let table: ClassTable

    init(_ table: ClassTable, areRowsRead: Bool) {
        self.table = table
        self.areRowsRead = areRowsRead
        count = areRowsRead ? Int32(table.rowColumns().count) + 1 : 4
    }

    /// The columns of the table `o`, as SQL.
    var names: String {
        let read = areRowsRead ? table.rowColumns() : [TableLayout.row, TableLayout.version, TableLayout.absent]
        return (read + [TableLayout.state]).map { "o.\($0)" }.joined(separator: ", ")
    }
}
