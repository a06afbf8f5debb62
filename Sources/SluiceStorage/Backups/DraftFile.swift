internal import Glibc

/// A file that is written under another name, and appears under its own only when it is whole and durable. It is for its
/// owner alone, and takes the place of no other file.
package final class DraftFile {
    /// What is added to a name while the file is written.
    package static let suffix = ".part"

    package let path: String
    private let draft: String
    private let lock: FileLock
    private let output: OutputFile
    package private(set) var byteCount = 0
    private var isPublished = false

    /// Begins a file. What a killed process has left of it is replaced.
    ///
    /// - Throws: ``StorageError/Code/exists`` if something has the name, ``StorageError/Code/locked`` if another process
    ///   is writing it.
    package init(_ path: String) throws(StorageError) {
        guard FilePath.isUsable(path) else {
            throw StorageError(.misuse, "a path cannot be empty or have the character 0; name a file")
        }
        self.path = path
        draft = path + Self.suffix
        try Self.checkFree(path)
        var status = stat()
        guard lstat(draft, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.exists, "\(draft), where the file is written first, is no regular file; move it away")
        }
        // A process that was killed as it gave the file its name has left it this one, too.
        if status.st_nlink > 1 { unlink(draft) }
        do throws(FileLock.Failure) { lock = try FileLock(at: draft) } catch {
            guard error.code == EWOULDBLOCK else { throw .system(error.code, doing: "creating", path: draft) }
            throw StorageError(
                .locked, "\(path) is being written by another process; wait for that one, or name another file")
        }
        guard lock.isInPlace else {
            throw StorageError(.locked, "\(path) was being written by another process; try again")
        }
        output = try OutputFile(draft, .emptying)
    }

    deinit {
        if !isPublished, lock.isInPlace { unlink(draft) }
    }

    private static func checkFree(_ path: String) throws(StorageError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        throw StorageError(.exists, "\(path) exists already, and was left as it is; name another file")
    }

    package func write(_ bytes: [UInt8]) throws(StorageError) {
        try output.write(bytes)
        byteCount += bytes.count
    }

    /// Replaces bytes that were written.
    package func rewrite(_ bytes: [UInt8], at place: Int) throws(StorageError) {
        try output.rewrite(bytes, at: place)
    }

    /// Gives the file its name, durably. Nothing has the name if that fails.
    ///
    /// - Throws: ``StorageError/Code/exists`` if something has got the name meanwhile.
    package func publish() throws(StorageError) {
        try output.synchronize()
        guard lock.isInPlace else {
            throw StorageError(.vanished, "\(draft) was removed while it was being written; try again")
        }
        // Unlike a renaming, a second name takes the place of nothing.
        if link(draft, path) == 0 {
            unlink(draft)
        } else {
            let code = errno
            try Self.checkFree(path)
            // Not every file system has second names.
            guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(code) else {
                throw .system(code, doing: "creating", path: path)
            }
            guard rename(draft, path) == 0 else { throw .system(errno, doing: "creating", path: path) }
        }
        isPublished = true
        do { try DatabaseFile.synchronize(DatabaseFile.folder(of: path)) } catch {
            unlink(path)
            throw error
        }
    }
}
