internal import SluiceModel
internal import SluiceWire

/// The log of file format 1: an entry a transaction, which only says how to undo it. It is read until it is trimmed.
extension SQLiteServerStorage {
    static func hasTable(_ name: String, on connection: SQLiteConnection) throws -> Bool {
        try connection.integer("SELECT 1 FROM sqlite_master WHERE name = '\(name)'") != nil
    }

    /// - Returns: false if `body` wants no more.
    func forEachFormat1Entry(after version: UInt64, _ body: (LogEntry) throws -> Bool) throws -> Bool {
        let sql = """
            SELECT version, client, user, timestamp, accepted, changes FROM _log WHERE version > ? ORDER BY version
            """
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: version))
            while try statement.step() {
                guard try body(fitting(try readFormat1Entry(statement))) else { return false }
            }
            return true
        }
    }

    private func readFormat1Entry(_ statement: Statement) throws -> LogEntry {
        let changes = try StoredBlob.decode(statement.blob(5), file: connection.name, what: "a log entry") {
            reader throws(WireError) in
            try reader.array { reader throws(WireError) in try LogChange(fromFormat1: &reader) }
        }
        return LogEntry(
            version: UInt64(
                try statement.number(0, file: connection.name, what: "the version of a log entry")),
            clientID: UInt64(bitPattern: statement.int(1)),
            userID: statement.isNull(2) ? nil : statement.string(2),
            timestamp: HybridTimestamp(microseconds: statement.int(3)),
            acceptedAt: Timestamp(microseconds: statement.int(4)), changes: changes)
    }

    func dropFormat1(through version: UInt64, _ deletes: inout [(object: ObjectRef, version: UInt64)]) throws {
        let sql = """
            SELECT version, client, user, timestamp, accepted, changes FROM _log WHERE version <= ? ORDER BY version
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(version))
            while try statement.step() {
                let entry = try readFormat1Entry(statement)
                for change in entry.changes where change.kind == .delete {
                    deletes.append((change.object, entry.version))
                }
                log.byteCount -= statement.bytes(5).count
            }
        }
        try connection.withStatement("DELETE FROM _log WHERE version <= ?") { statement in
            statement.bind(1, Int64(version))
            try statement.run()
        }
        log.hasFormat1 = try connection.integer("SELECT 1 FROM _log LIMIT 1") != nil
    }
}
