/// Accounts that are locked, and revocations that are undone.
extension UserTables {
    func restore(_ name: String) throws -> Bool {
        try change("DELETE FROM revocations WHERE user = ?1") { $0.bind(1, name) }
    }

    func note(_ lock: UserLock, now: Int64) throws {
        _ = try change("DELETE FROM locks WHERE until <= ?1") { $0.bind(1, now) }
        let sql =
            """
            INSERT INTO locks (user, until, failures) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET until = max(until, ?2), failures = max(failures, ?3)
            """
        _ = try change(sql) {
            $0.bind(1, lock.name)
            $0.bind(2, lock.until)
            $0.bind(3, Int64(lock.failureCount))
        }
    }

    func locks() throws -> [UserLock] {
        try rows("SELECT user, until, failures FROM locks ORDER BY user") { statement in
            UserLock(name: statement.string(0), until: statement.int(1), failureCount: Int(statement.int(2)))
        }
    }

    func unlock(_ name: String) throws -> Bool {
        try change("DELETE FROM locks WHERE user = ?1") { $0.bind(1, name) }
    }
}
