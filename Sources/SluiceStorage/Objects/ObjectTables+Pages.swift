internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews
internal import SluiceWire

/// Reads matches in pages, in the order of storage.
extension ObjectTables {
    /// See ``ObjectReading/rows(matching:after:limit:byteCountMax:)``.
    ///
    /// Where an index finds the rows in another order than that of storage, each page would have to find and sort all
    /// of them, or SQLite would rather scan the class than sort. So their row ids are then listed once, eight bytes
    /// each, and every page reads its part of the list.
    func rows(
        matching query: Query, after cursor: RowCursor?, limit: Int, byteCountMax: Int, in source: any ObjectSource
    ) throws -> (rows: [Row], next: RowCursor?) {
        var rows: [Row] = []
        guard query.object == nil else {
            try forObject(of: query, in: source) { rows.append($1) }
            return (rows, nil)
        }
        let table = try table(query.classIndex)
        let next = try page(of: query, table, after: cursor, limit: limit, byteCountMax: byteCountMax) { statement in
            let row = try readRow(statement, table)
            rows.append(row)
            return row.values.reduce(12 + row.key.byteCount) { $0 + $1.dataSize.byteCount }
        }
        return (rows, next)
    }

    /// Reads a page, row by row.
    ///
    /// - Parameter read: takes the current row of a statement over ``ClassTable/rowColumns(alias:)``, and returns how
    ///   many bytes it takes.
    /// - Returns: where the next page begins; nil at the end.
    func page(
        of query: Query, _ table: ClassTable, after cursor: RowCursor?, limit: Int, byteCountMax: Int,
        _ read: (Statement) throws -> Int
    ) throws -> RowCursor? {
        let output = SQLCompiler.Output.columns(table.rowColumns(alias: SQLCompiler.rootAlias))
        let position = try cursor?.position ?? firstPosition(of: query, output, limit: limit)
        var restriction: SQLStatement?
        var end = 0
        var after: Int64 = 0
        switch position {
        case .behind(let row): after = row
        case .listed(let list, let next):
            end = next + min(limit, list.count - next)
            restriction = Self.isAmong(list[next..<end])
        }
        var last: Int64 = 0
        var count = 0
        var byteCount = 0
        try run(query, output, order: .row(after: after), restrictedTo: restriction, limit: limit) { statement in
            while byteCount < byteCountMax, try statement.step() {
                last = statement.int(0)
                byteCount += try read(statement)
                count += 1
            }
        }
        let isFull = byteCount >= byteCountMax
        switch position {
        case .behind: return count < limit && !isFull ? nil : RowCursor(position: .behind(last))
        case .listed(let list, let next):
            if isFull { end = list[next..<end].firstIndex { $0 > last } ?? end }
            return end < list.count ? RowCursor(position: .listed(list, next: end)) : nil
        }
    }

    /// Decides where the first page begins: in the table, or in a list of all row ids if SQLite would sort.
    ///
    /// - Parameter limit: the size of a page.
    private func firstPosition(
        of query: Query, _ output: SQLCompiler.Output, limit: Int
    ) throws -> RowCursor.Position {
        let compiled = SQLCompiler(schema: schema, now: now).select(query, output, order: .row(after: 0), limit: limit)
        let plan = try plan(of: compiled)
        guard plan.sorts || plan.indexes.isEmpty else { return .behind(0) }
        if let list = try rowsOfIndex(query) { return .listed(list, next: 0) }
        guard plan.sorts else { return .behind(0) }
        var list: [Int64] = []
        try run(query, .rows, order: .row(after: 0)) { statement in
            while try statement.step() { list.append(statement.int(0)) }
        }
        return .listed(list, next: 0)
    }

    /// Lists the row ids of the matches, ascending, with an index that SQLite would use if no order were asked for.
    ///
    /// - Returns: nil if there is none, or if more than a twentieth of the class matches: then scanning costs less.
    private func rowsOfIndex(_ query: Query) throws -> [Int64]? {
        if case .constant = query.predicate { return nil }
        let compiled = SQLCompiler(schema: schema, now: now).select(query, .rows, order: .any)
        guard try !plan(of: compiled).indexes.isEmpty else { return nil }
        let countMax = try table(query.classIndex).rowCountMax / 20
        var list: [Int64] = []
        try run(query, .rows, order: .any, limit: countMax + 1) { statement in
            while try statement.step() { list.append(statement.int(0)) }
        }
        return list.count <= countMax ? list.sorted() : nil
    }

    /// The condition that a row's id is in a list, with one parameter for any number of ids.
    private static func isAmong(_ rows: ArraySlice<Int64>) -> SQLStatement {
        let list = "[" + rows.map(String.init).joined(separator: ",") + "]"
        return "\(sql: SQLCompiler.rootAlias)._row IN (SELECT value FROM json_each(\(.text(list))))"
    }
}
