internal import Glibc

/// The path of a database's file, and of the files beside it.
///
/// Symbolic links are followed once, at the beginning: SQLite puts its write-ahead log beside the file that a link
/// leads to, so the lock and the marker must be there too.
struct DatabasePath: Hashable {
    let file: String
    var writeAheadLog: String { file + "-wal" }
    var sharedMemory: String { file + "-shm" }
    var lock: String { file + "-lock" }
    var marker: String { file + "-marker" }
    /// Where a new database is made before it gets its name.
    var draft: String { file + "-new" }

    /// Finds the file that a path leads to, which need not exist.
    ///
    /// - Throws: ``StorageError/Code/vanished`` if the path is a symbolic link that leads nowhere,
    ///   ``StorageError/Code/notADatabase`` if a folder, a pipe or a device is where a file should be, ``StorageError/Code/misuse``
    ///   if it is empty or has a byte of value 0. None of them is opened.
    static func resolve(_ original: String) throws(StorageError) -> DatabasePath {
        guard FilePath.isUsable(original) else {
            throw StorageError(
                .misuse, original.isEmpty ? "the path is empty; name a file" : "a path cannot have the character 0")
        }
        let result = DatabasePath(file: try target(of: original))
        for path in [result.file, result.writeAheadLog, result.sharedMemory, result.lock, result.marker] {
            try checkRegular(path, beside: original)
        }
        return result
    }

    /// The path that a symbolic link leads to; any other path itself.
    private static func target(of path: String) throws(StorageError) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let target = realpath(path, nil) else {
            throw StorageError(
                .vanished,
                "\(path) is a symbolic link that leads to no file; mount or restore what it leads to, or remove the link "
                    + "to start afresh")
        }
        let result = String(cString: target)
        free(target)
        return result
    }

    /// Whether a path leads to anything, or to a database that vanished.
    static func isTaken(_ path: String) -> Bool {
        let path = DatabasePath(file: path)
        return [path.file, path.marker, path.writeAheadLog].contains { name in
            var status = stat()
            return lstat(name, &status) == 0
        }
    }

    /// Whether commits are in the write-ahead log.
    var hasLoggedCommits: Bool {
        var status = stat()
        return stat(writeAheadLog, &status) == 0 && status.st_size > 0
    }

    /// Gives the database and what is beside it but the lock another name: that of the file with `-foreign`, and a number
    /// if that is taken.
    ///
    /// - Returns: the name of the file, without its folder.
    func setAside() throws(StorageError) -> String {
        var number = 1
        var aside = DatabasePath(file: file + "-foreign")
        while Self.isTaken(aside.file) {
            number += 1
            aside = DatabasePath(file: "\(file)-foreign-\(number)")
        }
        for suffix in ["", "-wal", "-shm", "-damage", "-marker"]
        where rename(file + suffix, aside.file + suffix) != 0 && errno != ENOENT {
            throw .system(errno, doing: "setting it aside", path: file + suffix)
        }
        return String(aside.file.dropFirst(DatabaseFile.folder(of: file).count + 1))
    }

    /// Removes the database and what is beside it but the lock.
    func removeFiles() { for name in [file, writeAheadLog, sharedMemory, marker] { unlink(name) } }

    private static func checkRegular(_ path: String, beside original: String) throws(StorageError) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let kind: String
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: kind = "a folder"
        case S_IFIFO: kind = "a pipe"
        case S_IFSOCK: kind = "a socket"
        case S_IFCHR, S_IFBLK: kind = "a device"
        default: kind = "no regular file"
        }
        let name = path.hasPrefix(original) ? path : "\(original) leads to \(path), which"
        throw StorageError(.notADatabase, "\(name) is \(kind), not a file; move it away or name another file")
    }
}
