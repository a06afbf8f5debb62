internal import SluiceModel
internal import SluiceQuery

extension ObjectTables {
    /// Replaces a present object by a tombstone.
    ///
    /// - Returns: whether the object was present.
    @discardableResult
    func delete(_ object: ObjectRef, version: UInt64) throws -> Bool {
        let table = try table(object.classIndex)
        guard object.key.isOf(table.keyType), let found = try find(object.key, in: table),
            found.state == TableLayout.State.present
        else { return false }
        try wipe(row: found.row, key: object.key, table, to: TableLayout.State.tombstone, version: version)
        return true
    }

    /// Leaves a tombstone of an object that is not present, known or not.
    func noteDeletion(of object: ObjectRef, version: UInt64) throws {
        let table = try table(object.classIndex)
        let row = try targetRow(object.key, in: object.classIndex)
        try wipe(row: row, key: object.key, table, to: TableLayout.State.tombstone, version: version)
    }

    /// Notes of a present object that it has, or may come to have, more than one creation.
    func noteRebirth(of object: ObjectRef) throws {
        guard let row = try rowID(of: object) else { return }
        let table = try table(object.classIndex)
        let sql = "UPDATE \(table.name) SET _incarnation = _incarnation + 1 WHERE \(TableLayout.row) = ?"
        try connection.withStatement(sql) { statement in
            statement.bind(1, row)
            try statement.run()
        }
    }

    /// The version of an object's row or tombstone; nil for a ghost and an unknown object.
    func lastVersion(of object: ObjectRef) throws -> UInt64? {
        guard let row = try rowID(of: object) else { return nil }
        let table = try table(object.classIndex)
        let statement = try table.statement(.versionByRow) {
            """
            SELECT \(TableLayout.version) FROM \(table.name) \
            WHERE \(TableLayout.row) = ? AND \(TableLayout.state) <> \(TableLayout.State.ghost)
            """
        }
        defer { statement.reset() }
        statement.bind(1, row)
        return try statement.step() ? UInt64(bitPattern: statement.int(0)) : nil
    }

    func incarnation(of object: ObjectRef) throws -> UInt64 {
        guard let row = try rowID(of: object) else { return 0 }
        let table = try table(object.classIndex)
        let sql = "SELECT _incarnation FROM \(table.name) WHERE \(TableLayout.row) = ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, row)
            return try statement.step() ? UInt64(clamping: statement.int(0)) : 0
        }
    }

    /// Removes an object: its row is deleted or, if something links to it, becomes a ghost. Ghosts that only this
    /// object linked to are deleted too.
    ///
    /// - Returns: the object's former local row id; nil if it was neither present nor deleted.
    func evict(_ object: ObjectRef) throws -> Int64? {
        let table = try table(object.classIndex)
        guard object.key.isOf(table.keyType), let found = try find(object.key, in: table),
            found.state != TableLayout.State.ghost
        else { return nil }
        let targets = try linkTargets(ofRow: found.row, table)
        try wipe(row: found.row, key: object.key, table, to: TableLayout.State.ghost, version: 0)
        try removeUnlinkedGhost(found.row, in: object.classIndex)
        for target in targets where !(target.classIndex == object.classIndex && target.row == found.row) {
            try removeUnlinkedGhost(target.row, in: target.classIndex)
        }
        return found.row
    }

    /// Deletes a tombstone if it still has the given version; if something links to it, it becomes a ghost.
    func purgeTombstone(_ object: ObjectRef, version: UInt64) throws {
        guard let row = try rowID(of: object) else { return }
        let table = try table(object.classIndex)
        let sql = """
            UPDATE \(table.name) SET \(TableLayout.state) = \(TableLayout.State.ghost), \
            \(TableLayout.version) = 0, _incarnation = 0 \
            WHERE \(TableLayout.row) = ? AND \(TableLayout.state) = \(TableLayout.State.tombstone) \
            AND \(TableLayout.version) = ?
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, row)
            statement.bind(2, Int64(bitPattern: version))
            try statement.run()
        }
        if connection.changeCount > 0 { try removeUnlinkedGhost(row, in: object.classIndex) }
    }

    /// Removes every object and ghost of every class. The cost does not depend on their number.
    func removeAll() throws {
        for classIndex in schema.classes.indices {
            let table = try table(classIndex)
            for collection in table.collections { try connection.execute("DELETE FROM \(collection.name)") }
            try connection.execute("DELETE FROM \(table.name)")
            if table.hasIDIndex { try connection.execute("DELETE FROM \(table.idIndex)") }
            try table.recover()
        }
    }

    /// The targets of a row's links, each once.
    private func linkTargets(ofRow row: Int64, _ table: ClassTable) throws -> Set<LocalObject> {
        var targets: Set<LocalObject> = []
        for column in table.singles + table.collections {
            guard case .link(let target) = column.codec else { continue }
            let isCollection = table.schema.properties[column.property].type.isCollection
            let sql =
                isCollection
                ? "SELECT \(TableLayout.value) FROM \(column.name) WHERE \(TableLayout.owner) = ?"
                : "SELECT \(column.name) FROM \(table.name) WHERE \(TableLayout.row) = ?"
            try connection.withStatement(sql) { statement in
                statement.bind(1, row)
                while try statement.step() {
                    if !statement.isNull(0) { targets.insert(LocalObject(classIndex: target, row: statement.int(0))) }
                }
            }
        }
        return targets
    }

    private func removeUnlinkedGhost(_ row: Int64, in classIndex: Int) throws {
        let table = try table(classIndex)
        guard try !isLinked(row, in: classIndex) else { return }
        let key = try key(ofRow: row, in: classIndex)
        let sql = """
            DELETE FROM \(table.name) WHERE \(TableLayout.row) = ? AND \(TableLayout.state) = \(TableLayout.State.ghost)
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, row)
            try statement.run()
        }
        if connection.changeCount > 0 { table.forget(key, row: row) }
    }

    private func isLinked(_ row: Int64, in classIndex: Int) throws -> Bool {
        for link in schema.backlinks(to: classIndex) {
            let table = try table(link.classIndex)
            let sql: String
            if let single = table.singles.first(where: { $0.property == link.property }) {
                sql = "SELECT 1 FROM \(table.name) WHERE \(single.name) = ? LIMIT 1"
            } else if let collection = table.collections.first(where: { $0.property == link.property }) {
                sql = "SELECT 1 FROM \(collection.name) WHERE \(TableLayout.value) = ? LIMIT 1"
            } else {
                continue
            }
            let isLinked = try connection.withStatement(sql) { statement in
                statement.bind(1, row)
                return try statement.step()
            }
            if isLinked { return true }
        }
        return false
    }
}

/// An object by its local row id.
struct LocalObject: Hashable {
    var classIndex: Int
    var row: Int64
}
