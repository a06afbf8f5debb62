internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

extension ObjectTables {
    func row(_ object: ObjectRef) throws -> Row? {
        let table = try table(object.classIndex)
        guard object.key.isOf(table.keyType), !table.absentKeys.contains(object.key) else { return nil }
        if let held = table.held, held.row.key == object.key { return held.row }
        let statement = try table.statement(.rowByKey) {
            """
            SELECT \(table.rowColumns().joined(separator: ", ")) FROM \(table.name) \
            WHERE \(table.keyCondition) AND \(TableLayout.state) = \(TableLayout.State.present)
            """
        }
        defer { statement.reset() }
        try table.bind(object.key, to: statement)
        guard try statement.step() else { return nil }
        table.noteRecent(object.key, row: statement.int(0))
        return try readRow(statement, table)
    }

    func isPresent(_ object: ObjectRef) throws -> Bool {
        let table = try table(object.classIndex)
        guard object.key.isOf(table.keyType) else { return false }
        return try find(object.key, in: table)?.state == TableLayout.State.present
    }

    func count(ofClass classIndex: Int) throws -> Int {
        let table = try table(classIndex)
        let present = "\(TableLayout.state) = \(TableLayout.State.present)"
        return Int(try connection.integer("SELECT count(*) FROM \(table.name) WHERE \(present)") ?? 0)
    }

    /// The number of rows of a class, those of ghosts and tombstones included. SQLite counts the cells of pages, and reads
    /// none of them.
    func rowCount(ofClass classIndex: Int) throws -> Int {
        Int(try connection.integer("SELECT count(*) FROM \(table(classIndex).name)") ?? 0)
    }

    func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws {
        let table = try table(classIndex)
        let sql = """
            SELECT \(table.rowColumns().joined(separator: ", ")) FROM \(table.name) \
            WHERE \(TableLayout.state) = \(TableLayout.State.present) ORDER BY \(TableLayout.row)
            """
        try connection.withStatement(sql) { statement in
            while try statement.step(), try body(readRow(statement, table)) {}
        }
    }

    /// Decodes the current row of a statement over ``ClassTable/rowColumns(alias:)``.
    func readRow(_ statement: Statement, _ table: ClassTable) throws -> Row {
        var row = Row(key: .int(0), values: [])
        try readRow(statement, table, into: &row)
        return row
    }

    /// Decodes the current row into a former one, whose storage it uses.
    func readRow(_ statement: Statement, _ table: ClassTable, into row: inout Row) throws {
        var values = row.values
        if row.hasIdentities { row = Row(key: row.key, values: []) }
        row.values = []
        let count = table.schema.properties.count
        // Every value of the former row is replaced, but for those of retired properties.
        if values.count != count || table.hasRetired { values = Array(repeating: .null, count: count) }
        try values.withUnsafeMutableBufferPointer { values in
            for (property, cell) in table.cells.enumerated() {
                if let cell { values[property] = try read(cell, of: statement, table) }
            }
        }
        if !table.collections.isEmpty {
            let owner = statement.int(0)
            for collection in table.collections {
                var identity: ListIdentity?
                values[collection.property] = try readCollection(collection, ofRow: owner, table, identity: &identity)
                if let identity { row.setIdentity(identity, of: collection.property) }
            }
        }
        let key: ObjectKey
        if let primaryKey = table.schema.primaryKeyIndex {
            guard let value = ObjectKey(primaryKey: values[primaryKey]) else { throw table.damaged() }
            key = value
        } else {
            key = try table.key(of: statement, from: table.keyCell)
        }
        row.key = key
        row.version = UInt64(bitPattern: statement.int(1))
        row.values = values
        row.absent = statement.propertySet(2)
    }

    func read(_ cell: ClassTable.Cell, of statement: Statement, _ table: ClassTable) throws -> Value {
        try read(cell.codec, cell.column, of: statement, table)
    }

    private func read(_ codec: ColumnCodec, _ column: Int32, of statement: Statement, _ table: ClassTable) throws
        -> Value
    {
        if case .link(let target) = codec {
            if statement.isNull(column) { return .null }
            return .link(try key(ofRow: statement.int(column), in: target))
        }
        guard let value = codec.read(column, of: statement) else { throw table.damaged() }
        return value
    }

    func readCollection(_ column: ClassTable.Column, ofRow row: Int64, _ table: ClassTable) throws -> Value {
        var identity: ListIdentity?
        return try readCollection(column, ofRow: row, table, identity: &identity)
    }

    /// A list as it is stored.
    func storedList(_ column: ClassTable.Column, ofRow row: Int64, _ table: ClassTable) throws -> ElementList? {
        var identity: ListIdentity?
        guard case .list(let values) = try readCollection(column, ofRow: row, table, identity: &identity) else {
            return nil
        }
        return ElementList(values, identity)
    }

    /// - Parameter identity: gets that of a list's elements, where there is one.
    func readCollection(
        _ column: ClassTable.Column, ofRow row: Int64, _ table: ClassTable, identity: inout ListIdentity?
    ) throws -> Value {
        let container = table.schema.properties[column.property].type.container
        let order = container == .map ? TableLayout.key : TableLayout.position
        let statement = try table.statement(.elements(column.property)) {
            """
            SELECT \(order), \(TableLayout.value)\(column.isList ? ", \(TableLayout.identity)" : "") \
            FROM \(column.name) WHERE \(TableLayout.owner) = ? ORDER BY \(order)
            """
        }
        defer { statement.reset() }
        statement.bind(1, row)
        if container == .map {
            var map = ValueMap()
            while try statement.step() { map[statement.string(0)] = try read(column.codec, 1, of: statement, table) }
            return .map(map)
        }
        var elements: [Value] = []
        var identities = StoredIdentity()
        while try statement.step() {
            if column.isList { identities.add(statement.isNull(2) ? nil : statement.blob(2)) }
            elements.append(try read(column.codec, 1, of: statement, table))
        }
        identity = identities.identity
        return container == .set ? .set(elements) : .list(elements)
    }

    /// See ``ObjectSource/backlinks(to:fromClass:property:_:)``. Costs one index lookup, and one for each linking
    /// object.
    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        guard let target = try rowID(of: object) else { return }
        let table = try table(classIndex)
        let present = "o.\(TableLayout.state) = \(TableLayout.State.present)"
        let keys = table.keyColumns.map { "o.\($0)" }.joined(separator: ", ")
        let sql: String
        if let single = table.singles.first(where: { $0.property == property }) {
            sql = "SELECT \(keys) FROM \(table.name) o WHERE o.\(single.name) = ? AND \(present)"
        } else if let collection = table.collections.first(where: { $0.property == property }) {
            sql = """
                SELECT DISTINCT \(keys) FROM \(collection.name) c JOIN \(table.name) o \
                ON o.\(TableLayout.row) = c.\(TableLayout.owner) WHERE c.\(TableLayout.value) = ? AND \(present)
                """
        } else {
            throw StorageError(.misuse, "\(table.schema.name) has no property at position \(property)")
        }
        try connection.withStatement(sql) { statement in
            statement.bind(1, target)
            while try statement.step(), try body(table.key(of: statement, from: 0)) {}
        }
    }
}
