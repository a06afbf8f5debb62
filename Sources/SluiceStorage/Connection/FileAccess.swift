internal import Glibc
internal import SluiceModel

/// How a connection uses its file.
enum FileAccess: Hashable {
    /// It reads and writes.
    case write
    /// It reads beside a connection that writes.
    case read
    /// It reads a file that nobody writes, and needs no room and no permission for files beside it.
    ///
    /// - Parameter hasLog: whether commits are in a write-ahead log; its index is then kept in memory.
    case readAlone(hasLog: Bool)

    var isReadOnly: Bool { self != .write }

    /// What SQLite opens: always a URI, since SQLite takes some paths for other things than files.
    func location(_ path: String) -> String {
        switch self {
        case .write, .read: path.sqliteURI
        // Locks would need permission to write. The lock of the store keeps other handles out.
        case .readAlone(let hasLog): path.sqliteURI + (hasLog ? "?vfs=unix-none" : "?immutable=1")
        }
    }
}

/// Tries whether a database can be written, without touching it.
enum WriteProbe {
    /// What must be free for a database to be opened for writing: its log, the log's index and a few commits.
    static let byteCount = 1 << 20

    /// Why a database cannot be written: its file or folder may not be, or no room is left. Nil if it can, or if the
    /// reason is another one, which opening it will find.
    ///
    /// Reserves a file of ``byteCount`` bytes beside the database and removes it.
    static func obstacle(to path: DatabasePath) -> StorageError? {
        for name in [path.file, path.writeAheadLog, path.sharedMemory, path.lock, path.marker]
        where access(name, F_OK) == 0 && access(name, W_OK) != 0 {
            let error = StorageError.system(errno, doing: "opening it for writing", path: name)
            if error.isObstacle { return error }
        }
        let name = path.file + "-probe"
        let code = reserve(name)
        guard code != 0 else { return nil }
        let error = StorageError.system(code, doing: "writing beside it", path: path.file)
        return error.isObstacle ? error : nil
    }

    /// - Returns: 0, or the system's error code.
    private static func reserve(_ name: String) -> Int32 {
        unlink(name)
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer {
            close(descriptor)
            unlink(name)
        }
        var code: Int32
        repeat { code = posix_fallocate(descriptor, 0, byteCount) } while code == EINTR
        return code
    }
}

extension String {
    /// The SQLite URI of the file at this path, whatever bytes its names have.
    var sqliteURI: String {
        var result = Array((hasPrefix("/") ? "file://" : "file:./").utf8)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "%"):
                result += Array(("%" + Hexadecimal.encode([byte])).utf8)
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
