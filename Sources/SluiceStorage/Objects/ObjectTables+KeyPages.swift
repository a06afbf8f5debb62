internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// Pages in the order of keys, which every replica of a database has alike.
extension ObjectTables {
    /// See ``SQLiteObjectStore/rows(matching:afterKey:limit:byteCountMax:)``.
    func rows(
        matching query: Query, afterKey key: ObjectKey?, limit: Int, byteCountMax: Int
    ) throws -> [Row] {
        let table = try table(query.classIndex)
        let columns = table.keyColumns.map { "\(SQLCompiler.rootAlias).\($0)" }.joined(separator: ", ")
        var restriction: SQLStatement?
        if let key {
            let bindings = SQLBinding.bindings(of: key)
            let parameters = bindings.map { _ in "?" }.joined(separator: ", ")
            restriction = SQLStatement("(\(columns)) > (\(parameters))", bindings)
        }
        var rows: [Row] = []
        var byteCount = 0
        let output = SQLCompiler.Output.columns(table.rowColumns(alias: SQLCompiler.rootAlias))
        try run(query, output, order: .key(columns), restrictedTo: restriction, limit: limit) { statement in
            while byteCount < byteCountMax, try statement.step() {
                let row = try readRow(statement, table)
                byteCount += row.values.reduce(12 + row.key.byteCount) { $0 + $1.dataSize.byteCount }
                rows.append(row)
            }
        }
        return rows
    }
}

extension SQLBinding {
    /// The bindings of the columns of a key, as ``TableLayout`` stores them.
    fileprivate static func bindings(of key: ObjectKey) -> [SQLBinding] {
        switch key {
        case .id(let id): [.integer(TableLayout.word(id.high)), .integer(TableLayout.word(id.low))]
        case .int(let key): [.integer(key)]
        case .string(let key): [.text(key)]
        case .uuid(let key): [.blob(withUnsafeBytes(of: key.uuid) { Array($0) })]
        }
    }
}
