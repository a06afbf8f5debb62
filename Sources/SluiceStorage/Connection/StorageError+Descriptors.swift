internal import Glibc

extension StorageError {
    /// No more files can be opened.
    ///
    /// - Parameter code: `EMFILE` where the process has too many open, `ENFILE` where the system has.
    static func tooManyFiles(_ code: Int32, path: String) -> StorageError {
        guard code == EMFILE else {
            return StorageError(
                .tooManyFiles,
                "\(path): the system has no file descriptors left; raise fs.file-max, or open fewer files")
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return StorageError(
            .tooManyFiles,
            "\(path): this process has used up its \(limit.rlim_cur) file descriptors; raise the limit (ulimit -n): a "
                + "database that is open takes 5, a connection 1")
    }

    /// Why no database can be opened now; 0 if one can. SQLite does not say, and closes what it had opened when it fails,
    /// so this asks for as many descriptors as a database needs.
    static var descriptorError: Int32 {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<8 {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return [EMFILE, ENFILE].contains(errno) ? errno : 0 }
            descriptors.append(descriptor)
        }
        return 0
    }
}
