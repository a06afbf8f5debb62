internal import Glibc

/// The lock that keeps a store file to one handle of one process. The system releases it when the process dies.
final class FileLock {
    private let descriptor: Int32

    /// Takes the lock beside a store file.
    ///
    /// - Parameter path: the store's file; the lock is `<path>-lock`.
    /// - Throws: ``StorageError/Code/locked`` if another handle has it.
    init(besides path: String) throws(StorageError) {
        let lockPath = path + "-lock"
        descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno, doing: "opening the lock file", path: lockPath) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw .system(code, doing: "locking", path: lockPath) }
            throw StorageError(
                .locked, "\(path) is open already, here or in another process; close it there or use another file")
        }
    }

    deinit {
        // A child process that is just being started may hold a copy of the descriptor, and with it the lock.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

extension StorageError {
    /// What a failed system call means.
    static func system(_ code: Int32, doing what: String, path: String) -> StorageError {
        let reason = String(cString: strerror(code))
        return switch code {
        case ENOSPC, EDQUOT: StorageError(.full, "\(path): \(what) failed: \(reason); free some space and try again")
        case EACCES, EPERM, EROFS:
            StorageError(
                .readOnly, "\(path): \(what) failed: \(reason); check the permissions of the file and its folder")
        case ENOENT, ENOTDIR:
            StorageError(.io, "\(path): \(what) failed: \(reason); check that its folder exists")
        default: StorageError(.io, "\(path): \(what) failed: \(reason)")
        }
    }
}
