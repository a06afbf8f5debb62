internal import Glibc
package import SluiceModel
package import SluiceStorage

/// Makes backups of a data folder, while a server uses it or none does.
package struct BackupMaker: Sendable {
    private let folder: String
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - folder: the data folder.
    ///   - now: the clock, by which the backup is dated.
    /// - Throws: ``ServerError/Code/dataFolder`` if there is no such folder, or if it has replicas of a cluster.
    package init(_ folder: String, now: @escaping @Sendable () -> Timestamp) throws(ServerError) {
        var status = stat()
        guard stat(folder, &status) == 0 ? status.st_mode & S_IFMT == S_IFDIR : errno == EACCES else {
            throw ServerError(
                .dataFolder, "the data folder '\(folder)' does not exist, or is none; name that of the server")
        }
        self.folder = folder
        self.now = now
        try DataFolder.checkReadable(folder)
        guard try ReplicaFolder.marked(folder) == nil else {
            throw ServerError(
                .dataFolder,
                "the data folder '\(folder)' has replicas of a cluster, whose data is in PostgreSQL; back that up with "
                    + "pg_dump, or make this a server's folder first with 'sluice cluster detach'")
        }
    }

    /// Makes a backup: a copy of each database as it is at a moment, and of the users. A copy is made beside the backup
    /// first, so that twice the room of the largest database is needed. O(n).
    ///
    /// - Parameters:
    ///   - path: the file, which must not be there.
    ///   - names: the databases; nil for all.
    ///   - mayBeEmpty: whether there may be no database and no users.
    ///   - isCancelled: asked now and then whether the backup is still wanted.
    /// - Throws: ``ServerError``; ``StorageError``. Nothing is left of the file then.
    package func make(
        _ path: String, of names: [String]? = nil, mayBeEmpty: Bool = true,
        isCancelled: @escaping () -> Bool = { false }
    ) throws -> BackupManifest {
        try DataFolder.checkReadable(folder)
        let names = try checked(names)
        let users = "\(folder)/\(UserFile.name)"
        guard mayBeEmpty || !names.isEmpty || access(users, F_OK) == 0 else {
            throw ServerError(
                .dataFolder, "the data folder '\(folder)' has no databases and no users; name that of the server")
        }
        let writer = try BackupWriter(path, server: SluiceRelease.version, time: now())
        let copy = path + DraftFile.suffix + Self.copySuffix
        // What a killed process has left must not become a part of the copy.
        ReplicaFile.remove(copy)
        defer { ReplicaFile.remove(copy) }
        for name in names {
            guard !isCancelled() else { throw StorageError(.cancelled, "the backup is not wanted any more") }
            let state = try DatabaseCopy.make(of: name, at: file(name), to: copy, isCancelled: isCancelled)
            try writer.add(BackupMember(database: state), contentOf: copy, isCancelled: isCancelled)
        }
        if access(users, F_OK) == 0 {
            try DatabaseCopy.makeOfUsers(at: users, to: copy)
            try writer.add(.users, contentOf: copy)
        }
        return try writer.finish()
    }

    /// What a backup that was made takes on the disk: its databases, as they are stored, with what describes them.
    package static func byteCount(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// What is added to the name of an unfinished backup for the copy of a database.
    static let copySuffix = "-copy"

    /// The names, each once and in order.
    private func checked(_ names: [String]?) throws(ServerError) -> [String] {
        let present = DataFolder.databaseNames(folder).filter(BackupMember.isDatabaseName)
        guard let names else {
            if let missing = markedNames.first(where: { !present.contains($0) }) {
                throw ServerError(
                    .dataFolder,
                    "the data folder '\(folder)' lacks the file of '\(missing)', whose marker is there; put the file back, or "
                        + "name the databases to back up")
            }
            return present
        }
        for name in names where !present.contains(name) {
            let hint = DatabaseName.hint(for: name, among: present)
            throw ServerError(.dataFolder, "the data folder '\(folder)' has no database '\(name)'; \(hint)")
        }
        return Set(names).sorted()
    }

    /// The databases that have markers.
    private var markedNames: [String] {
        DataFolder.names(in: folder, endingWith: DatabaseFileName.suffix + "-marker").filter(
            BackupMember.isDatabaseName)
    }

    private func file(_ name: String) -> String { "\(folder)/\(DatabaseFileName.of(name))" }
}
