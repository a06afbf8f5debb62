package import SluiceModel
internal import SluiceQuery
internal import SluiceWire

extension SQLiteServerStorage {
    package func append(_ entry: LogEntry) throws {
        try requireTransaction()
        guard entry.version == version + 1 else {
            throw StorageError(
                .misuse, "\(connection.name): version \(entry.version) cannot follow version \(version)")
        }
        var writer = ByteWriter()
        writer.array(entry.changes) { $1.encode(into: &$0) }
        let sql = "INSERT INTO _log (version, client, user, timestamp, accepted, changes) VALUES (?, ?, ?, ?, ?, ?)"
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(entry.version))
            statement.bind(2, Int64(bitPattern: entry.clientID))
            statement.bind(3, entry.userID)
            statement.bind(4, entry.timestamp.microseconds)
            statement.bind(5, entry.acceptedAt.microseconds)
            statement.bind(6, writer.bytes)
            try statement.run()
        }
        log.version = entry.version
        log.acceptedAt = entry.acceptedAt
        log.entryCount += 1
        log.byteCount += writer.count
        versionClock.append(entry.version, entry.timestamp)
        writeIndex?.append(entry)
    }

    package func forEachLogEntry(after version: UInt64, _ body: (LogEntry) throws -> Bool) throws {
        guard version >= logStart else {
            throw StorageError(
                .logTrimmed, "\(connection.name): the log begins after version \(logStart), not \(version)")
        }
        let sql = """
            SELECT version, client, user, timestamp, accepted, changes FROM _log WHERE version > ? ORDER BY version
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: version))
            while try statement.step(), try body(readEntry(statement)) {}
        }
    }

    private func readEntry(_ statement: Statement) throws -> LogEntry {
        let changes = try StoredBlob.decode(statement.blob(5), file: connection.name, what: "a log entry") {
            reader throws(WireError) in
            try reader.array { reader throws(WireError) in try LogChange(from: &reader) }
        }
        guard changes.allSatisfy({ $0.isPossible(in: schema) }) else {
            throw StorageError.damaged(connection.name, "a log entry is about objects that there cannot be")
        }
        return LogEntry(
            version: UInt64(clamping: statement.int(0)), clientID: UInt64(bitPattern: statement.int(1)),
            userID: statement.isNull(2) ? nil : statement.string(2),
            timestamp: HybridTimestamp(microseconds: statement.int(3)),
            acceptedAt: Timestamp(microseconds: statement.int(4)),
            changes: changes.compactMap { $0.fitting(schema) })
    }

    package func history(of object: ObjectRef, since version: UInt64) throws -> ObjectHistory {
        guard version >= logStart else {
            throw StorageError(
                .logTrimmed, "\(connection.name): the log begins after version \(logStart), not \(version)")
        }
        if writeIndex == nil || writeIndex!.start > version {
            var index = WriteIndex(after: version)
            try forEachLogEntry(after: version) { entry in
                index.append(entry)
                return true
            }
            writeIndex = index
        }
        return writeIndex?.history(of: object, since: version) ?? ObjectHistory()
    }

    package func lastVersion(of object: ObjectRef) throws -> UInt64? { try tables.lastVersion(of: object) }

    package func version(before timestamp: HybridTimestamp) -> UInt64 { versionClock.version(before: timestamp) }

    /// How many records of writes, stamps and sums merging has read, for tests of how the work grows.
    package var mergeStepCount: UInt64 { writeIndex?.stepCount ?? 0 }

    package func trimLog(keepingVersions: UInt64, keepingBytes: Int, entriesMax: Int) throws -> Int {
        guard log.entryCount > keepingVersions || log.byteCount > keepingBytes else { return 0 }
        try begin()
        do {
            let count = try dropEntries(
                keepingVersions: keepingVersions, keepingBytes: keepingBytes, entriesMax: entriesMax)
            try commit()
            return count
        } catch {
            rollback()
            throw error
        }
    }

    private func dropEntries(keepingVersions: UInt64, keepingBytes: Int, entriesMax: Int) throws -> Int {
        var count = 0
        var deletes: [(object: ObjectRef, version: UInt64)] = []
        let sql = """
            SELECT version, client, user, timestamp, accepted, changes FROM _log ORDER BY version LIMIT ?
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(entriesMax))
            while log.entryCount > keepingVersions || log.byteCount > keepingBytes, try statement.step() {
                let entry = try readEntry(statement)
                for change in entry.changes where change.kind == .delete {
                    deletes.append((change.object, entry.version))
                }
                log.entryCount -= 1
                log.byteCount -= statement.bytes(5).count
                log.start = entry.version
                count += 1
            }
        }
        try connection.withStatement("DELETE FROM _log WHERE version <= ?") { statement in
            statement.bind(1, Int64(log.start))
            try statement.run()
        }
        try meta.set("logStart", Int64(log.start))
        for delete in deletes { try tables.purgeTombstone(delete.object, version: delete.version) }
        writeIndex = nil
        return count
    }
}
