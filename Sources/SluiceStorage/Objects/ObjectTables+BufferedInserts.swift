internal import SluiceModel
internal import SluiceQuery

/// Stores new objects that are written one after the other together, where their keys ascend.
extension ObjectTables {
    /// Stores a row of whose object the table is known to have nothing, with the rows before and after it.
    ///
    /// - Returns: false, without an effect, if the row has to be stored alone.
    func insertBuffered(_ row: Row, _ table: ClassTable) throws -> Bool {
        guard table.absentKeys.contains(row.key), !table.hasIDIndex else { return false }
        // Looking up links may write the rows that wait, and may make a ghost of this very object.
        let links = try linkRows(of: row, table)
        guard table.absentKeys.contains(row.key) else { return false }
        let buffer = table.insertBuffer ?? InsertBuffer(table, connection, rowCountMax: rowsPerStatementMax)
        table.insertBuffer = buffer
        if connection.unwritten !== buffer { try connection.writeUnwritten() }
        let id = try table.takeRow()
        let cells = buffer.cells
        cells.beginRow()
        do {
            cells.bind(1, id)
            cells.bind(2, Int64(bitPattern: row.version))
            if !row.absent.isEmpty { cells.bind(3, row.absent) }
            var column: Int32 = 4
            if !table.isKeyed {
                try table.bind(row.key, from: column, to: cells)
                column += 2
            }
            var nextLink = links.startIndex
            for field in table.fields {
                let value = field.property == table.schema.primaryKeyIndex ? row.key.value : row.values[field.property]
                if case .link = field.codec, case .link = value {
                    cells.bind(column, links[nextLink])
                    nextLink += 1
                } else {
                    try bind(value, field, to: column, of: cells, table)
                }
                column += 1
            }
        } catch {
            cells.removeLast()
            throw error
        }
        _ = table.absentKeys.note(row.key)
        connection.unwritten = buffer
        for column in table.collections { try insertElements(of: row, column, ofRow: id, table) }
        table.noteRecent(row.key, row: id)
        if buffer.isFull { try connection.writeUnwritten() }
        return true
    }

    /// The local row ids of the objects that a row's own columns link to, in the order of the columns.
    private func linkRows(of row: Row, _ table: ClassTable) throws -> [Int64] {
        guard table.hasLinks else { return [] }
        var rows: [Int64] = []
        for field in table.fields {
            guard case .link(let target) = field.codec, case .link(let key) = row.values[field.property] else {
                continue
            }
            rows.append(try targetRow(key, in: target))
        }
        return rows
    }

    /// Notes a key that the table was found to lack, or has been given alone, and finds out up to where it has no other
    /// where that seems worth it.
    func noteAbsent(_ key: ObjectKey, in table: ClassTable) throws(StorageError) {
        guard table.absentKeys.note(key) else { return }
        table.absentKeys.learn(above: key, upTo: try keyAbove(key, in: table))
    }

    /// The next key above one that a table has; nil if there is none. O(log n).
    func keyAbove(_ key: ObjectKey, in table: ClassTable) throws(StorageError) -> ObjectKey? {
        let columns = table.keyColumns.joined(separator: ", ")
        let statement = try table.statement(.keyAbove) {
            let parameters = table.keyColumns.map { _ in "?" }.joined(separator: ", ")
            return """
                SELECT \(columns) FROM \(table.name) WHERE (\(columns)) > (\(parameters)) ORDER BY \(columns) LIMIT 1
                """
        }
        defer { statement.reset() }
        try table.bind(key, to: statement)
        return try statement.step() ? try table.key(of: statement, from: 0) : nil
    }
}
