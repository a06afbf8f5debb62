package import SluiceModel

/// Dropping old entries. Which ones is decided once and stands in the journal, so every engine drops the same.
extension SQLiteServerStorage {
    /// How many bytes the log has. O(1).
    package var logByteCount: Int { log.byteCount }

    /// Drops the oldest groups beyond what is to be kept, and the tombstones of their deletions, in a small transaction
    /// of its own. Every engine that applies the same journal drops the same.
    ///
    /// - Parameters:
    ///   - keepingVersions: the most entries to keep.
    ///   - keepingBytes: the most bytes of entries to keep.
    ///   - time: groups that were accepted earlier are dropped; nil for none because of their age.
    ///   - entriesMax: the most entries to drop in this call, if the first group has no more.
    ///   - pinned: the version after which everything is kept in any case; nil for none.
    /// - Returns: the number of entries dropped.
    @discardableResult
    package func trimLog(
        keepingVersions: UInt64, keepingBytes: Int, acceptedSince time: Timestamp? = nil, entriesMax: Int,
        pinned: UInt64? = nil
    ) throws -> Int {
        let start = log.start
        let version = try versionToTrim(
            keepingVersions: keepingVersions, keepingBytes: keepingBytes, acceptedSince: time, entriesMax: entriesMax,
            pinned: pinned)
        guard let version else { return 0 }
        try transaction { try perform(.trim(version: version)) }
        return Int(version - start)
    }

    /// The bytes of the log's groups after each of some versions, as ``logByteCount`` counts all. O(groups after the first).
    package func logByteCounts(after versions: Set<UInt64>) throws -> [UInt64: Int] {
        var rest = versions.sorted()[...]
        var counts: [UInt64: Int] = [:]
        var byteCount = 0
        let sql = "SELECT version, length(record) + length(undo) FROM _journal ORDER BY position DESC"
        try connection.withStatement(sql) { statement in
            while !rest.isEmpty, try statement.step() {
                let version = UInt64(clamping: statement.int(0))
                while let last = rest.last, last >= version {
                    counts[last] = byteCount
                    rest.removeLast()
                }
                byteCount += Int(statement.int(1))
            }
        }
        for version in rest { counts[version] = byteCount }
        return counts
    }

    /// The version up to which whole groups can be dropped; nil if none can. It may be the start of the log: the groups
    /// that follow may have made no version.
    private func versionToTrim(
        keepingVersions: UInt64, keepingBytes: Int, acceptedSince time: Timestamp?, entriesMax: Int,
        pinned: UInt64?
    ) throws -> UInt64? {
        let isBytesOver = log.byteCount > keepingBytes
        let earliest = time?.microseconds ?? .min
        guard isBytesOver || log.version - log.start > keepingVersions || time != nil else { return nil }
        var result: UInt64?
        var byteCount = log.byteCount
        var groupCount = 0
        let sql = "SELECT version, length(record) + length(undo), accepted FROM _journal ORDER BY position"
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                let version = UInt64(
                    try statement.number(
                        0, in: Int64(log.start)...Int64(log.version), file: connection.name,
                        what: "the version of a log entry"))
                let acceptedAt = statement.int(2)
                if let pinned, version > pinned { return }
                let isOver =
                    byteCount > keepingBytes || log.version - version >= keepingVersions || acceptedAt < earliest
                // What came before the first upload has no time, and is as old as what follows it.
                if acceptedAt == 0, isOver, byteCount <= keepingBytes, log.version - version < keepingVersions {
                    byteCount -= Int(statement.int(1))
                    groupCount += 1
                    continue
                }
                guard isOver, (result ?? log.start) == log.start || version - log.start <= UInt64(clamping: entriesMax)
                else { return }
                result = version
                byteCount -= Int(statement.int(1))
                groupCount += 1
            }
        }
        // The drop is a group itself, which makes no version either.
        return result == log.start && groupCount < 2 ? nil : result
    }

    /// Drops the groups up to a version, and the tombstones of their deletions.
    func dropLog(through version: UInt64) throws {
        guard version <= self.version else {
            throw StorageError(
                .journal, "\(connection.name): the log up to version \(version) cannot be dropped at \(self.version)")
        }
        guard version >= log.start else { return }
        let time = try time(ofVersion: version)
        var deletes: [(object: ObjectRef, version: UInt64)] = []
        try connection.withStatement("SELECT record, undo FROM _journal WHERE version <= ?") { statement in
            statement.bind(1, Int64(version))
            while try statement.step() {
                log.byteCount -= statement.bytes(0).count + statement.bytes(1).count
                let group = try readGroup(statement.blob(0))
                for (offset, transaction) in group.transactions.enumerated() {
                    for change in transaction.changes where change.kind == .delete {
                        deletes.append((change.object, group.baseVersion + UInt64(offset) + 1))
                    }
                }
            }
        }
        try connection.withStatement("DELETE FROM _journal WHERE version <= ?") { statement in
            statement.bind(1, Int64(version))
            try statement.run()
        }
        log.start = version
        try meta.set("logStart", Int64(version))
        try meta.set("logStartTime", time.microseconds)
        for delete in deletes where schema.classes.indices.contains(delete.object.classIndex) {
            try tables.purgeTombstone(delete.object, version: delete.version)
        }
        writeIndex = nil
    }
}
