internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// What an insert does when the object has a row in its table already.
enum KnownObject {
    /// Gives content to a ghost or a deleted object; a present one is an error.
    case refusePresent
    /// Gives content to a ghost or a deleted object, and leaves a present one unchanged.
    case keepPresent
    /// Gives the object the new content, whatever it is.
    case replace
}

extension ObjectTables {
    /// Stores a row under a new local id, or in the place of a ghost or tombstone.
    ///
    /// - Returns: false if the object had a row and was left unchanged.
    @discardableResult
    func insert(_ row: Row, ofClass classIndex: Int, ifKnown: KnownObject) throws -> Bool {
        let table = try table(classIndex)
        try check(row, table)
        if try insertBuffered(row, table) { return true }
        let statement = try table.insertion { Self.insertion(into: table) }
        defer { statement.reset() }
        let id = try table.takeRow()
        statement.bind(1, id)
        statement.bind(2, Int64(bitPattern: row.version))
        statement.bind(3, row.absent)
        var parameter: Int32 = 4
        if !table.isKeyed {
            try table.bind(row.key, from: parameter, to: statement)
            parameter += 2
        }
        for field in table.fields {
            try bind(row, field, to: parameter, of: statement, table)
            parameter += 1
        }
        guard try statement.runUnlessDuplicate() else { return try replace(row, table, ifKnown: ifKnown) }
        for column in table.collections { try insertElements(of: row, column, ofRow: id, table) }
        if table.hasIDIndex { try insertID(of: row.key, row: id, table) }
        table.noteRecent(row.key, row: id)
        try noteAbsent(row.key, in: table)
        return true
    }

    /// - Parameter edits: how lists come from what is stored, where that is known.
    func update(
        _ row: Row, ofClass classIndex: Int, changed: PropertySet, edits: [Int: ListEdits] = [:]
    ) throws {
        let table = try table(classIndex)
        try check(row, table)
        guard let id = try rowID(of: ObjectRef(classIndex, row.key)),
            try write(row, changed, toRow: id, table, isReviving: false, edits: edits)
        else {
            throw StorageError(.notFound, "\(connection.name): the \(table.schema.name) to update is not here")
        }
    }

    /// Removes the content of a row and keeps the key.
    ///
    /// - Parameter state: the new state, tombstone or ghost.
    func wipe(row: Int64, key: ObjectKey, _ table: ClassTable, to state: Int64, version: UInt64) throws {
        table.forgetRecent()
        var assignments = [
            "\(TableLayout.state) = ?1", "\(TableLayout.version) = ?2", "\(TableLayout.absent) = NULL",
            "_incarnation = _incarnation + (?1 = \(TableLayout.State.tombstone))",
        ]
        for column in table.singles where column.property != table.schema.primaryKeyIndex {
            assignments.append("\(column.name) = NULL")
        }
        let sql = "UPDATE \(table.name) SET \(assignments.joined(separator: ", ")) WHERE \(TableLayout.row) = ?3"
        try connection.withStatement(sql) { statement in
            statement.bind(1, state)
            statement.bind(2, Int64(bitPattern: version))
            statement.bind(3, row)
            try statement.run()
        }
        try deleteContent(ofRow: row, key: key, table)
    }

    /// Removes what other tables have of an object: elements of collections, and its id.
    func deleteContent(ofRow row: Int64, key: ObjectKey, _ table: ClassTable) throws {
        for column in table.collections { try deleteElements(of: column, ofRow: row, table) }
        if table.hasIDIndex { try deleteID(of: key, table) }
    }

    // MARK: Parts

    private static func insertion(into table: ClassTable) -> String {
        let key = table.isKeyed ? [] : table.keyColumns
        let columns =
            [TableLayout.row, TableLayout.version, TableLayout.absent] + key + table.singles.map(\.name)
        let parameters = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        return """
            INSERT INTO \(table.name) (\(columns.joined(separator: ", ")), \(TableLayout.state)) \
            VALUES (\(parameters), \(TableLayout.State.present))
            """
    }

    private func replace(_ row: Row, _ table: ClassTable, ifKnown: KnownObject) throws -> Bool {
        guard let found = try find(row.key, in: table) else { throw table.damaged() }
        let isPresent = found.state == TableLayout.State.present
        if isPresent {
            switch ifKnown {
            case .refusePresent:
                throw StorageError(
                    .constraint, "\(connection.name): there is a \(table.schema.name) with that key already")
            case .keepPresent: return false
            case .replace: break
            }
        }
        let all = PropertySet(all: table.schema.properties.count)
        guard try write(row, all, toRow: found.row, table, isReviving: true) else { throw table.damaged() }
        if table.hasIDIndex, !isPresent { try insertID(of: row.key, row: found.row, table) }
        return true
    }

    /// Writes properties of a row in place.
    ///
    /// - Returns: false if there is no such row, or it is not present and not to be revived.
    private func write(
        _ row: Row, _ changed: PropertySet, toRow id: Int64, _ table: ClassTable, isReviving: Bool,
        edits: [Int: ListEdits] = [:]
    ) throws -> Bool {
        let held = isReviving || table.held?.id != id ? nil : table.held
        table.held = nil
        var written = changed
        if let primaryKey = table.schema.primaryKeyIndex { written.remove(primaryKey) }
        let statement = try table.statement(isReviving ? .revive : .update(written)) {
            let columns = table.singles.filter { written.contains($0.property) }
            let assignments =
                ["\(TableLayout.version) = ?", "\(TableLayout.absent) = ?"]
                + (isReviving ? ["\(TableLayout.state) = \(TableLayout.State.present)"] : [])
                + columns.map { "\($0.name) = ?" }
            let condition = isReviving ? "" : " AND \(TableLayout.state) = \(TableLayout.State.present)"
            return """
                UPDATE \(table.name) SET \(assignments.joined(separator: ", ")) \
                WHERE \(TableLayout.row) = ?\(condition)
                """
        }
        defer { statement.reset() }
        statement.bind(1, Int64(bitPattern: row.version))
        statement.bind(2, row.absent)
        var parameter: Int32 = 3
        for field in table.fields where written.contains(field.property) {
            try bind(row, field, to: parameter, of: statement, table)
            parameter += 1
        }
        statement.bind(parameter, id)
        try statement.run()
        guard connection.changeCount > 0 else { return false }
        var positions = held?.positions ?? [:]
        for column in table.collections where written.contains(column.property) {
            let known = positions.removeValue(forKey: column.property)
            if let edits = edits[column.property], row.hasIdentity(of: column.property) {
                let old = held.flatMap { held in known.map { (held.row, $0) } }
                positions[column.property] = try write(edits, of: row, column, ofRow: id, table, replacing: old)
            } else {
                try deleteElements(of: column, ofRow: id, table)
                try insertElements(of: row, column, ofRow: id, table)
            }
        }
        if !positions.isEmpty { table.held = HeldRow(id: id, row: row, positions: positions) }
        return true
    }

    private func bind(
        _ row: Row, _ field: ClassTable.Field, to parameter: Int32, of statement: Statement, _ table: ClassTable
    ) throws(StorageError) {
        let value =
            field.property == table.schema.primaryKeyIndex ? row.key.value : row.values[field.property]
        try bind(value, field, to: parameter, of: statement, table)
    }

    func bind(
        _ value: Value, _ field: ClassTable.Field, to parameter: Int32, of statement: some ParameterSink,
        _ table: ClassTable
    ) throws(StorageError) {
        if case .link(let target) = field.codec, case .link(let key) = value {
            statement.bind(parameter, try targetRow(key, in: target))
        } else if !field.codec.bind(value, to: parameter, of: statement) {
            let property = table.schema.properties[field.property]
            throw StorageError(
                .misuse, "\(table.schema.name).\(property.name) is \(property.type), not \(value.kindName)")
        }
    }

    private func check(_ row: Row, _ table: ClassTable) throws(StorageError) {
        guard row.values.count == table.schema.properties.count else {
            throw StorageError(
                .misuse,
                "a row of \(table.schema.name) has \(row.values.count) values and needs \(table.schema.properties.count)"
            )
        }
    }

    func insertElements(
        of row: Row, _ column: ClassTable.Column, ofRow id: Int64, _ table: ClassTable
    ) throws {
        try insertElements(
            row.values[column.property], column, ofRow: id, table, identity: row.identity(of: column.property))
    }

    func insertElements(
        _ value: Value, _ column: ClassTable.Column, ofRow row: Int64, _ table: ClassTable,
        identity: ListIdentity? = nil
    ) throws {
        let property = table.schema.properties[column.property]
        let statement = try insertion(ofElementsInto: column, table)
        defer { statement.reset() }
        switch (property.type.container, value) {
        case (.list, .list(let elements)), (.set, .set(let elements)):
            // Where the next run begins.
            var (run, start) = (0, 0)
            for (position, element) in elements.enumerated() {
                statement.bind(1, row)
                statement.bind(2, identity == nil ? Int64(position) : HeldRow.roomyPosition(position))
                try bind(element, column.field, to: 3, of: statement, table)
                if column.isList {
                    if let identity, position == start {
                        statement.bind(4, identity.bytes(from: run))
                        start += run < identity.runs.count ? identity.runs[run].count : elements.count
                        run += 1
                    } else {
                        statement.bindNull(4)
                    }
                }
                try statement.run()
            }
        case (.map, .map(let map)):
            for entry in map.entries {
                statement.bind(1, row)
                statement.bind(2, entry.key)
                try bind(entry.value, column.field, to: 3, of: statement, table)
                try statement.run()
            }
        default:
            throw StorageError(
                .misuse, "\(table.schema.name).\(property.name) is \(property.type), not \(value.kindName)")
        }
    }

    func insertion(ofElementsInto column: ClassTable.Column, _ table: ClassTable) throws(StorageError) -> Statement {
        try table.statement(.insertElement(column.property)) {
            let isMap = table.schema.properties[column.property].type.container == .map
            let order = isMap ? TableLayout.key : TableLayout.position
            let (identity, parameter) = column.isList ? (", \(TableLayout.identity)", ", ?") : ("", "")
            return """
                INSERT INTO \(column.name) (\(TableLayout.owner), \(order), \(TableLayout.value)\(identity)) \
                VALUES (?, ?, ?\(parameter))
                """
        }
    }

    func deleteElements(of column: ClassTable.Column, ofRow row: Int64, _ table: ClassTable) throws {
        let statement = try table.statement(.deleteElements(column.property)) {
            "DELETE FROM \(column.name) WHERE \(TableLayout.owner) = ?"
        }
        defer { statement.reset() }
        statement.bind(1, row)
        try statement.run()
    }
}
