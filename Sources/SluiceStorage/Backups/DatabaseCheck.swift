package import SluiceModel

/// Looks whether the copy of a database is whole.
package struct DatabaseCheck: Sendable {
    package let classCount: Int
    package let objectCount: Int
    /// When the last group was accepted; nil if there is none.
    package let acceptedAt: Timestamp?
    /// The first group that the log has; nil for an empty log.
    package let firstPosition: UInt64?

    /// Checks a copy that nobody uses: that it is what it is said to be, SQLite's own check of all pages and indexes, and
    /// the chain of hashes as far as the log reaches. O(n log n). Files are made beside it.
    ///
    /// - Parameter isCancelled: asked now and then whether to give up.
    /// - Throws: ``StorageError`` with the reason.
    package init(
        _ path: String, is expected: BackupMember.DatabaseState, isCancelled: @escaping () -> Bool = { false }
    ) throws {
        let storage = try SQLiteServerStorage.open(.file(path), databaseID: expected.id)
        defer { storage.close() }
        if let damage = storage.damage { throw damage }
        let found = (storage.databaseID, storage.head, storage.version)
        guard found == (expected.id, expected.head, expected.version) else {
            throw StorageError(
                .damaged,
                "the database '\(expected.name)' has group \(found.1.position) and version \(found.2), and should have "
                    + "group \(expected.head.position) and version \(expected.version)")
        }
        try storage.checkPages(of: expected.name, isCancelled)
        var first: UInt64?
        var last: JournalHead?
        try storage.forEachRecord(from: 1) { record, _ in
            if let last, record.head.position != last.position + 1 {
                throw StorageError(
                    .damaged, "the log of '\(expected.name)' lacks group \(last.position + 1)")
            }
            first = first ?? record.head.position
            last = record.head
            if isCancelled() { throw StorageError(.cancelled, "the check of a database is not wanted any more") }
            return true
        }
        guard last == nil || last == expected.head, last != nil || expected.head.position == 0 else {
            throw StorageError(
                .damaged, "the log of '\(expected.name)' does not end with group \(expected.head.position)")
        }
        firstPosition = first
        acceptedAt = storage.acceptedAt
        let classes = storage.schema.classes.indices.filter { !storage.schema.classes[$0].isRetired }
        classCount = classes.count
        objectCount = try classes.reduce(0) { try $0 + storage.count(ofClass: $1) }
    }

    /// The number of users that a copy of their file has.
    package static func userCount(_ path: String) throws -> Int {
        let users = try UserFile(path)
        defer { users.close() }
        return try users.read { try $0.users().count }
    }
}

extension SQLiteServerStorage {
    /// Runs SQLite's check of all pages and indexes.
    fileprivate func checkPages(of name: String, _ isCancelled: @escaping () -> Bool) throws {
        try connection.withWorkLimit(WorkLimit(stepCountMax: .max, isCancelled: isCancelled)) {
            try connection.withStatement("PRAGMA integrity_check(1)") { statement in
                guard try statement.step() else {
                    throw StorageError(.damaged, "the database '\(name)' cannot be checked")
                }
                let result = statement.string(0)
                guard result == "ok" else {
                    throw StorageError(.damaged, "the database '\(name)' is damaged: \(result); use another backup")
                }
            }
        }
    }
}
