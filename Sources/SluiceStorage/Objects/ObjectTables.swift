internal import SluiceModel
internal import SluiceQuery

/// Reads and writes the objects of a store over one connection: a table for each class, in the form that
/// ``TableLayout`` defines.
///
/// Writing needs an open transaction, which must be rolled back after an error in the middle of a write.
final class ObjectTables {
    let connection: SQLiteConnection
    private(set) var schema: Schema
    /// The time of the state: the value of `$now`.
    var now = Timestamp(microseconds: 0)
    private var tables: [ClassTable] = []
    /// How many rows a statement stores at the most. Tests use fewer.
    var rowsPerStatementMax = 1_024
    /// How many elements a list has at the least for its rows to be remembered. A shorter one is written anew in no time.
    /// Tests use fewer.
    var heldElementCountMin = 32

    /// Opens the tables of a database, which must be those of `schema`.
    init(_ connection: SQLiteConnection, schema: Schema) throws {
        self.connection = connection
        self.schema = schema
        try SQLFunctions.install(on: connection)
        try open(schema)
    }

    /// Regards the tables of the database as those of `schema`, and empties the caches.
    func open(_ schema: Schema) throws {
        self.schema = schema
        tables = try schema.classes.indices.map { try ClassTable(index: $0, schema: schema, connection: connection) }
    }

    /// Returns to the schema before a transaction that was rolled back, and empties the caches.
    func recover(schema: Schema) throws {
        if schema != self.schema { try open(schema) }
        for table in tables { try table.recover() }
    }

    /// Frees the prepared statements, so that the connection can be closed.
    func close() { tables = [] }

    /// Empties the caches that another connection may have made wrong.
    func refresh() {
        for table in tables { table.forgetRows() }
    }

    /// The table of a class.
    func table(_ classIndex: Int) throws(StorageError) -> ClassTable {
        guard tables.indices.contains(classIndex) else {
            throw StorageError(.notFound, "\(connection.name) has \(tables.count) classes and none at \(classIndex)")
        }
        return tables[classIndex]
    }

    // MARK: Keys and local row ids

    /// The local row id and state of an object; nil if it has no row.
    func find(_ key: ObjectKey, in table: ClassTable) throws(StorageError) -> (row: Int64, state: Int64)? {
        if table.absentKeys.contains(key) { return nil }
        let statement = try table.statement(.find) {
            "SELECT \(TableLayout.row), \(TableLayout.state) FROM \(table.name) WHERE \(table.keyCondition)"
        }
        defer { statement.reset() }
        try table.bind(key, to: statement)
        guard try statement.step() else {
            try noteAbsent(key, in: table)
            return nil
        }
        return (statement.int(0), statement.int(1))
    }

    /// Whether an object has a row: it is present, deleted or a ghost.
    func knows(_ object: ObjectRef) throws(StorageError) -> Bool {
        let table = try table(object.classIndex)
        guard object.key.isOf(table.keyType) else { return false }
        return try find(object.key, in: table) != nil
    }

    /// Whether an object with a key in a range has a row. O(log n).
    func knowsAny(in keys: ClosedRange<ObjectKey>, ofClass classIndex: Int) throws(StorageError) -> Bool {
        let table = try table(classIndex)
        if table.absentKeys.contains(keys.lowerBound), table.absentKeys.contains(keys.upperBound) { return false }
        if try find(keys.lowerBound, in: table) != nil { return true }
        return try keyAbove(keys.lowerBound, in: table).map { $0 <= keys.upperBound } ?? false
    }

    /// The local row id of an object that has one: present, deleted or a ghost.
    func rowID(of object: ObjectRef) throws(StorageError) -> Int64? {
        let table = try table(object.classIndex)
        if let row = table.recentRow(of: object.key) ?? table.cachedRow(of: object.key) { return row }
        guard object.key.isOf(table.keyType), let found = try find(object.key, in: table) else { return nil }
        table.remember(object.key, row: found.row)
        return found.row
    }

    /// The local row id of a link's target; an unknown target becomes a ghost.
    func targetRow(_ key: ObjectKey, in classIndex: Int) throws(StorageError) -> Int64 {
        let table = try table(classIndex)
        if let row = table.cachedRow(of: key) { return row }
        if let found = try find(key, in: table) {
            table.remember(key, row: found.row)
            return found.row
        }
        let statement = try table.statement(.insertGhost) {
            """
            INSERT INTO \(table.name) (\(TableLayout.row), \(TableLayout.state), \(TableLayout.version), \
            \(table.keyColumns.joined(separator: ", "))) \
            VALUES (?, \(TableLayout.State.ghost), 0\(String(repeating: ", ?", count: table.keyColumns.count)))
            """
        }
        defer { statement.reset() }
        let row = try table.takeRow()
        statement.bind(1, row)
        try table.bind(key, from: 2, to: statement)
        try statement.run()
        _ = table.absentKeys.note(key)
        table.remember(key, row: row)
        return row
    }

    /// The key of the object with a local row id.
    func key(ofRow row: Int64, in classIndex: Int) throws(StorageError) -> ObjectKey {
        let table = try table(classIndex)
        if let key = table.cachedKey(of: row) { return key }
        let statement = try table.statement(.keyByRow) {
            "SELECT \(table.keyColumns.joined(separator: ", ")) FROM \(table.name) WHERE \(TableLayout.row) = ?"
        }
        defer { statement.reset() }
        statement.bind(1, row)
        guard try statement.step() else { throw table.damaged() }
        let key = try table.key(of: statement, from: 0)
        table.remember(row: row, key: key)
        return key
    }
}
