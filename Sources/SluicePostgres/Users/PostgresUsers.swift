#if PostgreSQL

internal import SluiceModel
package import SluiceStorage

/// The users of a cluster, in the tables that its nodes share. Any thread may use it.
///
/// Each write about a user waits for those about the same user, on whatever node, by an advisory lock on the name: so it
/// reads what they have written, as in a file, and writes about others go on beside it.
package final class PostgresUsers: UserStore {
    /// How often a write begins again that PostgreSQL has chosen to end a deadlock.
    private static let attemptCountMax = 5

    private let pool: PostgresPool
    private let news: UserNews

    init(pool: PostgresPool, news: UserNews) {
        self.pool = pool
        self.news = news
    }

    package func read<Result: Sendable>(_ body: (any UserRecords) throws -> Result) throws -> Result {
        try asStorageErrors("the users could not be read") {
            let accepted = try pool.take()
            defer { pool.give(accepted) }
            return try body(PostgresUserRecords(accepted.connection))
        }
    }

    package func write<Result: Sendable>(
        about name: String, _ body: (any UserRecords) throws -> Result
    ) throws -> Result {
        try asStorageErrors("the users could not be changed") {
            var attempt = 1
            while true {
                do { return try writeOnce(name, body) } catch let failure as PostgresFailure
                    where failure.isOfConcurrency && attempt < Self.attemptCountMax
                {
                    attempt += 1
                }
            }
        }
    }

    private func writeOnce<Result>(_ name: String, _ body: (any UserRecords) throws -> Result) throws -> Result {
        let accepted = try pool.take()
        // One that is left in a transaction is closed.
        defer { pool.give(accepted) }
        let connection = accepted.connection
        try connection.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(\(Self.lock(of: name)))")
        let records = PostgresUserRecords(connection)
        let result: Result
        do {
            result = try body(records)
            if records.concernsSessions { try connection.execute(UserStatements.tell) }
        } catch {
            _ = try? connection.execute(script: "ROLLBACK")
            throw error
        }
        do throws(PostgresFailure) {
            guard try connection.execute(script: "COMMIT").command == "COMMIT" else {
                throw .refused(state: "25P02", "the transaction was rolled back")
            }
        } catch {
            guard case .lost(let reason, let state) = error else { throw error }
            throw PostgresFailure.lost("\(reason), so that the change may be there all the same", state: state)
        }
        return result
    }

    /// The number by which writes about a user wait for each other: eight bytes of a hash of the name.
    private static func lock(of name: String) -> Int64 {
        SHA256.digest(Array(name.utf8))[..<8].reduce(0) { $0 << 8 | Int64($1) }
    }

    private func asStorageErrors<Result>(_ what: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let failure as PostgresFailure { throw failure.storageError(what, pool.address) }
    }

    package func watch(_ didChange: @escaping @Sendable () -> Void) { news.begin(didChange) }

    // The connections are the journals', too.
    package func close() { news.end() }
}

#endif
