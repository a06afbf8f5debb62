internal import Glibc
internal import SluiceModel

/// Copies what a server has in its folder, while the server runs or does not.
package enum DatabaseCopy {
    /// Copies a database as it is at a moment, beside its writer. O(n); memory is bounded.
    ///
    /// - Parameters:
    ///   - name: the database's name.
    ///   - path: its file.
    ///   - copy: where the copy goes; a file of that name is replaced.
    ///   - isCancelled: asked now and then whether the copy is no longer wanted.
    /// - Returns: what the copy has.
    /// - Throws: ``StorageError``; of the code ``StorageError/Code/vanished`` if files of the database are missing, and
    ///   ``StorageError/Code/damaged`` if it is damaged.
    package static func make(
        of name: String, at path: String, to copy: String, isCancelled: @escaping () -> Bool = { false }
    ) throws -> BackupMember.DatabaseState {
        let source = try DatabasePath.resolve(path)
        guard let header = try DatabaseHeader(path: source.file) else {
            throw StorageError(
                .vanished,
                "\(path) is missing or empty, and there was a database; put its files back, or leave '\(name)' out")
        }
        try header.check(.server, path: source.file)
        if let damage = DamageRecord(besides: source.file).read() {
            throw StorageError.damaged(path, damage, "restore it from a backup, or leave '\(name)' out")
        }
        let marker = try MarkerFile.find(source)
        do { try copyFile(source, to: copy, isCancelled) } catch let error as StorageError where error.code == .full {
            throw Self.hasRoom(copy)
                ? StorageError.damaged(
                    path, "copying it takes more pages than it has", "restore it from a backup, or leave '\(name)' out")
                : StorageError(.full, "\(copy): no space is left on its disk; free some and try again")
        }
        let (id, head, version) = try ReplicaFile.state(of: copy)
        if case .marker(let expected) = marker, expected.databaseID.map({ $0 == id }) ?? true, expected.isOpen,
            version < expected.commitCount
        {
            throw StorageError(
                .vanished,
                "\(path) lacks commits \(version + 1) to \(expected.commitCount), since its write-ahead log is missing; put "
                    + "its files back, or leave '\(name)' out")
        }
        return BackupMember.DatabaseState(name: name, id: id, head: head, version: version)
    }

    /// Whether a disk has room for more of a file than a page or two.
    private static func hasRoom(_ path: String) -> Bool {
        var status = statvfs()
        guard statvfs(DatabaseFile.folder(of: path), &status) == 0 else { return false }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) > 16 << 20
    }

    private static func copyFile(
        _ source: DatabasePath, to copy: String, _ isCancelled: @escaping () -> Bool
    ) throws {
        // Without a log nobody has the file open, and reading it makes no files beside it.
        if access(source.writeAheadLog, F_OK) != 0, let before = FileMoment(source) {
            do {
                _ = try ReplicaFile.copy(
                    source.file, to: copy, access: .readAlone(hasLog: false), isCancelled: isCancelled)
                if FileMoment(source) == before { return }
            } catch {
                guard FileMoment(source) != before else { throw error }
            }
        }
        _ = try ReplicaFile.copy(source.file, to: copy, access: .read, isCancelled: isCancelled)
    }

    /// Copies the file of users.
    ///
    /// - Throws: ``StorageError/Code/foreignFile`` if it is none.
    package static func makeOfUsers(at path: String, to copy: String) throws {
        try DatabaseFile.makeEmpty(copy)
        let users = try UserFile(path)
        defer { users.close() }
        try users.copy(to: copy)
    }
}

/// What changes when a database is opened for writing, or written.
private struct FileMoment: Equatable {
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int
    private let number: UInt64

    init?(_ path: DatabasePath) {
        var status = stat()
        guard stat(path.file, &status) == 0, access(path.writeAheadLog, F_OK) != 0 else { return nil }
        size = Int(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
        number = UInt64(status.st_ino)
    }
}
