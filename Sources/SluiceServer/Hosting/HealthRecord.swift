internal import Synchronization

/// Keeps the health of a database, and since when it lacks what its journal has. Any thread may use it.
final class HealthRecord: Sendable {
    /// | state | event | next |
    /// |---|---|---|
    /// | closed, failed | the database was opened | open |
    /// | closed, failed | it could not be opened | failed |
    /// | open | it was closed, or its file vanished | closed |
    enum State: Sendable, Hashable {
        case closed
        /// The last attempt to open it failed.
        case failed
        case open(DatabaseHealth)

        /// The state as an operator is told it.
        var word: String {
            switch self {
            case .closed: "closed"
            case .failed: "failed"
            case .open(let health) where health.isDamaged: "damaged"
            case .open(let health) where !health.isWritable: "unwritable"
            case .open(let health) where health.isSilent: "silent"
            case .open: "open"
            }
        }
    }

    private struct Known {
        var state = State.closed
        /// Since when it has lacked something, or could not ask, in nanoseconds of a monotonic clock.
        var behindSince: Int64?
    }

    private let known = Mutex(Known())

    var state: State { known.withLock { $0.state } }

    /// Notes how a database is after a turn.
    ///
    /// - Parameter time: of a monotonic clock, in nanoseconds.
    func note(_ state: State, at time: Int64) {
        known.withLock { known in
            known.state = state
            guard case .open(let health) = state, health.isBehind || health.isSilent else {
                known.behindSince = nil
                return
            }
            known.behindSince = known.behindSince ?? time
        }
    }

    /// Notes that the journal of the database has more than was applied. What is not open lacks nothing.
    func noteBehind(at time: Int64) {
        known.withLock { known in
            if case .open = known.state { known.behindSince = known.behindSince ?? time }
        }
    }

    /// For how long the database has lacked something, in nanoseconds.
    func lag(at time: Int64) -> Int64 { known.withLock { max(0, time - ($0.behindSince ?? time)) } }
}
