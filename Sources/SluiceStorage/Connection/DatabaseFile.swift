internal import Glibc
internal import SluiceModel

/// Opens and makes store files.
enum DatabaseFile {
    /// Opens a store file for writing, or makes it.
    ///
    /// What is not a store of this kind is refused and left byte for byte as it was. A new file appears under its name
    /// only when it is whole.
    /// - Parameters:
    ///   - kind: what the file must hold.
    ///   - prepare: fills a new database, in a transaction of its own.
    /// - Returns: the connection, and the lock to hold as long as it is used.
    static func open(
        _ path: String, kind: DatabaseHeader.Kind, prepare: (SQLiteConnection) throws -> Void
    ) throws -> (SQLiteConnection, FileLock) {
        try DatabaseHeader(path: path)?.check(kind, path: path)
        let lock = try FileLock(besides: path)
        if let header = try DatabaseHeader(path: path) {
            try header.check(kind, path: path)
            if access(path + "-wal", F_OK) != 0 { try checkReadable(path) }
        } else {
            try make(path, kind: kind, prepare: prepare)
        }
        let connection = try SQLiteConnection(location: path, name: path)
        try connection.execute("PRAGMA journal_mode = WAL")
        return (connection, lock)
    }

    /// Whether there is a file that is not empty.
    static func exists(_ path: String) throws -> Bool { try DatabaseHeader(path: path) != nil }

    /// Reads the tables' declarations without a journal or lock that could change anything.
    private static func checkReadable(_ path: String) throws {
        let location = "file:" + path.uriEscaped + "?immutable=1"
        let connection = try SQLiteConnection(location: location, name: path, isReadOnly: true)
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        _ = try connection.integer("SELECT count(*) FROM _meta")
    }

    private static func make(
        _ path: String, kind: DatabaseHeader.Kind, prepare: (SQLiteConnection) throws -> Void
    ) throws {
        let draft = try makeDraft(of: path)
        do {
            let connection = try SQLiteConnection(location: draft, name: path)
            try fill(connection, kind: kind, prepare: prepare)
            try connection.execute("PRAGMA journal_mode = WAL")
        }
        try publish(draft, as: path)
    }

    /// Makes the tables of a new database.
    static func fill(
        _ connection: SQLiteConnection, kind: DatabaseHeader.Kind, prepare: (SQLiteConnection) throws -> Void
    ) throws {
        try connection.execute("PRAGMA page_size = 4096")
        try connection.execute("PRAGMA encoding = 'UTF-8'")
        try connection.begin()
        do {
            try connection.execute("PRAGMA application_id = \(kind.rawValue)")
            try connection.execute("PRAGMA user_version = \(DatabaseHeader.formatVersion)")
            try prepare(connection)
        } catch {
            connection.rollback()
            throw error
        }
        try connection.commit()
    }

    /// Copies a database to a new file.
    static func copy(_ connection: SQLiteConnection, to path: String) throws {
        let lock = try FileLock(besides: path)
        defer { withExtendedLifetime(lock) {} }
        guard try !exists(path) else {
            throw StorageError(.constraint, "\(path) exists already; name another file for the copy")
        }
        let draft = try makeDraft(of: path)
        try connection.withStatement("VACUUM INTO ?") { statement in
            statement.bind(1, draft)
            try statement.run()
        }
        try publish(draft, as: path)
    }

    /// Makes an empty file for what is to become a database. Nobody but its owner may read or write it; SQLite gives the
    /// files that it puts beside a database the same permissions.
    private static func makeDraft(of path: String) throws(StorageError) -> String {
        let draft = path + "-new"
        unlink(draft)
        let descriptor = Glibc.open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno, doing: "creating", path: draft) }
        close(descriptor)
        return draft
    }

    /// Gives a whole file its name, durably.
    private static func publish(_ draft: String, as path: String) throws(StorageError) {
        try synchronize(draft)
        guard rename(draft, path) == 0 else { throw .system(errno, doing: "creating", path: path) }
        try synchronize(folder(of: path))
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func synchronize(_ path: String) throws(StorageError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, doing: "opening", path: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, doing: "syncing", path: path) }
    }
}

extension String {
    /// The path as it may stand in an SQLite URI.
    fileprivate var uriEscaped: String {
        var result = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "%"): result += "%" + Hexadecimal.encode([byte])
            default: result.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return result
    }
}
