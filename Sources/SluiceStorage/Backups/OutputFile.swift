internal import Glibc

/// A file that is written, one piece after the other.
final class OutputFile {
    enum Mode {
        /// It is written over, from its beginning.
        case overwriting
        /// It is emptied first.
        case emptying
        /// It is added to.
        case appending
        /// There must be none.
        case creating

        fileprivate var flags: Int32 {
            switch self {
            case .overwriting: 0
            case .emptying: O_TRUNC
            case .appending: O_APPEND
            case .creating: O_EXCL
            }
        }
    }

    private let descriptor: Int32
    private let path: String

    /// Opens a file, or makes it. It is for its owner alone.
    ///
    /// - Parameter mode: what becomes of the content that is there.
    init(_ path: String, _ mode: Mode = .overwriting) throws(StorageError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | mode.flags, 0o600)
        guard descriptor >= 0 else { throw .system(errno, doing: "creating", path: path) }
        guard fchmod(descriptor, 0o600) == 0 else {
            let code = errno
            close(descriptor)
            throw .system(code, doing: "creating", path: path)
        }
    }

    deinit { close(descriptor) }

    func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) { try check(put(bytes)) }

    func write(_ bytes: [UInt8]) throws(StorageError) { try check(bytes.withUnsafeBytes(put)) }

    /// - Returns: 0, or the system's error code.
    private func put(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : ENOSPC }
            done += count
        }
        return 0
    }

    private func check(_ code: Int32) throws(StorageError) {
        guard code == 0 else { throw .system(code, doing: "writing", path: path) }
    }

    /// Replaces bytes that were written.
    func rewrite(_ bytes: [UInt8], at place: Int) throws(StorageError) {
        let count = pwrite(descriptor, bytes, bytes.count, off_t(place))
        guard count == bytes.count else { throw .system(count < 0 ? errno : ENOSPC, doing: "writing", path: path) }
    }

    /// The length of the file.
    var byteCount: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Cuts what is behind a place.
    func cut(at place: Int) throws(StorageError) {
        guard ftruncate(descriptor, off_t(place)) == 0 else { throw .system(errno, doing: "shortening", path: path) }
    }

    func synchronize() throws(StorageError) {
        guard fsync(descriptor) == 0 else { throw .system(errno, doing: "syncing", path: path) }
    }
}
