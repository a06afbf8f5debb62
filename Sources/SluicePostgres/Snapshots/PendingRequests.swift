#if PostgreSQL

internal import SluiceStorage
internal import Synchronization

/// What administrators have asked for, as it was some seconds ago: one question for all databases of a node.
final class PendingRequests: Sendable {
    private struct State {
        var names: Set<String> = []
        var readAt: ContinuousClock.Instant?
    }

    /// For how long what was read counts.
    private static let validTime = Duration.seconds(5)

    private let pool: PostgresPool
    private let state = Mutex(State())

    init(pool: PostgresPool) { self.pool = pool }

    /// Whether something is asked for of a database.
    ///
    /// - Parameter database: its number.
    func have(_ upkeep: Upkeep, of database: Int64) throws(StorageError) -> Bool {
        let isKnown = state.withLock { state in state.readAt.map { .now < $0 + Self.validTime } ?? false }
        if !isKnown { try read() }
        return state.withLock { $0.names.contains("\(database) \(upkeep.rawValue)") }
    }

    /// Reads anew when somebody asks next.
    func forget() { state.withLock { $0.readAt = nil } }

    private func read() throws(StorageError) {
        let now = ContinuousClock.now
        let found = try pool.asking("the requests could not be read") { accepted throws(PostgresFailure) in
            try accepted.connection.execute(SnapshotStatements.requests)
        }
        let names = (0..<found.rowCount).map { "\(found.integer(0, row: $0)) \(found.text(1, row: $0))" }
        state.withLock { $0 = State(names: Set(names), readAt: now) }
    }
}

#endif
