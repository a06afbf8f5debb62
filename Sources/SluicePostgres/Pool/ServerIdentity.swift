#if PostgreSQL

internal import SluiceModel
internal import Synchronization

/// What a node knows of its PostgreSQL from all connections so far, and refuses in a new one.
final class ServerIdentity: Sendable {
    private struct State {
        var history: PostgresHistory?
        var clusterID: [UInt8]?
        var clockOffset: Int64 = 0
        /// Whether this process has been connected.
        var isMet = false
        /// Where the history is kept over restarts; nil for nowhere.
        var memory: HistoryFile?

        func check(
            _ history: PostgresHistory, clusterID: [UInt8], accepted: PostgresHistory?
        ) throws(PostgresFailure) {
            if let known = self.history, history.isOlder(than: known), history != accepted {
                throw .unsuitable(
                    "is an old primary: it is on timeline \(history.timeline), and this node has seen \(known.timeline). "
                        + "Stop it; if it shall be the primary again, run `sluice cluster epoch` with its address")
            }
            if let known = self.clusterID, known != clusterID {
                throw .unsuitable(
                    "has another cluster than the one that this node serves; restart the node to change over")
            }
        }
    }

    private let state: Mutex<State>
    private let log: LogSink?
    private static let clockOffsetMax: Int64 = 1_000_000

    /// - Parameter history: the latest that the node remembers from before; nil for none.
    init(remembering history: PostgresHistory?, log: LogSink?) {
        state = Mutex(State(history: history))
        self.log = log
    }

    /// Remembers the history that was kept before a restart, if there is one.
    func remember(_ history: PostgresHistory?) { state.withLock { $0.history = $0.history ?? history } }

    /// Keeps in a file the history of the newest connection, and those that come.
    func keep(in memory: HistoryFile) {
        let met = state.withLock { state in
            state.memory = memory
            return state.isMet ? state.history : nil
        }
        if let met { memory.write(met) }
    }

    /// Refuses servers of another cluster, until there is a first connection.
    func expect(clusterID: [UInt8]) { state.withLock { $0.clusterID = $0.clusterID ?? clusterID } }

    /// Refuses old primaries of those that were found, as if this node had been connected to the newest.
    func expect(_ found: [PostgresHistory]) {
        state.withLock { state in
            for history in found {
                let isNewer = { (other: PostgresHistory) in other.isOlder(than: history) }
                if state.history.map(isNewer) ?? found.contains(where: isNewer) { state.history = history }
            }
        }
    }

    /// Whether there has been a connection.
    var isMet: Bool { state.withLock { $0.isMet } }

    /// The history of the newest connection.
    var history: PostgresHistory? { state.withLock { $0.history } }

    /// The id of the cluster by the newest connection, or as is expected of the first; nil for neither.
    var clusterID: [UInt8]? { state.withLock { $0.clusterID } }

    /// How far PostgreSQL's clock is ahead of this machine's, in microseconds.
    var clockOffset: Int64 { state.withLock { $0.clockOffset } }

    /// Judges a new connection.
    ///
    /// - Parameter accepted: the history that an administrator has accepted, whatever this node has seen; nil for none.
    /// - Throws: ``PostgresFailure/unsuitable(_:)`` if it leads to an old primary, or to another cluster.
    func accept(
        _ greeting: Greeting, clusterID: [UInt8], accepted: PostgresHistory?
    ) throws(PostgresFailure) {
        // Judged and stored at once: another connection may just have been accepted of a later server.
        let before = try state.withLock { state throws(PostgresFailure) in
            try state.check(greeting.history, clusterID: clusterID, accepted: accepted)
            defer {
                state.history = greeting.history
                state.clusterID = clusterID
                state.clockOffset = greeting.clockOffset
                state.isMet = true
            }
            return state
        }
        // It may be known and not remembered yet.
        if !before.isMet || before.history != greeting.history { before.memory?.write(greeting.history) }
        if !before.isMet || before.history != greeting.history {
            log?(
                .info, "the journal's server is connected",
                [("version", greeting.version), ("history", "\(greeting.history)")])
            if !greeting.isDurable {
                log?(.warning, "the journal's server has fsync off, and loses what it has acknowledged when it crashes")
            }
        }
        if abs(greeting.clockOffset) > Self.clockOffsetMax, abs(before.clockOffset) <= Self.clockOffsetMax {
            log?(
                .warning, "the clock differs from that of the journal's server, which counts",
                [("seconds", "\(Double(greeting.clockOffset) / 1_000_000)")])
        }
    }
}

#endif
