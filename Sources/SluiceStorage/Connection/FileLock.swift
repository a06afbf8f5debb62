internal import Glibc

/// A lock on a file. The system releases it when the process dies.
package final class FileLock: Sendable {
    /// Why a lock could not be taken.
    package struct Failure: Error {
        /// The system's error code; `EWOULDBLOCK` when somebody else has the lock.
        package let code: Int32
        let step: String
    }

    private let descriptor: Int32
    private let path: String

    /// Takes the lock, and makes the file if it is missing.
    ///
    /// - Parameter isReadOnly: whether the file must be there, and need not be writable; it may be a folder.
    package init(at path: String, isReadOnly: Bool = false) throws(Failure) {
        self.path = path
        let file =
            isReadOnly ? open(path, O_RDONLY | O_CLOEXEC) : FileOwner.open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw Failure(code: errno, step: "opening the lock file") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(file)
            throw Failure(code: code, step: "locking")
        }
        descriptor = file
    }

    /// Takes the lock that keeps a store file to one handle of one process.
    ///
    /// - Throws: ``StorageError/Code/locked`` if another handle has it.
    convenience init(besides path: DatabasePath) throws(StorageError) {
        do {
            try self.init(at: path.lock)
        } catch {
            guard error.code == EWOULDBLOCK else { throw .system(error.code, doing: error.step, path: path.lock) }
            throw StorageError(
                .locked, "\(path.file) is open already, here or in another process; close it there or use another file")
        }
    }

    /// Takes the lock where no file can be made. Without a lock file no other handle can write, and the store file
    /// itself is locked.
    convenience init(reading path: DatabasePath) throws(StorageError) {
        let file = access(path.lock, F_OK) == 0 ? path.lock : path.file
        do {
            try self.init(at: file, isReadOnly: true)
        } catch {
            guard error.code == EWOULDBLOCK else { throw .system(error.code, doing: error.step, path: file) }
            throw StorageError(
                .locked, "\(path.file) is open already, here or in another process; close it there or use another file")
        }
    }

    /// Whether the lock's file is still at its path, so that others who lock that path are kept out.
    package var isInPlace: Bool {
        FileIdentity(descriptor: descriptor).map { $0 == FileIdentity(path: path) } ?? false
    }

    deinit {
        // A child process that is just being started may hold a copy of the descriptor, and with it the lock.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

extension StorageError {
    /// What a failed system call means.
    package static func system(_ code: Int32, doing what: String, path: String) -> StorageError {
        let reason = String(cString: strerror(code))
        return switch code {
        case ENOSPC, EDQUOT: StorageError(.full, "\(path): \(what) failed: \(reason); free some space and try again")
        case EACCES, EPERM, EROFS:
            StorageError(
                .readOnly, "\(path): \(what) failed: \(reason); check the permissions of the file and its folder")
        case EMFILE, ENFILE: .tooManyFiles(code, path: path)
        case ENOENT, ENOTDIR:
            StorageError(.io, "\(path): \(what) failed: \(reason); check that its folder exists")
        default: StorageError(.io, "\(path): \(what) failed: \(reason)")
        }
    }
}
