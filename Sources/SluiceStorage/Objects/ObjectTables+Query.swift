internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews
internal import SluiceWire

/// Runs queries over the tables, compiled by ``SQLCompiler``.
extension ObjectTables {
    /// See ``ObjectReading/forEachRow(matching:_:)``.
    func forEachRow(
        matching query: Query, in source: any ObjectSource, _ body: (Row) throws -> Bool
    ) throws {
        guard query.object == nil else { return try forObject(of: query, in: source) { _, row in _ = try body(row) } }
        try forEachStoredRow(matching: query) { try body($0.row()) }
    }

    /// See ``ObjectReading/forEachStoredRow(matching:_:)``.
    func forEachStoredRow(matching query: Query, _ body: (StoredRow) throws -> Bool) throws {
        let table = try table(query.classIndex)
        try run(query, .columns(table.rowColumns(alias: SQLCompiler.rootAlias)), order: .any) { statement in
            let row = StoredRow(statement, table, self)
            while try statement.step(), try body(row) {}
        }
    }

    /// Calls `body` with the local row id of every row that matches a query's predicate, in the order of storage, and
    /// with a closure that reads its key.
    func forEachKey(matching query: Query, _ body: (Int64, () throws -> ObjectKey) throws -> Void) throws {
        let table = try table(query.classIndex)
        let columns = ([TableLayout.row] + table.keyColumns).map { "\(SQLCompiler.rootAlias).\($0)" }
        try run(query, .columns(columns), order: .row(after: 0)) { statement in
            while try statement.step() { try body(statement.int(0)) { try table.key(of: statement, from: 1) } }
        }
    }

    /// See `ViewSource`.
    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        let table = try table(query.classIndex)
        let output = SQLCompiler.Output.columns(table.rowColumns(alias: SQLCompiler.rootAlias))
        // The SORT of an AGGREGATE is of groups.
        let sorted = query.aggregates == nil ? query : query.condition
        try run(sorted, output, order: .match, after: position, limit: limit) { statement in
            while try statement.step() {
                guard try body(try readRow(statement, table)) else { return }
            }
        }
    }

    /// See ``ObjectReading/refs(matching:)``.
    func refs(matching query: Query, in source: any ObjectSource) throws -> [ObjectRef] {
        var result: [ObjectRef] = []
        guard query.object == nil else {
            try forObject(of: query, in: source) { object, _ in result.append(object) }
            return result
        }
        let table = try table(query.classIndex)
        let columns = table.keyColumns.map { "\(SQLCompiler.rootAlias).\($0)" }
        try run(query, .columns(columns), order: .result) { statement in
            while try statement.step() {
                result.append(ObjectRef(query.classIndex, try table.key(of: statement, from: 0)))
            }
        }
        return result
    }

    /// See ``SQLiteServerStorage/roots(matching:after:)``.
    func roots(matching query: Query, after cursor: RowCursor?, in source: any ObjectSource) throws -> [ObjectRef] {
        guard query.object == nil, query.sort.isEmpty, query.stages.isEmpty else {
            return try refs(matching: query, in: source)
        }
        let table = try table(query.classIndex)
        let columns = table.keyColumns.map { "\(SQLCompiler.rootAlias).\($0)" }
        var result: [ObjectRef] = []
        try run(query, .columns(columns), order: .row(after: cursor?.lastRow ?? 0)) { statement in
            while try statement.step() {
                result.append(ObjectRef(query.classIndex, try table.key(of: statement, from: 0)))
            }
        }
        return result
    }

    /// See ``ObjectReading/count(matching:)``.
    func count(matching query: Query, in source: any ObjectSource) throws -> Int {
        guard query.object == nil else {
            var count = 0
            try forObject(of: query, in: source) { _, _ in count += 1 }
            return count
        }
        var count = 0
        try run(query, .count, order: .result) { statement in
            if try statement.step() { count = Int(statement.int(0)) }
        }
        return count
    }

    /// See `ViewSource`.
    func matchCount(of query: Query) throws -> Int {
        var count = 0
        try run(query.condition, .count, order: .any) { statement in
            if try statement.step() { count = Int(statement.int(0)) }
        }
        return count
    }

    func forObject(
        of query: Query, in source: any ObjectSource, _ body: (ObjectRef, Row) throws -> Void
    ) throws {
        guard let id = query.object, let object = try findObject(id, isIndexing: false), let row = try row(object),
            try query.context.allows(row, ofClass: object.classIndex, in: source)
        else { return }
        try body(object, row)
    }

    func run(
        _ query: Query, _ output: SQLCompiler.Output, order: SQLCompiler.Order, after position: SortPosition? = nil,
        restrictedTo restriction: SQLStatement? = nil, limit: Int? = nil, _ body: (Statement) throws -> Void
    ) throws {
        let compiled = SQLCompiler(schema: schema, now: now).select(
            query, output, order: order, after: position, restrictedTo: restriction, limit: limit)
        try connection.withStatement(compiled.text) { statement in
            let outer = connection.queryMemo
            connection.queryMemo = QueryMemo()
            defer { connection.queryMemo = outer }
            statement.bind(compiled.bindings)
            try body(statement)
        }
    }
}
