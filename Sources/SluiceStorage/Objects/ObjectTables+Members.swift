internal import SluiceModel
internal import SluiceQuery

extension ObjectTables {
    /// Calls `body` with the present rows of a set, in ascending order of row id, until it returns false.
    ///
    /// - Returns: whether all were visited.
    func forEachStoredRow(
        of rows: RowBitmap, ofClass classIndex: Int, _ body: (StoredRow) throws -> Bool
    ) throws -> Bool {
        let table = try table(classIndex)
        let condition = "\(TableLayout.state) = \(TableLayout.State.present) AND "
        var row: StoredRow?
        return try forEach(of: rows, table, table.rowColumns(), condition) { statement in
            if let row, row.statement === statement { return try body(row) }
            let first = StoredRow(statement, table, self)
            row = first
            return try body(first)
        }
    }

    /// Calls `body` with the keys of a set's objects, in ascending order of row id, until it returns false.
    ///
    /// - Returns: whether all were visited.
    func forEachKey(of rows: RowBitmap, ofClass classIndex: Int, _ body: (ObjectKey) throws -> Bool) throws -> Bool {
        let table = try table(classIndex)
        return try forEach(of: rows, table, [TableLayout.row] + table.keyColumns, "") {
            try body(table.key(of: $0, from: 1))
        }
    }

    /// - Parameters:
    ///   - columns: what to read, the row id first.
    ///   - condition: what must hold beside the row id, followed by `AND`; empty for nothing.
    private func forEach(
        of rows: RowBitmap, _ table: ClassTable, _ columns: [String], _ condition: String,
        _ body: (Statement) throws -> Bool
    ) throws -> Bool {
        let select =
            "SELECT \(columns.joined(separator: ", ")) FROM \(table.name) WHERE \(condition)\(TableLayout.row)"
        for chunk in rows.chunks {
            let elements = chunk.elements
            guard let first = elements.first, let last = elements.last else { continue }
            let low = chunk.base << 16 | Int64(first)
            let high = chunk.base << 16 | Int64(last)
            let didVisitAll: Bool
            // Reading a range costs about a quarter for each row of what reading single rows costs.
            if Int(high - low) < elements.count * 4 {
                didVisitAll = try connection.withStatement("\(select) BETWEEN ? AND ? ORDER BY \(TableLayout.row)") {
                    $0.bind(1, low)
                    $0.bind(2, high)
                    while try $0.step() {
                        guard chunk.contains(UInt16(truncatingIfNeeded: $0.int(0))) else { continue }
                        guard try body($0) else { return false }
                    }
                    return true
                }
            } else {
                didVisitAll = try connection.withStatement("\(select) = ?") { statement in
                    for element in elements {
                        statement.bind(1, chunk.base << 16 | Int64(element))
                        if try statement.step(), try !body(statement) { return false }
                        statement.reset()
                    }
                    return true
                }
            }
            guard didVisitAll else { return false }
        }
        return true
    }

    /// The keys of the present objects of a class, except those of some rows. It takes memory for the others alone.
    func presentKeys(ofClass classIndex: Int, except rows: RowBitmap) throws -> [ObjectKey] {
        let table = try table(classIndex)
        let sql = """
            SELECT \(TableLayout.row), \(table.keyColumns.joined(separator: ", ")) FROM \(table.name) \
            WHERE \(TableLayout.state) = \(TableLayout.State.present) ORDER BY \(TableLayout.row)
            """
        return try connection.withStatement(sql) { statement in
            var keys: [ObjectKey] = []
            while try statement.step() {
                if !rows.contains(statement.int(0)) { keys.append(try table.key(of: statement, from: 1)) }
            }
            return keys
        }
    }
}
