internal import Glibc
internal import SluiceModel
internal import SluiceStorage

/// The folder of a server's databases. It is created if it is missing, and locked against other servers as long as this
/// object exists. A folder that cannot be written is used if it has databases, which are then only read.
final class DataFolder: Sendable {
    private let lock: FileLock
    private let path: String
    /// Why nothing could be written in the folder when the server was started; nil if something could.
    let obstacle: String?

    /// Whether nothing is known to keep from writing in the folder. It waits for nothing, and so does not notice a full disk.
    var isWritable: Bool { obstacle == nil || access(path, W_OK) == 0 }

    /// Opens the folder. Only its owner may read a folder that is created here.
    ///
    /// - Throws: ``ServerError/Code/dataFolder`` when the folder cannot be created or written, or when another server
    ///   uses it.
    init(_ path: String) throws(ServerError) {
        self.path = path
        if let (folder, code) = Self.make(path) {
            throw Self.failure(path, "cannot be made", folder == path ? "" : " for '\(folder)'", code)
        }
        let code = Self.probe(path + "/server.probe")
        obstacle = code == 0 ? nil : Self.failure(path, "cannot be written", "", code).message
        guard code == 0 || Self.isObstacle(code) && Self.hasDatabases(path) else {
            throw Self.failure(path, "cannot be used", "", code)
        }
        do {
            lock = try Self.lock(path, isReadOnly: code != 0)
        } catch {
            throw Self.failure(path, "cannot be used", "", error.code)
        }
    }

    /// Checks that this process can read a folder that a server may use.
    ///
    /// - Throws: ``ServerError/Code/dataFolder`` with the reason.
    static func checkReadable(_ path: String) throws(ServerError) {
        guard access(path, R_OK | X_OK) != 0 else { return }
        let reason =
            switch errno {
            case EACCES: "permission denied; do this as the user of the server, or as root"
            case let code: "\(String(cString: strerror(code)).lowercased()); name that of the server"
            }
        throw ServerError(.dataFolder, "the data folder '\(path)' cannot be read: \(reason)")
    }

    /// Locks the lock file, or the folder where no file can be made: then no other server can write there either.
    private static func lock(_ path: String, isReadOnly: Bool) throws(FileLock.Failure) -> FileLock {
        let file = path + "/server.lock"
        guard isReadOnly else { return try FileLock(at: file) }
        return try FileLock(at: access(file, F_OK) == 0 ? file : path, isReadOnly: true)
    }

    /// Whether an error keeps from writing and not from reading.
    private static func isObstacle(_ code: Int32) -> Bool { [ENOSPC, EDQUOT, EROFS, EACCES, EPERM].contains(code) }

    private static func hasDatabases(_ path: String) -> Bool { databaseCount(path) > 0 }

    /// Whether there is something at the path of a folder.
    static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// How many databases have files in a folder; 0 if it cannot be read. O(n) for the files.
    static func databaseCount(_ path: String) -> Int { databaseNames(path).count }

    /// The databases that have files in a folder, sorted; none if it cannot be read. O(n log n) for the files.
    static func databaseNames(_ path: String) -> [String] { names(in: path, endingWith: DatabaseFileName.suffix) }

    /// The names in a folder that end with something, without that, sorted; none if it cannot be read. O(n log n).
    static func names(in path: String, endingWith suffix: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(suffix), name != ".", name != ".." { names.append(String(name.dropLast(suffix.count))) }
        }
        return names.sorted()
    }

    /// Checks that the folder is still the one that was locked.
    ///
    /// - Throws: ``StorageError/Code/vanished`` if the folder is no longer where it was when the server started.
    func check() throws(StorageError) {
        guard !lock.isInPlace else { return }
        throw StorageError(
            .vanished,
            "the data folder \(path) was removed, renamed or replaced while the server runs; put it back, or restart the "
                + "server to use what is there now")
    }

    /// Creates a folder and the missing folders above it.
    ///
    /// - Returns: nil, or the folder that could not be created and the error code.
    private static func make(_ path: String) -> (folder: String, code: Int32)? {
        var status = stat()
        if stat(path, &status) == 0 { return status.st_mode & S_IFMT == S_IFDIR ? nil : (path, ENOTDIR) }
        if mkdir(path, 0o700) == 0 { return nil }
        let code = errno
        let parent = Self.parent(of: path)
        guard code == ENOENT, !parent.isEmpty else { return code == EEXIST ? nil : (path, code) }
        if let failure = make(parent) { return failure }
        return mkdir(path, 0o700) == 0 || errno == EEXIST ? nil : (path, errno)
    }

    /// The path of the folder that contains `path`; empty for a folder in the root or in the working folder.
    private static func parent(of path: String) -> String {
        var rest = path[...]
        while rest.last == "/" { rest.removeLast() }
        while let last = rest.last, last != "/" { rest.removeLast() }
        while rest.last == "/" { rest.removeLast() }
        return String(rest)
    }

    /// Writes a file and removes it, to check that the folder is writable.
    ///
    /// - Returns: 0, or the error code.
    private static func probe(_ path: String) -> Int32 {
        unlink(path)
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return errno }
        defer {
            close(file)
            unlink(path)
        }
        return write(file, "?", 1) == 1 ? 0 : errno
    }

    private static func failure(_ path: String, _ what: String, _ detail: String, _ code: Int32) -> ServerError {
        let reason =
            switch code {
            case EWOULDBLOCK: "another server has it open; stop that one, or name another folder"
            case EACCES, EPERM: "permission denied\(detail); let this user write there, or name another folder"
            case EROFS: "the file system is read-only; name a folder on one that can be written"
            case ENOTDIR: "there is a file, not a folder, of this name or above it; name another folder"
            case ENOENT: "the system takes no folder there\(detail); name another"
            case ENOSPC, EDQUOT: "no space is left there; free some, or name another folder"
            default: "\(String(cString: strerror(code)).lowercased())\(detail); name another folder"
            }
        return ServerError(.dataFolder, "the data folder '\(path)' \(what): \(reason)")
    }
}
