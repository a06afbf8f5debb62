internal import Glibc
internal import SluiceModel

/// Opens and makes store files.
enum DatabaseFile {
    /// Opens a store file for writing, or makes it. A file that is there and cannot be written is opened for reading.
    ///
    /// What is not a store of this kind is refused and left byte for byte as it was. A new file appears under its name
    /// only when it is whole. None is made where a database was: its marker says so.
    /// - Parameters:
    ///   - kind: what the file must hold.
    ///   - prepare: fills a new database, in a transaction of its own.
    /// - Returns: the connection, and the file to hold as long as it is used;
    ///   ``OpenFile/admit(databaseID:commitCount:isSynced:)`` comes next.
    static func open(
        _ path: String, kind: DatabaseHeader.Kind, prepare: (SQLiteConnection) throws -> Void
    ) throws -> (SQLiteConnection, OpenFile) {
        let path = try DatabasePath.resolve(path)
        if try checkHeader(path, kind), let obstacle = WriteProbe.obstacle(to: path) {
            return try openReadOnly(path, because: obstacle)
        }
        let lock = try FileLock(besides: path)
        let marker = try MarkerFile.find(path)
        let hadLog = access(path.writeAheadLog, F_OK) == 0
        if try checkHeader(path, kind) {
            if !hadLog { try checkReadable(path.file) }
        } else {
            try checkNeverBorn(path, kind)
            try make(path, kind: kind, prepare: prepare)
        }
        let connection = try SQLiteConnection(path: path.file, access: .write)
        try connection.execute("PRAGMA journal_mode = WAL")
        // Reading opens the write-ahead log, which is watched too.
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        let file = OpenFile(path, found: marker, hadLog: hadLog, lock: lock)
        guard !connection.hasMoved else { throw vanished(path, "was replaced while it was being opened") }
        return (connection, file)
    }

    /// Opens a store file that cannot be written. Nothing beside it is made or changed.
    private static func openReadOnly(
        _ path: DatabasePath, because obstacle: StorageError
    ) throws -> (SQLiteConnection, OpenFile) {
        let lock = try FileLock(reading: path)
        let marker = try MarkerFile.find(path)
        let hadLog = access(path.writeAheadLog, F_OK) == 0
        let connection = try SQLiteConnection(path: path.file, access: .readAlone(hasLog: path.hasLoggedCommits))
        _ = try connection.integer("SELECT count(*) FROM _meta")
        return (connection, OpenFile(path, found: marker, hadLog: hadLog, lock: lock, obstacle: obstacle))
    }

    /// Whether there is a file that is not empty.
    ///
    /// - Throws: ``StorageError`` if it is not a store of the given kind.
    @discardableResult
    private static func checkHeader(
        _ path: DatabasePath, _ kind: DatabaseHeader.Kind
    ) throws(StorageError) -> Bool {
        do {
            guard let header = try DatabaseHeader(path: path.file) else { return false }
            try header.check(kind, path: path.file)
            return true
        } catch {
            // Where a database was made, what is there now is what became of it.
            guard error.code == .notADatabase, case .marker = try MarkerFile.find(path) else { throw error }
            throw .damaged(
                path.file, "it no longer begins as a database",
                "it was left as it is. Restore it from a backup, or remove it and \(path.marker) to start afresh")
        }
    }

    /// Throws if there was a database at a path that now leads to no file, or to an empty one.
    private static func checkNeverBorn(_ path: DatabasePath, _ kind: DatabaseHeader.Kind) throws(StorageError) {
        let isThere = access(path.file, F_OK) == 0
        let what = isThere ? "is empty" : "is missing"
        if case .none = try MarkerFile.find(path) {
        } else {
            throw vanished(path, "\(what), and \(path.marker) says that it was made")
        }
        if path.hasLoggedCommits {
            throw vanished(path, "\(what), and its write-ahead log \(path.writeAheadLog) is there")
        }
        // Whole files get their names here, so an empty one was a server's database once, or never will be.
        if isThere, kind == .server { throw vanished(path, "is empty, which no database is") }
    }

    private static func vanished(_ path: DatabasePath, _ what: String) -> StorageError {
        StorageError(
            .vanished,
            "\(path.file) \(what). Restore it; or, to start afresh, remove what is left of it: the file, its -wal and "
                + "\(path.marker)")
    }

    /// Reads the tables' declarations without a journal or lock that could change anything.
    private static func checkReadable(_ path: String) throws {
        let connection = try SQLiteConnection(path: path, access: .readAlone(hasLog: false))
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        _ = try connection.integer("SELECT count(*) FROM _meta")
    }

    private static func make(
        _ path: DatabasePath, kind: DatabaseHeader.Kind, prepare: (SQLiteConnection) throws -> Void
    ) throws {
        let draft = try makeDraft(of: path)
        do {
            let connection = try SQLiteConnection(location: draft.sqliteURI, name: path.file)
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
            try connection.execute("PRAGMA user_version = \(kind.formatVersion)")
            try prepare(connection)
        } catch {
            connection.rollback()
            throw error
        }
        try connection.commit()
    }

    /// Copies a database to a new file. The copy appears under its name only when it is whole; what a failed or killed
    /// attempt leaves beside it is removed by the next.
    ///
    /// - Parameter finish: changes the copy before anybody can see it.
    static func copy(
        _ connection: SQLiteConnection, to path: String, finish: ((SQLiteConnection) throws -> Void)? = nil
    ) throws {
        let path = try DatabasePath.resolve(path)
        let lock = try FileLock(besides: path)
        defer { withExtendedLifetime(lock) {} }
        guard try DatabaseHeader(path: path.file) == nil else {
            throw StorageError(.exists, "\(path.file) exists already; name another file for the copy")
        }
        try checkNeverBorn(path, .client)
        let draft = try makeDraft(of: path)
        do {
            try connection.withStatement("VACUUM INTO ?") { statement in
                // Without a name for it, a database in memory would be copied to another one in memory.
                statement.bind(1, draft.sqliteURI + "?vfs=unix")
                try statement.run()
            }
            if let finish { try edit(draft, finish) }
            try publish(draft, as: path)
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Makes a database of bytes that come from elsewhere. It appears under its name only when it is whole.
    ///
    /// - Parameter fill: writes the file, which is empty, under another name.
    /// - Throws: ``StorageError/Code/exists`` if something has the name; what `fill` throws; an error of what it wrote if
    ///   that is no database of the kind.
    static func receive(_ path: String, kind: DatabaseHeader.Kind, fill: (_ draft: String) throws -> Void) throws {
        let path = try DatabasePath.resolve(path)
        let lock = try FileLock(besides: path)
        defer { withExtendedLifetime(lock) {} }
        guard !DatabasePath.isTaken(path.file) else {
            throw StorageError(.exists, "\(path.file), or what belongs to it, exists already")
        }
        let draft = try makeDraft(of: path)
        do {
            try fill(draft)
            guard let header = try DatabaseHeader(path: draft) else {
                throw StorageError(.notADatabase, "\(path.file): what came for it is empty")
            }
            try header.check(kind, path: draft)
            try publish(draft, as: path)
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Changes a draft, of which nothing needs to be left if that fails.
    private static func edit(_ draft: String, _ body: (SQLiteConnection) throws -> Void) throws {
        let connection = try SQLiteConnection(path: draft, access: .write)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = OFF")
        try connection.execute("PRAGMA synchronous = OFF")
        try body(connection)
        // Nothing of what was removed may be left in free pages.
        try connection.execute("VACUUM")
    }

    /// Makes an empty file for what is to become a database. Nobody but its owner may read or write it; SQLite gives
    /// the files that it puts beside a database the same permissions.
    private static func makeDraft(of path: DatabasePath) throws(StorageError) -> String {
        try makeEmpty(path.draft)
        return path.draft
    }

    /// Makes an empty file for its owner alone, in place of one of that name.
    static func makeEmpty(_ path: String) throws(StorageError) {
        unlink(path)
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno, doing: "creating", path: path) }
        close(descriptor)
    }

    /// Gives a whole file its name, durably. If that fails, nothing has the name, so that it can be tried again.
    private static func publish(_ draft: String, as path: DatabasePath) throws(StorageError) {
        try synchronize(draft)
        guard rename(draft, path.file) == 0 else { throw .system(errno, doing: "creating", path: path.file) }
        do { try synchronize(folder(of: path.file)) } catch {
            unlink(path.file)
            throw error
        }
    }

    /// The folder that a path is in.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Syncs a file or folder to disk.
    static func synchronize(_ path: String) throws(StorageError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, doing: "opening", path: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, doing: "syncing", path: path) }
    }
}
