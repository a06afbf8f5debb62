internal import Glibc

/// Reads the bytes of a file. If its name ends in `.gz`, they are unpacked by `gzip -dc`.
final class ByteSource {
    let path: String
    /// The size of the file in bytes, before unpacking.
    let size: Int
    private let file: Int32
    private let child: ChildProcess?

    /// - Throws: ``CommandError`` when the file cannot be opened, or is not a regular file, since an import reads it
    ///   twice.
    init(path: String) throws(CommandError) {
        var status = stat()
        let file = try Self.openRegular(path, &status)
        do {
            child = path.hasSuffix(".gz") ? try ChildProcess("gzip", arguments: ["-dc"], input: file) : nil
        } catch {
            close(file)
            throw error
        }
        self.path = path
        self.file = file
        size = Int(status.st_size)
    }

    deinit { close(file) }

    /// Opens a regular file. If the path is a pipe, this fails at once instead of waiting for a writer.
    private static func openRegular(_ path: String, _ status: inout stat) throws(CommandError) -> Int32 {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw .system(path, code: errno) }
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            throw .failure(
                isFolder
                    ? "\(path): it is a directory, not a file"
                    : "\(path): it is not a regular file; the file is read twice, so it cannot be a pipe")
        }
        return file
    }

    /// Checks that the file can be read.
    ///
    /// - Throws: ``CommandError`` when the file cannot be opened, or is not a regular file.
    static func check(_ path: String) throws(CommandError) {
        var status = stat()
        close(try openRegular(path, &status))
    }

    /// How many bytes of the file, before unpacking, have been read. The child process shares the descriptor and its
    /// position.
    var position: Int { Int(lseek(file, 0, SEEK_CUR)) }

    /// Reads up to `buffer.count` bytes.
    ///
    /// - Returns: the number of bytes; 0 at the end.
    /// - Throws: ``CommandError`` when reading or unpacking fails.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(CommandError) -> Int {
        while true {
            let count = Glibc.read(child?.output ?? file, buffer.baseAddress, buffer.count)
            if count > 0 { return count }
            if count == 0 {
                try child?.finish(file: path)
                return 0
            }
            if errno != EINTR { throw .system(path, code: errno) }
        }
    }
}
