/// A table of single values that belong to one file and its server, and not to what the journal makes of a database. Files
/// of before have none. No digest of a replica counts it, and a replica that begins with a snapshot has none of another
/// server's.
struct OwnTable {
    private static let name = "_own"

    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) { self.connection = connection }

    private var isThere: Bool {
        get throws {
            try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = '\(Self.name)'") == 1
        }
    }

    func blob(_ name: String) throws -> [UInt8]? {
        guard try isThere else { return nil }
        return try connection.withStatement("SELECT value FROM \(Self.name) WHERE name = ?") { statement in
            statement.bind(1, name)
            return try statement.step() ? statement.blob(0) : nil
        }
    }

    /// Sets a value, within a transaction.
    func set(_ name: String, _ value: [UInt8]) throws {
        try connection.execute(
            "CREATE TABLE IF NOT EXISTS \(Self.name) (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        try connection.withStatement("INSERT OR REPLACE INTO \(Self.name) (name, value) VALUES (?, ?)") { statement in
            statement.bind(1, name)
            statement.bind(2, value)
            try statement.run()
        }
    }

    /// Removes all values.
    func remove() throws {
        guard try isThere else { return }
        try connection.execute("DROP TABLE \(Self.name)")
    }
}
