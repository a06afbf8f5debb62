internal import Glibc

/// Deletes a database's files: all of them, or none.
///
/// The file is renamed first, with `-deleted` behind its name. From then on the database is gone, and what is left is
/// removed by whoever comes next, if this process ends before it has done so.
package enum DatabaseRemoval {
    private static let suffix = "-deleted"

    /// Deletes a database that nobody has open.
    ///
    /// - Returns: false if there is none.
    /// - Throws: ``StorageError/Code/locked`` if somebody has it open; others if nothing was deleted.
    package static func remove(_ original: String) throws -> Bool {
        let path = try DatabasePath.resolve(original)
        guard DatabasePath.isTaken(path.file) || isPending(path.file) else { return false }
        let lock = try FileLock(besides: path)
        defer { withExtendedLifetime(lock) {} }
        let isThere = access(path.file, F_OK) == 0
        if isThere || !isPending(path.file) {
            // What is left of a database whose file vanished is deleted under the same name.
            if !isThere { try make(path.file + suffix) }
            if isThere, rename(path.file, path.file + suffix) != 0 {
                throw StorageError.system(errno, doing: "deleting it", path: path.file)
            }
            try DatabaseFile.synchronize(DatabaseFile.folder(of: path.file))
        }
        try clear(path)
        // A symbolic link to the file would lead nowhere.
        if original != path.file { unlink(original) }
        return true
    }

    /// Removes what is left of a database whose deletion was not finished; nothing happens if there is none.
    package static func finish(_ path: String) throws {
        guard isPending(path) else { return }
        let path = try DatabasePath.resolve(path)
        guard access(path.file, F_OK) != 0 else {
            // Another database has the name already.
            unlink(path.file + suffix)
            return
        }
        let lock = try FileLock(besides: path)
        defer { withExtendedLifetime(lock) {} }
        try clear(path)
    }

    private static func isPending(_ path: String) -> Bool { access(path + suffix, F_OK) == 0 }

    private static func make(_ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StorageError.system(errno, doing: "deleting it", path: path) }
        close(file)
    }

    /// The renamed file goes last, since it says that the others are to go.
    private static func clear(_ path: DatabasePath) throws {
        for file in [path.writeAheadLog, path.sharedMemory, path.marker, path.file + "-damage", path.draft] {
            guard unlink(file) == 0 || errno == ENOENT else {
                throw StorageError.system(errno, doing: "deleting it", path: file)
            }
        }
        try DatabaseFile.synchronize(DatabaseFile.folder(of: path.file))
        unlink(path.file + suffix)
    }
}
