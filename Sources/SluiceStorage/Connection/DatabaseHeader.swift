internal import Glibc

/// The first bytes of a database file (SQLite's "Database File Format", section 1.3), read without SQLite, so that a
/// file that is not ours is recognised before anything could touch it.
struct DatabaseHeader {
    /// What kind of store a file holds, as its application id says.
    enum Kind: UInt32 {
        case server = 0x534C_5356  // "SLSV"
        case client = 0x534C_434C  // "SLCL"

        var name: String {
            switch self {
            case .server: "a server's database"
            case .client: "a client's store"
            }
        }

        /// The format that this library writes, and the highest that it reads.
        var formatVersion: UInt32 {
            switch self {
            case .server: 1
            case .client: 1
            }
        }
    }

    private static let length = 100
    private let bytes: [UInt8]
    private let fileSize: Int

    /// Reads the header; nil if the file does not exist or is empty.
    init?(path: String) throws(StorageError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0 {
            if errno == ENOENT { return nil }
            throw .system(errno, doing: "opening", path: path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno, doing: "examining", path: path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.notADatabase, "\(path) is not a regular file; name a file")
        }
        fileSize = Int(status.st_size)
        if fileSize == 0 { return nil }
        var buffer = [UInt8](repeating: 0, count: Self.length)
        let count = pread(descriptor, &buffer, Self.length, 0)
        guard count >= 0 else { throw .system(errno, doing: "reading", path: path) }
        bytes = Array(buffer.prefix(count))
    }

    /// Throws unless the file is a store of the given kind that this library can open.
    func check(_ kind: Kind, path: String) throws(StorageError) {
        guard bytes.count == Self.length, bytes.starts(with: "SQLite format 3\0".utf8) else {
            throw StorageError(
                .notADatabase, "\(path) is not a database; it was left as it is. Move it away or name another file",
                damage: "its header is not that of a database")
        }
        let application = word(68)
        guard application == kind.rawValue else {
            let what = Kind(rawValue: application)?.name ?? "a database of another program"
            throw StorageError(
                .foreignFile, "\(path) is \(what), not \(kind.name); it was left as it is. Name another file",
                damage: "its header is that of \(what)")
        }
        let version = word(60)
        guard version <= kind.formatVersion else {
            throw StorageError(
                .newerFormat,
                "\(path) has format \(version), and this version reads up to \(kind.formatVersion); "
                    + "it was left as it is. Update this program")
        }
        let pageSize = word(16) >> 16 == 1 ? 65_536 : Int(word(16) >> 16)
        let isPageCountValid = word(24) == word(92)
        if isPageCountValid, access(path + "-wal", F_OK) != 0, fileSize < pageSize * Int(word(28)) {
            throw .damaged(
                path, "it has \(fileSize) bytes and should have \(pageSize * Int(word(28)))",
                "it was left as it is. Restore it from a backup, or remove it to start afresh")
        }
    }

    private func word(_ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
