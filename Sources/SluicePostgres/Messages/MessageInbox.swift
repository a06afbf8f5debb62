#if PostgreSQL

internal import Synchronization

/// Reads the ephemeral messages of other nodes: those that a bell names, or all that are new where nobody rings. The watch
/// drives it, on its thread.
///
/// One connection of a node writes its messages one after the other, so those of a node become visible in the order of
/// their numbers. Those of several nodes need not, which is why each has its own last number here. Numbers may begin anew
/// after a crash of PostgreSQL, which ends all connections: a new connection knows nothing of before.
final class MessageInbox: Sendable {
    /// What the payload of a bell begins with; the first number, the last number and the node follow.
    static let kind = "message"
    /// As many messages are read with one statement.
    static let countMax = 512

    private struct State {
        var hear: (@Sendable ([[UInt8]], String) -> Void)?
        /// The number of the last message that was read of each node, and what the others had sent before this node
        /// listened.
        var last: [String: Int64] = [:]
        var start: Int64 = 0
        /// Up to which number each node has rung.
        var rung: [String: Int64] = [:]
    }

    private let node: String
    private let places: JournalPlaces
    private let state = Mutex(State())

    init(node: String, places: JournalPlaces) {
        self.node = node
        self.places = places
    }

    /// - Parameter hear: see ``MessageRelay/receive(_:)``.
    func begin(_ hear: @escaping @Sendable ([[UInt8]], String) -> Void) { state.withLock { $0.hear = hear } }

    /// Begins with what is sent from now on, on a new connection.
    func begin(by connection: PostgresConnection) throws(PostgresFailure) {
        let start = try connection.execute(MessageStatements.last).integer(0)
        state.withLock { ($0.last, $0.rung, $0.start) = ([:], [:], start) }
    }

    /// Heeds the rest of a bell's payload.
    func heed(_ payload: Substring) {
        let parts = payload.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3, let first = Int64(parts[0]), let last = Int64(parts[1]) else { return }
        let sender = parts[2]
        guard sender != node else { return }
        state.withLock { state in
            if state.last[sender] == nil { state.last[sender] = first - 1 }
            state.rung[sender] = last
        }
    }

    /// Reads what the bells have named.
    func readRung(by connection: PostgresConnection) throws(PostgresFailure) {
        let rung = state.withLock { state in
            defer { state.rung = [:] }
            return state.rung.map { (node: $0.key, first: state.last[$0.key] ?? $0.value, last: $0.value) }
        }
        for var range in rung {
            let databases = places.all.map(\.id)
            while !databases.isEmpty {
                let found = try connection.execute(
                    MessageStatements.next, .text(range.node), .integer(range.first), .integer(range.last),
                    .integers(databases))
                pass(found)
                guard found.rowCount == Self.countMax else { break }
                range.first = found.integer(0, row: found.rowCount - 1)
            }
            state.withLock { $0.last[range.node] = range.last }
        }
    }

    /// Reads all that is new.
    func readNew(by connection: PostgresConnection) throws(PostgresFailure) {
        let databases = places.all.map(\.id)
        guard !databases.isEmpty else { return }
        while true {
            let (last, start) = state.withLock { ($0.last, $0.start) }
            let found = try connection.execute(
                MessageStatements.nextOfAll, .text(node), .texts(Array(last.keys)), .integers(Array(last.values)),
                .integer(start), .integers(databases))
            pass(found)
            state.withLock { state in
                for row in 0..<found.rowCount { state.last[found.text(3, row: row)] = found.integer(0, row: row) }
            }
            guard found.rowCount == Self.countMax else { return }
        }
    }

    /// Passes messages on, those that follow each other in one database together.
    private func pass(_ found: PostgresResult) {
        guard let hear = state.withLock({ $0.hear }) else { return }
        var frames: [[UInt8]] = []
        for row in 0..<found.rowCount {
            let database = found.integer(1, row: row)
            frames.append(found.bytes(2, row: row))
            guard row + 1 == found.rowCount || found.integer(1, row: row + 1) != database else { continue }
            if let name = places[database]?.name { hear(frames, name) }
            frames = []
        }
    }
}

#endif
