#if PostgreSQL

internal import SluiceStorage

/// The rows of a cluster's users, by one connection. What it throws is a ``PostgresFailure``.
final class PostgresUserRecords: UserRecords {
    private let connection: PostgresConnection
    /// Whether something was changed on which open sessions depend.
    private(set) var concernsSessions = false

    init(_ connection: PostgresConnection) { self.connection = connection }

    // MARK: Users

    func user(_ name: String) throws -> UserRecord? {
        let found = try connection.execute(UserStatements.user, .name(name))
        return found.rowCount == 0 ? nil : Self.user(name, found, from: 0, row: 0)
    }

    private static func user(_ name: String, _ result: PostgresResult, from column: Int, row: Int) -> UserRecord {
        UserRecord(
            name: name, password: result.text(column, row: row), generation: result.integer(column + 1, row: row),
            claims: result.text(column + 2, row: row), createdAt: result.integer(column + 3, row: row))
    }

    func users() throws -> [(user: UserRecord, loginCount: Int)] {
        let found = try connection.execute(UserStatements.users)
        return (0..<found.rowCount).map { row in
            (Self.user(found.name(0, row: row), found, from: 1, row: row), Int(found.integer(5, row: row)))
        }
    }

    func add(_ user: UserRecord) throws -> Bool {
        try connection.execute(
            UserStatements.add, .name(user.name), .text(user.password), .integer(user.generation), .text(user.claims),
            .integer(user.createdAt)
        ).affectedCount == 1
    }

    func setPassword(_ password: String, of name: String) throws -> Bool {
        let isKnown = try change(UserStatements.setPassword, .name(name), .text(password))
        try connection.execute(UserStatements.removeLogins, .name(name))
        return isKnown
    }

    func replaceHash(_ password: String, of name: String, generation: Int64) throws {
        try connection.execute(UserStatements.replaceHash, .name(name), .text(password), .integer(generation))
    }

    func setClaims(_ claims: String, of name: String) throws -> Bool {
        try change(UserStatements.setClaims, .name(name), .text(claims))
    }

    func remove(_ name: String, now: Int64) throws -> Bool {
        let isKnown = try change(UserStatements.remove, .name(name))
        if isKnown { try noteRevocation(of: name, now: now) }
        return isKnown
    }

    // MARK: Revocation

    func revoke(_ name: String, now: Int64) throws {
        try connection.execute(UserStatements.raiseGeneration, .name(name))
        try noteRevocation(of: name, now: now)
    }

    private func noteRevocation(of name: String, now: Int64) throws {
        try connection.execute(UserStatements.removeLogins, .name(name))
        _ = try change(UserStatements.revoke, .name(name), .integer(now))
    }

    func noteLead(of name: String, until time: Int64, now: Int64) throws {
        // What is past says no more than the time of a revocation.
        try connection.execute(UserStatements.forgetLeads, .integer(now))
        try connection.execute(UserStatements.noteLead, .name(name), .integer(time))
    }

    func revocations(of names: [String]) throws -> [Int64?] {
        let found = try connection.execute(UserStatements.revocations, .names(names))
        return (0..<found.rowCount).map { found.isNull(0, row: $0) ? nil : found.integer(0, row: $0) }
    }

    func restore(_ name: String) throws -> Bool { try change(UserStatements.restore, .name(name)) }

    // MARK: Locks

    func note(_ lock: UserLock, now: Int64) throws {
        try connection.execute(UserStatements.forgetLocks, .integer(now))
        try connection.execute(
            UserStatements.noteLock, .name(lock.name), .integer(lock.until), .integer(Int64(lock.failureCount)))
    }

    func locks() throws -> [UserLock] {
        let found = try connection.execute(UserStatements.locks)
        return (0..<found.rowCount).map { row in
            UserLock(
                name: found.name(0, row: row), until: found.integer(1, row: row),
                failureCount: Int(found.integer(2, row: row)))
        }
    }

    func unlock(_ name: String) throws -> Bool { try change(UserStatements.unlock, .name(name)) }

    // MARK: Logins

    func addLogin(of name: String, hash: [UInt8], now: Int64) throws -> Int64 {
        try connection.execute(UserStatements.addLogin, .name(name), .bytes(hash), .integer(now)).integer(0)
    }

    func login(hash: [UInt8]) throws -> KnownLogin? {
        let found = try connection.execute(UserStatements.login, .bytes(hash))
        return found.rowCount == 0 ? nil : Self.login(found, row: 0)
    }

    func logins(_ ids: [Int64]) throws -> [KnownLogin?] {
        let found = try connection.execute(UserStatements.logins, .integers(ids))
        return (0..<found.rowCount).map { Self.login(found, row: $0) }
    }

    private static func login(_ result: PostgresResult, row: Int) -> KnownLogin? {
        guard !result.isNull(0, row: row) else { return nil }
        let login = record(result, row: row)
        return KnownLogin(login: login, user: user(login.userName, result, from: 7, row: row))
    }

    private static func record(_ result: PostgresResult, row: Int) -> LoginRecord {
        func hash(_ column: Int) -> [UInt8]? {
            result.isNull(column, row: row) ? nil : result.bytes(column, row: row)
        }
        return LoginRecord(
            id: result.integer(0, row: row), userName: result.name(1, row: row), hash: result.bytes(2, row: row),
            nextHash: hash(3), previousHash: hash(4), madeAt: result.integer(5, row: row),
            usedAt: result.integer(6, row: row))
    }

    func allLogins() throws -> [LoginRecord] {
        let found = try connection.execute(UserStatements.allLogins)
        return (0..<found.rowCount).map { Self.record(found, row: $0) }
    }

    func allDates() throws -> [UserDates] {
        let found = try connection.execute(UserStatements.allDates)
        return (0..<found.rowCount).map { row in
            func date(_ column: Int) -> Int64? {
                found.isNull(column, row: row) ? nil : found.integer(column, row: row)
            }
            return UserDates(name: found.name(0, row: row), revokedUntil: date(1), leadUntil: date(2))
        }
    }

    func note(_ dates: UserDates) throws {
        if let date = dates.revokedUntil {
            _ = try change(UserStatements.noteRevocation, .name(dates.name), .integer(date))
        }
        if let date = dates.leadUntil {
            try connection.execute(UserStatements.noteLead, .name(dates.name), .integer(date))
        }
    }

    func update(_ login: LoginRecord) throws {
        try connection.execute(
            UserStatements.updateLogin, .integer(login.id), .bytes(login.hash), .optionalBytes(login.nextHash),
            .optionalBytes(login.previousHash), .integer(login.madeAt), .integer(login.usedAt))
    }

    func noteUse(of ids: [Int64], at time: Int64) throws {
        try connection.execute(UserStatements.noteUse, .integers(ids), .integer(time))
    }

    func removeLogin(id: Int64) throws { _ = try change(UserStatements.removeLogin, .integer(id)) }

    func removeLogins(unusedSince time: Int64) throws {
        try connection.execute(UserStatements.forgetLogins, .integer(time))
    }

    /// Runs a statement on whose effect open sessions depend.
    ///
    /// - Returns: whether it had one.
    private func change(_ statement: PostgresStatement, _ parameters: PostgresParameter...) throws -> Bool {
        let hasChanged = try connection.execute(statement, parameters).affectedCount > 0
        if hasChanged { concernsSessions = true }
        return hasChanged
    }
}

extension PostgresParameter {
    /// A user's name. PostgreSQL's texts have no zero byte, and the ids that others give to users may have one.
    static func name(_ name: String) -> PostgresParameter { .text(escaped(name)) }

    static func names(_ names: [String]) -> PostgresParameter { .texts(names.map(escaped)) }

    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\\") }) else { return name }
        return name.replacing("\\", with: "\\\\").replacing("\0", with: "\\0")
    }
}

extension PostgresResult {
    /// A user's name, as ``PostgresParameter/name(_:)`` has stored it.
    func name(_ column: Int, row: Int) -> String {
        let text = text(column, row: row)
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
        var name: [UInt8] = []
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "\\"), let next = bytes.next() else {
                name.append(byte)
                continue
            }
            name.append(next == UInt8(ascii: "0") ? 0 : next)
        }
        return String(decoding: name, as: UTF8.self)
    }
}

#endif
