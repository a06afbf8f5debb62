package import SluiceModel

/// The records of jobs. A change is a step of a group, see ``JobRecord``.
extension SQLiteServerStorage {
    static func makeJobs(on connection: SQLiteConnection) throws {
        try connection.execute(
            """
            CREATE TABLE _jobs (space TEXT NOT NULL, name BLOB NOT NULL, due INTEGER, value BLOB NOT NULL, \
            PRIMARY KEY (space, name)) WITHOUT ROWID
            """)
        try connection.execute("CREATE INDEX _jobs_due ON _jobs (space, due) WHERE due IS NOT NULL")
    }

    /// - Throws: ``StorageError/Code/journal`` if the record is too large.
    func store(_ record: JobRecord) throws {
        guard record.key.name.count + record.value.count <= JobRecord.byteCountMax else {
            throw StorageError(
                .journal,
                "\(connection.name): the record of a job has \(record.key.name.count + record.value.count) bytes; at most "
                    + "\(JobRecord.byteCountMax)")
        }
        let sql = """
            INSERT INTO _jobs (space, name, due, value) VALUES (?, ?, ?, ?) \
            ON CONFLICT (space, name) DO UPDATE SET due = excluded.due, value = excluded.value
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, record.key.space)
            statement.bind(2, record.key.name)
            if let due = record.due { statement.bind(3, due.microseconds) } else { statement.bindNull(3) }
            statement.bind(4, record.value)
            try statement.run()
        }
    }

    func deleteJob(_ key: JobRecord.Key) throws {
        try connection.withStatement("DELETE FROM _jobs WHERE space = ? AND name = ?") { statement in
            statement.bind(1, key.space)
            statement.bind(2, key.name)
            try statement.run()
        }
    }

    /// A record; nil if there is none. O(log n).
    package func job(_ key: JobRecord.Key) throws -> JobRecord? {
        let sql = "SELECT name, due, value FROM _jobs WHERE space = ? AND name = ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, key.space)
            statement.bind(2, key.name)
            return try records(statement, key.space).first
        }
    }

    /// The records of a space, ascending by name.
    ///
    /// - Parameters:
    ///   - name: the records after this name; nil for those from the first on.
    ///   - countMax: at most how many.
    package func jobs(ofSpace space: String, after name: [UInt8]?, countMax: Int) throws -> [JobRecord] {
        let condition = name == nil ? "" : "AND name > ?2 "
        let sql = "SELECT name, due, value FROM _jobs WHERE space = ?1 \(condition)ORDER BY name LIMIT ?3"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, space)
            if let name { statement.bind(2, name) }
            statement.bind(3, Int64(countMax))
            return try records(statement, space)
        }
    }

    /// When the next record of a space will be due; nil if none will. O(log n).
    ///
    /// - Parameter now: those that are due by then do not count: nothing is to be waited for.
    package func nextDue(ofSpace space: String, after now: Timestamp) throws -> Timestamp? {
        let sql = "SELECT min(due) FROM _jobs WHERE space = ? AND due > ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, space)
            statement.bind(2, now.microseconds)
            guard try statement.step(), !statement.isNull(0) else { return nil }
            return Timestamp(microseconds: statement.int(0))
        }
    }

    /// The number of records of a space. O(n).
    package func jobCount(ofSpace space: String) throws -> Int {
        try connection.withStatement("SELECT count(*) FROM _jobs WHERE space = ?") { statement in
            statement.bind(1, space)
            return try statement.step() ? Int(statement.int(0)) : 0
        }
    }

    /// The number of records of all spaces that begin with a prefix, of which no more than so many are counted. O(n).
    ///
    /// - Parameter prefix: ends with a slash.
    package func jobCount(ofSpacesWithPrefix prefix: String, countMax: Int) throws -> Int {
        // The character after the slash.
        let sql = "SELECT count(*) FROM (SELECT 1 FROM _jobs WHERE space >= ?1 AND space < ?2 LIMIT ?3)"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, prefix)
            statement.bind(2, prefix.dropLast() + "0")
            statement.bind(3, Int64(countMax))
            return try statement.step() ? Int(statement.int(0)) : 0
        }
    }

    /// The spaces that have records and begin with a prefix, ascending. O(spaces · log n).
    package func jobSpaces(withPrefix prefix: String) throws -> [String] {
        var spaces: [String] = []
        var last = prefix
        var isFirst = true
        while true {
            let sql = "SELECT min(space) FROM _jobs WHERE space \(isFirst ? ">=" : ">") ?"
            let next: String? = try connection.withStatement(sql) { statement in
                statement.bind(1, last)
                return try statement.step() && !statement.isNull(0) ? statement.string(0) : nil
            }
            guard let next, next.utf8.starts(with: prefix.utf8) else { return spaces }
            spaces.append(next)
            (last, isFirst) = (next, false)
        }
    }

    private func records(_ statement: Statement, _ space: String) throws -> [JobRecord] {
        var records: [JobRecord] = []
        while try statement.step() {
            records.append(
                JobRecord(
                    .init(space: space, name: statement.blob(0)),
                    due: statement.isNull(1) ? nil : Timestamp(microseconds: statement.int(1)),
                    value: statement.blob(2)))
        }
        return records
    }
}
