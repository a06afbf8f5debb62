internal import Glibc

/// Which file a path leads to: its device, and its number on that device (inode). A file that is open keeps its number
/// until it is closed, so another file at the same path always has another identity.
struct FileIdentity: Hashable {
    let device: UInt64
    let number: UInt64

    /// Looks at the file that a path leads to; nil if it leads to none.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Looks at an open file; nil if it has no name any more.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
}

/// Notices that open files are no longer where they were opened: that they, or a folder above them, were removed,
/// renamed or replaced.
struct FileWatch {
    private let files: [(path: String, identity: FileIdentity)]

    /// Remembers the files that are at these paths now.
    init(_ paths: [String]) {
        files = paths.compactMap { path in FileIdentity(path: path).map { (path, $0) } }
    }

    /// The first path that leads to another file than before, or to none; nil if all are as they were. One system call
    /// a file.
    func firstMissing() -> String? { files.first { FileIdentity(path: $0.path) != $0.identity }?.path }

    /// Whether one of the paths leads to the file that it led to at first.
    func isInPlace(_ path: String) -> Bool {
        files.contains { $0.path == path && FileIdentity(path: path) == $0.identity }
    }
}
