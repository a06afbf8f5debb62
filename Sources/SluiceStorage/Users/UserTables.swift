internal import CSQLite

/// The tables of a file of users. Used on one thread at a time.
final class UserTables: UserRecords {
    private let connection: SQLiteConnection
    /// What the file was like when ``hasChanged()`` looked last.
    private var seenVersion: Int64 = -1

    /// Opens a file that is there, and makes the tables of an empty one.
    ///
    /// - Parameters:
    ///   - path: nil for memory.
    ///   - isReadOnly: whether the file may not be written. Then an empty one is refused.
    /// - Throws: ``StorageError`` when it is no file of users.
    init(_ path: String?, isReadOnly: Bool = false) throws {
        connection =
            if let path {
                try SQLiteConnection(path: path, access: isReadOnly ? .read : .write)
            } else {
                try SQLiteConnection(location: ":memory:", name: "users", access: .write)
            }
        do {
            try connection.execute("PRAGMA synchronous = FULL")
            try connection.execute("PRAGMA secure_delete = ON")
            try prepare(path ?? "users", isReadOnly)
        } catch let error as StorageError where isReadOnly && error.code == .readOnly && error.sqliteCode != 0 {
            // SQLITE_READONLY_ROLLBACK: a write that a crash has cut off is still to be undone.
            throw StorageError(
                .readOnly,
                "'\(path ?? "")' was being written when a process or the system crashed, and cannot be read before that "
                    + "is undone; open it once where it can be written", sqliteCode: error.sqliteCode)
        }
    }

    /// Marks the file as one of users.
    private static let applicationID: Int64 = 0x534C_5553
    /// The format that this library writes, and the highest that it reads.
    private static let formatVersion: Int64 = 1

    /// Programs of before do not know the table, and do without.
    private static let locksTable =
        "TABLE IF NOT EXISTS locks (user TEXT PRIMARY KEY, until INTEGER NOT NULL, failures INTEGER NOT NULL) WITHOUT ROWID"

    /// Makes the table of locks where a program of before has made the file; one that lasts as long as the connection where
    /// the file may not be written.
    private func makeLocks(_ isReadOnly: Bool) throws {
        guard isReadOnly else { return try connection.execute("CREATE \(Self.locksTable)") }
        guard try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'locks'") == 0 else { return }
        try connection.execute("PRAGMA temp_store = MEMORY")
        try connection.execute("CREATE TEMP \(Self.locksTable)")
    }

    private func prepare(_ path: String, _ isReadOnly: Bool) throws {
        let mark = try connection.integer("PRAGMA application_id") ?? 0
        let hasTables = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
        guard mark == Self.applicationID || mark == 0 && hasTables == 0 else {
            throw StorageError(.foreignFile, "'\(path)' is no file of users; it was left as it is")
        }
        if mark == Self.applicationID {
            let version = try connection.integer("PRAGMA user_version") ?? 0
            guard version <= Self.formatVersion else {
                throw StorageError(
                    .newerFormat,
                    "'\(path)' has format \(version), and this version reads up to \(Self.formatVersion); "
                        + "it was left as it is. Update this program")
            }
            return try makeLocks(isReadOnly)
        }
        guard !isReadOnly else {
            throw StorageError(.readOnly, "'\(path)' is empty, and cannot be written; put the file of users there")
        }
        try begin()
        defer { rollback() }
        try connection.execute("PRAGMA application_id = \(Self.applicationID)")
        try connection.execute("PRAGMA user_version = \(Self.formatVersion)")
        try connection.execute(
            """
            CREATE TABLE users (name TEXT PRIMARY KEY, password TEXT NOT NULL,
            generation INTEGER NOT NULL, claims TEXT NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID
            """)
        // Ids are never given twice: a session that was removed must not come back as another.
        try connection.execute(
            """
            CREATE TABLE logins (id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL,
            hash BLOB NOT NULL UNIQUE, next BLOB UNIQUE, previous BLOB UNIQUE, made INTEGER NOT NULL,
            used INTEGER NOT NULL)
            """)
        try connection.execute("CREATE INDEX loginsOfUser ON logins (user)")
        try connection.execute(
            """
            CREATE TABLE revocations (user TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID
            """)
        try connection.execute(
            """
            CREATE TABLE leads (user TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID
            """)
        try makeLocks(false)
        try commit()
    }

    /// Begins to read and write as one, until ``commit()`` or ``rollback()``.
    func begin() throws { try connection.begin() }

    func commit() throws { try connection.commit() }

    func rollback() { connection.rollback() }

    /// Whether another process has changed the file since the last call.
    func hasChanged() throws -> Bool {
        let version = try connection.integer("PRAGMA data_version") ?? 0
        defer { seenVersion = version }
        return version != seenVersion
    }

    private func time(_ column: Int32, of statement: Statement) throws -> Int64 {
        try statement.number(column, in: StoredNumber.times, file: connection.name, what: "a time")
    }

    // MARK: Users

    func user(_ name: String) throws -> UserRecord? {
        try connection.withStatement("SELECT password, generation, claims, created FROM users WHERE name = ?1") {
            statement in
            statement.bind(1, name)
            guard try statement.step() else { return nil }
            return UserRecord(
                name: name, password: statement.string(0), generation: statement.int(1), claims: statement.string(2),
                createdAt: try time(3, of: statement))
        }
    }

    func users() throws -> [(user: UserRecord, loginCount: Int)] {
        let sql =
            """
            SELECT name, password, generation, claims, created,
            (SELECT count(*) FROM logins WHERE user = users.name) FROM users ORDER BY name
            """
        return try connection.withStatement(sql) { statement in
            var users: [(user: UserRecord, loginCount: Int)] = []
            while try statement.step() {
                let user = UserRecord(
                    name: statement.string(0), password: statement.string(1), generation: statement.int(2),
                    claims: statement.string(3), createdAt: try time(4, of: statement))
                users.append((user, Int(statement.int(5))))
            }
            return users
        }
    }

    func add(_ user: UserRecord) throws -> Bool {
        let sql =
            "INSERT INTO users (name, password, generation, claims, created) VALUES (?1, ?2, ?3, ?4, ?5) "
            + "ON CONFLICT DO NOTHING"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, user.name)
            statement.bind(2, user.password)
            statement.bind(3, user.generation)
            statement.bind(4, user.claims)
            statement.bind(5, user.createdAt)
            try statement.run()
            return connection.changeCount == 1
        }
    }

    func setPassword(_ password: String, of name: String) throws -> Bool {
        let isKnown = try change("UPDATE users SET password = ?2, generation = generation + 1 WHERE name = ?1") {
            $0.bind(1, name)
            $0.bind(2, password)
        }
        try removeLogins(of: name)
        return isKnown
    }

    func replaceHash(_ password: String, of name: String, generation: Int64) throws {
        _ = try change("UPDATE users SET password = ?2 WHERE name = ?1 AND generation = ?3") {
            $0.bind(1, name)
            $0.bind(2, password)
            $0.bind(3, generation)
        }
    }

    func setClaims(_ claims: String, of name: String) throws -> Bool {
        try change("UPDATE users SET claims = ?2 WHERE name = ?1") {
            $0.bind(1, name)
            $0.bind(2, claims)
        }
    }

    func remove(_ name: String, now: Int64) throws -> Bool {
        let isKnown = try change("DELETE FROM users WHERE name = ?1") { $0.bind(1, name) }
        if isKnown { try noteRevocation(of: name, now: now) }
        return isKnown
    }

    // MARK: Revocation

    func revoke(_ name: String, now: Int64) throws {
        _ = try change("UPDATE users SET generation = generation + 1 WHERE name = ?1") { $0.bind(1, name) }
        try noteRevocation(of: name, now: now)
    }

    private func noteRevocation(of name: String, now: Int64) throws {
        try removeLogins(of: name)
        let sql =
            """
            INSERT INTO revocations (user, at)
            VALUES (?1, max(?2, coalesce((SELECT until FROM leads WHERE user = ?1), ?2)))
            ON CONFLICT DO UPDATE SET at = max(at + 1, excluded.at)
            """
        _ = try change(sql) {
            $0.bind(1, name)
            $0.bind(2, now)
        }
    }

    func noteLead(of name: String, until time: Int64, now: Int64) throws {
        // What is past says no more than the time of a revocation.
        _ = try change("DELETE FROM leads WHERE until <= ?1") { $0.bind(1, now) }
        _ = try change(
            "INSERT INTO leads (user, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = max(until, ?2)"
        ) {
            $0.bind(1, name)
            $0.bind(2, time)
        }
    }

    func revocations(of names: [String]) throws -> [Int64?] {
        try names.map { name in
            try connection.withStatement("SELECT at FROM revocations WHERE user = ?1") { statement in
                statement.bind(1, name)
                return try statement.step() ? statement.int(0) : nil
            }
        }
    }

    // MARK: Logins

    func addLogin(of name: String, hash: [UInt8], now: Int64) throws -> Int64 {
        try connection.withStatement(
            "INSERT INTO logins (user, hash, made, used) VALUES (?1, ?2, ?3, ?3) RETURNING id"
        ) { statement in
            statement.bind(1, name)
            statement.bind(2, hash)
            statement.bind(3, now)
            guard try statement.step() else { throw StorageError(.misuse, "a login got no id") }
            let id = statement.int(0)
            _ = try statement.step()
            return id
        }
    }

    func login(hash: [UInt8]) throws -> KnownLogin? {
        try login("hash = ?1 OR next = ?1 OR previous = ?1") { $0.bind(1, hash) }
    }

    func logins(_ ids: [Int64]) throws -> [KnownLogin?] {
        try ids.map { id in try login("id = ?1") { $0.bind(1, id) } }
    }

    func allLogins() throws -> [LoginRecord] {
        try connection.withStatement("SELECT \(Self.loginColumns) FROM logins ORDER BY id") { statement in
            var logins: [LoginRecord] = []
            while try statement.step() { logins.append(try login(in: statement)) }
            return logins
        }
    }

    private static let loginColumns = "id, user, hash, next, previous, made, used"

    private func login(in statement: Statement) throws -> LoginRecord {
        LoginRecord(
            id: statement.int(0), userName: statement.string(1), hash: statement.blob(2),
            nextHash: statement.isNull(3) ? nil : statement.blob(3),
            previousHash: statement.isNull(4) ? nil : statement.blob(4), madeAt: try time(5, of: statement),
            usedAt: try time(6, of: statement))
    }

    func allDates() throws -> [UserDates] {
        let sql = """
            SELECT n.user, r.at, l.until FROM (SELECT user FROM revocations UNION SELECT user FROM leads) AS n \
            LEFT JOIN revocations AS r ON r.user = n.user LEFT JOIN leads AS l ON l.user = n.user ORDER BY n.user
            """
        return try connection.withStatement(sql) { statement in
            var dates: [UserDates] = []
            while try statement.step() {
                dates.append(
                    UserDates(
                        name: statement.string(0), revokedUntil: statement.isNull(1) ? nil : statement.int(1),
                        leadUntil: statement.isNull(2) ? nil : statement.int(2)))
            }
            return dates
        }
    }

    func note(_ dates: UserDates) throws {
        for (table, column, date) in [("revocations", "at", dates.revokedUntil), ("leads", "until", dates.leadUntil)] {
            guard let date else { continue }
            let sql = """
                INSERT INTO \(table) (user, \(column)) VALUES (?1, ?2) \
                ON CONFLICT DO UPDATE SET \(column) = max(\(column), excluded.\(column))
                """
            _ = try change(sql) {
                $0.bind(1, dates.name)
                $0.bind(2, date)
            }
        }
    }

    private func login(_ condition: String, _ bind: (Statement) -> Void) throws -> KnownLogin? {
        let login = try connection.withStatement("SELECT \(Self.loginColumns) FROM logins WHERE \(condition)") {
            statement -> LoginRecord? in
            bind(statement)
            return try statement.step() ? try self.login(in: statement) : nil
        }
        guard let login, let user = try user(login.userName) else { return nil }
        return KnownLogin(login: login, user: user)
    }

    func update(_ login: LoginRecord) throws {
        _ = try change(
            "UPDATE logins SET hash = ?2, next = ?3, previous = ?4, made = ?5, used = ?6 WHERE id = ?1"
        ) { statement in
            statement.bind(1, login.id)
            statement.bind(2, login.hash)
            if let next = login.nextHash { statement.bind(3, next) } else { statement.bindNull(3) }
            if let previous = login.previousHash { statement.bind(4, previous) } else { statement.bindNull(4) }
            statement.bind(5, login.madeAt)
            statement.bind(6, login.usedAt)
        }
    }

    func noteUse(of ids: [Int64], at time: Int64) throws {
        for id in ids {
            _ = try change("UPDATE logins SET used = max(used, ?2) WHERE id = ?1") {
                $0.bind(1, id)
                $0.bind(2, time)
            }
        }
    }

    func removeLogin(id: Int64) throws {
        _ = try change("DELETE FROM logins WHERE id = ?1") { $0.bind(1, id) }
    }

    func removeLogins(unusedSince time: Int64) throws {
        _ = try change("DELETE FROM logins WHERE used < ?1") { $0.bind(1, time) }
    }

    private func removeLogins(of name: String) throws {
        _ = try change("DELETE FROM logins WHERE user = ?1") { $0.bind(1, name) }
    }

    func rows<Row>(_ sql: String, _ row: (Statement) throws -> Row) throws -> [Row] {
        try connection.withStatement(sql) { statement in
            var rows: [Row] = []
            while try statement.step() { rows.append(try row(statement)) }
            return rows
        }
    }

    func change(_ sql: String, _ bind: (Statement) -> Void) throws -> Bool {
        try connection.withStatement(sql) { statement in
            bind(statement)
            try statement.run()
            return connection.changeCount > 0
        }
    }

    func copy(to path: String) throws {
        try connection.withStatement("VACUUM INTO ?") { statement in
            statement.bind(1, path)
            try statement.run()
        }
    }

    func close() { connection.close() }
}
