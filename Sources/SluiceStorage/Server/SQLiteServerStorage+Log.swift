package import SluiceModel
internal import SluiceQuery

/// The log as resuming clients and merging read it: who wrote what, and what there was before.
extension SQLiteServerStorage {
    /// Calls `body` with the entries after a version in ascending order, until it returns false.
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    package func forEachLogEntry(after version: UInt64, _ body: (LogEntry) throws -> Bool) throws {
        guard version >= logStart else {
            throw StorageError(
                .logTrimmed, "\(connection.name): the log begins after version \(logStart), not \(version)")
        }
        guard version < self.version, let first = try firstPosition(after: version) else { return }
        try forEachRecord(from: first) { record, undo in
            let entries = try UndoImages.entries(
                of: readGroup(record.bytes), undoing: undo, file: connection.name)
            for entry in entries where entry.version > version {
                guard try body(fitting(entry)) else { return false }
            }
            return true
        }
    }

    /// A group as it was stored, without its values.
    func readGroup(_ bytes: [UInt8]) throws -> JournalGroup {
        do { return try JournalGroup.decode(bytes, wantsValues: false) } catch {
            throw StorageError.damaged(connection.name, "a log entry cannot be read")
        }
    }

    /// An entry under the schema of now.
    func fitting(_ entry: LogEntry) throws -> LogEntry {
        guard entry.changes.allSatisfy({ $0.isPossible(in: schema) }) else {
            throw StorageError.damaged(connection.name, "a log entry is about objects that there cannot be")
        }
        var entry = entry
        entry.changes = entry.changes.compactMap { $0.fitting(schema) }
        return entry
    }

    /// The position of the first group that leads beyond a version; nil if there is none. O(log n) lookups, since
    /// versions ascend with positions and positions have no gaps.
    func firstPosition(after version: UInt64) throws -> UInt64? {
        guard var low = try connection.integer("SELECT min(position) FROM _journal") else { return nil }
        var high = Int64(log.head.position) + 1
        let end = high
        low = try StoredNumber.checked(
            low, in: 1...end, file: connection.name, what: "the position of the first log entry")
        try connection.withStatement("SELECT version FROM _journal WHERE position = ?") { statement in
            while low < high {
                let middle = low + (high - low) / 2
                statement.bind(1, middle)
                guard try statement.step() else {
                    throw StorageError.damaged(connection.name, "a log entry is missing")
                }
                if UInt64(clamping: statement.int(0)) > version { high = middle } else { low = middle + 1 }
                statement.reset()
            }
        }
        return low < end ? UInt64(low) : nil
    }

    /// When a version was accepted: the time of queries at that version. The first versions have the time 0 where an older
    /// server has trimmed the log. O(log n).
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    package func time(ofVersion version: UInt64) throws -> Timestamp {
        guard version >= logStart else {
            throw StorageError(
                .logTrimmed, "\(connection.name): the log begins after version \(logStart), not \(version)")
        }
        guard version < self.version else { return log.time }
        guard version > logStart else { return try LogState.storedTime(connection) ?? Timestamp(microseconds: 0) }
        guard let position = try firstPosition(after: version - 1),
            let time = try connection.integer("SELECT accepted FROM _journal WHERE position = \(position)")
        else { throw StorageError.damaged(connection.name, "a log entry is missing") }
        return Timestamp(microseconds: time)
    }

    /// What was done to an object after a version, according to the log.
    ///
    /// Recent versions are answered from memory; for an older one the log is read back to it once.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
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
            index.endReading()
            writeIndex = index
        }
        return writeIndex?.history(of: object, since: version) ?? ObjectHistory()
    }

    /// The version that last wrote or deleted an object; nil if the database does not know it.
    package func lastVersion(of object: ObjectRef) throws -> UInt64? { try tables.lastVersion(of: object) }

    /// The latest time at which anything was written; nil if nothing was.
    package var latestTimestamp: HybridTimestamp? { versionClock.latest }

    /// A version up to which everything was written earlier than a time; 0 if none is known.
    package func version(before timestamp: HybridTimestamp) -> UInt64 { versionClock.version(before: timestamp) }

    /// How many records of writes, stamps and sums merging has read, for tests of how the work grows.
    package var mergeStepCount: UInt64 { writeIndex?.stepCount ?? 0 }

    /// How many writes are held in memory for merging, for tests of how it grows.
    package var mergeRecordCount: Int { writeIndex?.recordCount ?? 0 }
}
