internal import SluiceModel
internal import SluiceWire

/// The table of a store's single values, by name.
struct MetaTable {
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) { self.connection = connection }

    static func make(on connection: SQLiteConnection) throws {
        try connection.execute("CREATE TABLE _meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
    }

    /// The integer of a name; nil if there is none.
    ///
    /// - Throws: ``StorageError/Code/damaged`` if something else is there, or an integer out of range.
    func integer(_ name: String, in range: ClosedRange<Int64> = StoredNumber.counts) throws -> Int64? {
        try value(name) { statement in
            try statement.number(0, in: range, file: connection.name, what: "the value '\(name)'")
        }
    }

    func blob(_ name: String) throws -> [UInt8]? { try value(name) { $0.blob(0) } }

    /// The bytes of all names that begin in a way, with the names.
    func blobs(beginning prefix: String) throws -> [(name: String, bytes: [UInt8])] {
        var found: [(name: String, bytes: [UInt8])] = []
        let sql = "SELECT name, value FROM _meta WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1"
        try connection.withStatement(sql) { statement in
            statement.bind(1, prefix)
            while try statement.step() { found.append((statement.string(0), statement.blob(1))) }
        }
        return found
    }

    func set(_ name: String, _ value: Int64) throws { try set(name) { $0.bind(2, value) } }

    func set(_ name: String, _ value: [UInt8]) throws { try set(name) { $0.bind(2, value) } }

    /// Sets several integers with one statement.
    func set(_ values: [(name: String, value: Int64)]) throws {
        let rows = Array(repeating: "(?, ?)", count: values.count).joined(separator: ", ")
        try connection.withStatement("INSERT OR REPLACE INTO _meta (name, value) VALUES \(rows)") { statement in
            for (index, value) in values.enumerated() {
                statement.bind(Int32(2 * index + 1), value.name)
                statement.bind(Int32(2 * index + 2), value.value)
            }
            try statement.run()
        }
    }

    /// The schema of the store.
    func schema(file: String) throws -> Schema {
        guard let bytes = try blob("schema") else {
            throw StorageError.damaged(file, "the schema is missing")
        }
        return try StoredBlob.decode(StoredSchema.self, from: bytes, file: file, what: "the schema").schema
    }

    func remove(_ name: String) throws {
        try connection.withStatement("DELETE FROM _meta WHERE name = ?") { statement in
            statement.bind(1, name)
            try statement.run()
        }
    }

    private func value<Result>(_ name: String, _ read: (Statement) throws -> Result) throws -> Result? {
        try connection.withStatement("SELECT value FROM _meta WHERE name = ?") { statement in
            statement.bind(1, name)
            return try statement.step() ? try read(statement) : nil
        }
    }

    private func set(_ name: String, _ bind: (Statement) -> Void) throws {
        try connection.withStatement("INSERT OR REPLACE INTO _meta (name, value) VALUES (?, ?)") { statement in
            statement.bind(1, name)
            bind(statement)
            try statement.run()
        }
    }
}
