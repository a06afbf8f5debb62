internal import Glibc
package import SluiceModel

/// Copies of a server's databases as files, which other servers begin with.
package enum ReplicaFile {
    /// Copies a database that may be open, beside its writer, without its free pages. O(n).
    ///
    /// - Parameters:
    ///   - path: the database's file.
    ///   - copy: where the copy goes, for its owner alone. A file of that name is replaced. It is not synced.
    /// - Returns: the last group that the copy has.
    package static func copy(_ path: String, to copy: String) throws -> JournalHead {
        try self.copy(path, to: copy, access: .read)
    }

    /// - Parameters:
    ///   - access: how the database is read.
    ///   - isCancelled: asked now and then whether the copy is no longer wanted.
    static func copy(
        _ path: String, to copy: String, access: FileAccess, isCancelled: @escaping () -> Bool = { false }
    ) throws -> JournalHead {
        try DatabaseFile.makeEmpty(copy)
        let source = try SQLiteConnection(path: try DatabasePath.resolve(path).file, access: access)
        defer { source.close() }
        try source.withWorkLimit(WorkLimit(stepCountMax: .max, isCancelled: isCancelled)) {
            try source.withStatement("VACUUM INTO ?") { statement in
                statement.bind(1, copy)
                try statement.run()
            }
        }
        return try head(of: copy)
    }

    /// The last group that a database has which nobody writes to.
    package static func head(of path: String) throws -> JournalHead { try state(of: path).head }

    /// The id of a database which nobody writes to, its last group and its version.
    package static func state(of path: String) throws -> (id: ObjectID, head: JournalHead, version: UInt64) {
        let connection = try SQLiteConnection(path: path, access: .readAlone(hasLog: false))
        defer { connection.close() }
        let id = try SQLiteServerStorage.databaseID(connection)
        let log = try SQLiteServerStorage.LogState(connection, databaseID: id, start: 0)
        return (id, log.head, log.version)
    }

    /// Removes from a copy what belongs to the server that has made it, and not to the database. Nothing needs to be left of
    /// the copy if that fails.
    package static func disown(_ path: String) throws {
        let connection = try SQLiteConnection(path: path, access: .write)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = OFF")
        try connection.execute("PRAGMA synchronous = OFF")
        try OwnTable(connection).remove()
    }

    /// Makes a database of a copy. It appears under its name only when it is whole and durable.
    ///
    /// - Parameters:
    ///   - path: the name; nothing may have it.
    ///   - fill: writes the copy to another name, under which there is an empty file.
    package static func receive(_ path: String, fill: (_ draft: String) throws -> Void) throws {
        try DatabaseFile.receive(path, kind: .server, fill: fill)
    }

    /// The number of groups that ``follow(_:_:to:isCancelled:)`` reads at a time.
    private static let recordCountMax = 64

    /// Applies what a journal has to a replica that nobody serves.
    ///
    /// - Parameters:
    ///   - position: the last group to apply; nil for all that there are.
    ///   - isCancelled: asked now and then whether to give up.
    /// - Throws: ``StorageError/Code/cancelled``; ``StorageError/Code/journal`` if the journal ends before the position, or
    ///   does not continue the replica.
    package static func follow(
        _ journal: any Journal, _ replica: SQLiteServerStorage, to position: UInt64? = nil,
        isCancelled: () -> Bool = { false }
    ) throws {
        while replica.head.position < position ?? .max {
            guard !isCancelled() else { throw StorageError(.cancelled, "a replica is not wanted any more") }
            let records = try journal.records(after: replica.head.position, countMax: recordCountMax)
            guard !records.isEmpty else {
                guard let position else { return }
                throw StorageError(
                    .journal, "the journal ends with group \(replica.head.position), and had group \(position)")
            }
            for record in records where record.head.position <= position ?? .max {
                _ = try replica.transaction { try replica.apply(record) }
            }
        }
    }

    /// Removes a database that is not open, with all that is beside it.
    package static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal", "-marker", "-damage", "-new", "-lock"] { unlink(path + suffix) }
    }
}
