internal import SluiceModel
internal import SluiceQuery

/// Finds keyed objects by their ids, which rows do not store, in a table of ids that is made when it is first needed.
extension ObjectTables {
    /// See ``ObjectReading/findObject(_:)``.
    ///
    /// - Parameter isIndexing: whether to make missing indexes of ids; if false, a class without one is scanned.
    func findObject(_ id: ObjectID, isIndexing: Bool) throws -> ObjectRef? {
        // Objects without a primary key are found by their ids as they are, so they come first.
        for classIndex in schema.classes.indices where try !table(classIndex).isKeyed {
            let object = ObjectRef(classIndex, .id(id))
            if try isPresent(object) { return object }
        }
        for classIndex in schema.classes.indices {
            let table = try table(classIndex)
            guard table.isKeyed else { continue }
            if isIndexing { try connection.withoutWorkLimit { try makeIDIndex(table) } }
            if let key = try keyOfObject(id, in: table) { return ObjectRef(classIndex, key) }
        }
        return nil
    }

    private func keyOfObject(_ id: ObjectID, in table: ClassTable) throws -> ObjectKey? {
        let key = table.keyColumns[0]
        let sql =
            table.hasIDIndex
            ? """
            SELECT \(key) FROM \(table.idIndex) i JOIN \(table.name) o ON o.\(TableLayout.row) = i.row WHERE i.id = ?
            """
            : """
            SELECT \(key) FROM \(table.name) WHERE \(TableLayout.state) = \(TableLayout.State.present) \
            AND \(Self.id(ofKey: key, table)) = ?
            """
        return try connection.withStatement(sql) { statement in
            statement.bind(1, id)
            return try statement.step() ? try table.key(of: statement, from: 0) : nil
        }
    }

    private func makeIDIndex(_ table: ClassTable) throws {
        guard !table.hasIDIndex else { return }
        try connection.atomically {
            try connection.execute(
                "CREATE TABLE \(table.idIndex) (id BLOB PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID")
            try connection.execute(
                """
                INSERT INTO \(table.idIndex) SELECT \(Self.id(ofKey: table.keyColumns[0], table)), \(TableLayout.row) \
                FROM \(table.name) WHERE \(TableLayout.state) = \(TableLayout.State.present)
                """)
        }
        table.hasIDIndex = true
    }

    /// The id of a key, as SQL. Class names have no character that needs escaping.
    private static func id(ofKey key: String, _ table: ClassTable) -> String {
        "\(TableLayout.Function.id)('\(table.schema.name)', \(key))"
    }

    func insertID(of key: ObjectKey, row: Int64, _ table: ClassTable) throws {
        let statement = try table.statement(.insertID) { "INSERT INTO \(table.idIndex) (id, row) VALUES (?, ?)" }
        defer { statement.reset() }
        statement.bind(1, Identity(className: table.schema.name, key: key).objectID)
        statement.bind(2, row)
        try statement.run()
    }

    func deleteID(of key: ObjectKey, _ table: ClassTable) throws {
        let statement = try table.statement(.deleteID) { "DELETE FROM \(table.idIndex) WHERE id = ?" }
        defer { statement.reset() }
        statement.bind(1, Identity(className: table.schema.name, key: key).objectID)
        try statement.run()
    }
}
