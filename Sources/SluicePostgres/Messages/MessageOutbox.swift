#if PostgreSQL

internal import Synchronization

/// The ephemeral messages of a node's clients that wait to be sent to the other nodes. The bell's thread sends them. What
/// is beyond the bounds is lost.
final class MessageOutbox: Sendable {
    private static let countMax = 4_096
    private static let byteCountMax = 4 << 20
    /// As many go out with one statement.
    private static let batchCountMax = 512

    private struct State {
        var databases: [Int64] = []
        var frames: [[UInt8]] = []
        var byteCount = 0
    }

    private let node: String
    private let state = Mutex(State())

    init(node: String) { self.node = node }

    /// Adds messages for the clients of a database. Any thread may call it.
    ///
    /// - Returns: whether nothing waited before.
    func add(_ frames: [[UInt8]], for database: Int64) -> Bool {
        state.withLock { state in
            let isFirst = state.frames.isEmpty
            for frame in frames
            where state.frames.count < Self.countMax && state.byteCount + frame.count <= Self.byteCountMax {
                state.databases.append(database)
                state.frames.append(frame)
                state.byteCount += frame.count
            }
            return isFirst && !state.frames.isEmpty
        }
    }

    /// Sends some of what waits.
    ///
    /// - Returns: false if nothing waits.
    func send(by connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        let (databases, frames) = state.withLock { state in
            let count = min(Self.batchCountMax, state.frames.count)
            let (databases, frames) = (Array(state.databases[..<count]), Array(state.frames[..<count]))
            state.databases.removeFirst(count)
            state.frames.removeFirst(count)
            state.byteCount -= frames.reduce(0) { $0 + $1.count }
            return (databases, frames)
        }
        guard !frames.isEmpty else { return false }
        try connection.execute(MessageStatements.send, .text(node), .integers(databases), .byteArrays(frames))
        return true
    }

    /// Deletes the messages of all nodes that nobody needs any more.
    func forgetOld(by connection: PostgresConnection) throws(PostgresFailure) {
        try connection.execute(MessageStatements.forget)
    }

    /// Loses what waits.
    func drop() { state.withLock { $0 = State() } }
}

#endif
