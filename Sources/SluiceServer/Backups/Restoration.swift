internal import Glibc
internal import SluiceModel
package import SluiceStorage

/// Makes a data folder of a backup, and of the groups of an archive after it. The folder appears whole or not at all.
package struct Restoration {
    /// What a restored folder has.
    package enum Restored: Sendable {
        /// A database, and how many groups came from the archive.
        case database(BackupMember.DatabaseState, archivedCount: UInt64)
        /// The users, as they were at the time of the backup.
        case users
    }

    private let reader: BackupReader
    private let backup: String
    private let target: String
    private let names: [String]?

    /// - Parameters:
    ///   - backup: the backup's file.
    ///   - target: the data folder to make. Nothing has the name, or an empty folder.
    ///   - names: the databases; nil for all.
    /// - Throws: ``StorageError``; ``ServerError/Code/dataFolder`` if the folder has something, or the backup lacks a name.
    package init(_ backup: String, to target: String, of names: [String]? = nil) throws {
        var trimmed = target
        while trimmed.utf8.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        try Self.checkFree(trimmed)
        self.backup = backup
        self.target = trimmed
        self.names = names
        reader = try BackupReader(StoredFile(backup))
    }

    private static func checkFree(_ target: String) throws(ServerError) {
        var status = stat()
        guard lstat(target, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw ServerError(.dataFolder, "'\(target)' is no folder, and was left as it is; name another")
        }
        guard DataFolder.names(in: target, endingWith: "").isEmpty else {
            throw ServerError(
                .dataFolder,
                "the folder '\(target)' has something, and was left as it is; name one that does not exist, and move it to "
                    + "its place once it is right")
        }
    }

    /// Restores. O(n).
    ///
    /// - Parameters:
    ///   - archive: the folder of an archive, whose groups are applied to what the backup has; nil for the backup alone.
    ///   - wanted: up to where.
    ///   - isCancelled: asked now and then whether to give up.
    ///   - report: called for each member, before the folder appears.
    /// - Throws: ``StorageError``; ``ServerError``. Nothing is left of the folder then.
    package func run(
        archive: String? = nil, to wanted: ArchiveTarget = .end, isCancelled: () -> Bool = { false },
        report: (Restored) -> Void = { _ in }
    ) throws {
        let archive = try archive.map { path in
            let folder = ArchiveFolder(path: path)
            guard folder.isArchive else {
                throw ServerError(
                    .backups, "'\(path)' is no archive; name the folder that 'sluice serve --archive' has filled")
            }
            return folder
        }
        let names = try wantedNames(archive)
        let folder = try WorkFolder(target + ".restoring")
        var restoredCount = 0
        for (index, member) in reader.manifest.members.enumerated() {
            if let database = member.database {
                guard names.contains(database.name) else { continue }
                guard
                    let (state, count) = try restore(
                        database.name, from: (index, database), archive, wanted, in: folder.path, isCancelled)
                else { continue }
                restoredCount += 1
                report(.database(state, archivedCount: count))
            } else {
                let path = "\(folder.path)/\(UserFile.name)"
                try reader.unpack(index, into: path, isCancelled: isCancelled)
                _ = try DatabaseCheck.userCount(path)
                report(.users)
            }
        }
        let present = Set(reader.manifest.databases.compactMap(\.database?.name))
        for name in names.subtracting(present).sorted() {
            guard let (state, count) = try restore(name, from: nil, archive, wanted, in: folder.path, isCancelled)
            else { continue }
            restoredCount += 1
            report(.database(state, archivedCount: count))
        }
        if let names = self.names, restoredCount < Set(names).count {
            throw ServerError(.backups, "at that time there was no such database; name a later --until")
        }
        guard restoredCount > 0 || names.isEmpty else {
            let list = names.sorted().prefix(10).joined(separator: ", ")
            throw ServerError(
                .backups, "at that time there was no database; name a later --until. Later there was \(list)")
        }
        for name in DataFolder.names(in: folder.path, endingWith: "-lock") {
            unlink("\(folder.path)/\(name)-lock")
        }
        try folder.publish(as: target)
    }

    /// The databases to restore: those that were named, or all that the backup and the archive have.
    private func wantedNames(_ archive: ArchiveFolder?) throws(ServerError) -> Set<String> {
        var known = Set(reader.manifest.databases.compactMap(\.database?.name))
        if let archive { known.formUnion(archive.databaseNames.filter(BackupMember.isDatabaseName)) }
        guard let names else { return known }
        for name in names where !known.contains(name) {
            let hint = DatabaseName.hint(for: name, among: known.sorted())
            throw ServerError(.backups, "'\(backup)' has no database '\(name)'; \(hint)")
        }
        return Set(names)
    }

    /// - Returns: what was restored, and how many groups came from the archive; nil if there was no such database.
    private func restore(
        _ name: String, from member: (index: Int, state: BackupMember.DatabaseState)?, _ archive: ArchiveFolder?,
        _ wanted: ArchiveTarget, in folder: String, _ isCancelled: () -> Bool
    ) throws -> (BackupMember.DatabaseState, UInt64)? {
        let file = "\(folder)/\(DatabaseFileName.of(name))"
        var path: ArchivePath?
        if let archive {
            path = try ArchivePath(
                of: name, in: archive.folder(of: name), from: member?.state, to: wanted,
                completeUntil: archive.completeUntil)
            if path == nil { return nil }
        }
        if let member, path.map({ $0.start == .backup }) ?? true {
            try ReplicaFile.receive(file) { draft in
                try reader.unpack(member.index, into: draft, isCancelled: isCancelled)
                let (id, head, version) = try ReplicaFile.state(of: draft)
                guard
                    BackupMember.DatabaseState(name: name, id: id, head: head, version: version) == member.state
                else {
                    throw StorageError(
                        .damaged,
                        "\(backup) does not have the state of '\(name)' that its manifest says; use another backup")
                }
            }
        }
        let before = path.map { $0.start == .backup } ?? true ? member?.state.head.position ?? 0 : 0
        // Opening it makes its marker, so that from now on its loss is noticed.
        let state = try (path ?? ArchivePath()).apply(to: file, of: name, isCancelled: isCancelled)
        try StoredFolder.synchronize(file)
        return (state, state.head.position - before)
    }
}
