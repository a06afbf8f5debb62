#if PostgreSQL

internal import Dispatch
internal import Synchronization

/// Tells the other nodes of appends by NOTIFY, sends them the ephemeral messages of this node's clients, and says by its
/// row that this node is alive: the work of one connection on one thread. A notification inside an append would make
/// appends of all databases wait for each other.
///
/// While one notification is under way, those that come are one: the last position of each database counts. Nothing is
/// lost if none arrives, since everyone also asks (``JournalWatch``).
final class JournalBell: Sendable {
    private static let notify = PostgresStatement(
        "notify", "SELECT count(pg_notify('\(NewsChannel.name)', payload)) FROM unnest($1) AS payload")

    private let pool: PostgresPool
    private let row: NodeRow
    private let messages: MessageOutbox
    private let waiting = Mutex<[Int64: Int64]>([:])
    private let wake = DispatchSemaphore(value: 0)
    /// Whether the row of the node is to be written before its time.
    private let isNews = Atomic(false)
    /// The process of PostgreSQL that the notifications come from; 0 without a connection.
    private let sender = Atomic<Int32>(0)

    init(pool: PostgresPool, row: NodeRow) {
        self.pool = pool
        self.row = row
        messages = MessageOutbox(node: row.name)
    }

    /// Whether a notification was sent by this node.
    func isOwn(_ processID: Int32) -> Bool { sender.load(ordering: .relaxed) == processID }

    /// Notes an append. O(1); any thread may call it.
    func ring(_ database: Int64, _ position: Int64) {
        let isFirst = waiting.withLock { waiting in
            defer { waiting[database] = max(position, waiting[database] ?? 0) }
            return waiting.isEmpty
        }
        if isFirst { wake.signal() }
    }

    /// Says soon that the node is alive, and which databases it has open, since that has changed.
    func announce() {
        isNews.store(true, ordering: .relaxed)
        wake.signal()
    }

    /// Sends ephemeral messages for the clients of a database to the other nodes, soon. Any thread may call it.
    func send(_ frames: [[UInt8]], for database: Int64) {
        if messages.add(frames, for: database) { wake.signal() }
    }

    /// Ends ``run()``, after ``StopSignal/give()``.
    func stop() { wake.signal() }

    /// Does the work until the service is stopped.
    func run() {
        var connection: AcceptedConnection?
        var heartbeat = ContinuousClock.now
        while !pool.stop.isGiven {
            do throws(PostgresFailure) {
                if connection == nil { connection = try connect() }
                guard let accepted = connection else { continue }
                if isNews.exchange(false, ordering: .relaxed) || .now >= heartbeat {
                    heartbeat = .now + pool.timeouts.heartbeat
                    try row.store(by: accepted.connection)
                    try messages.forgetOld(by: accepted.connection)
                }
                let positions = waiting.withLock { waiting in
                    defer { waiting = [:] }
                    return waiting
                }
                if !positions.isEmpty {
                    let payloads = positions.map { "\($0.key) \($0.value)" }
                    try accepted.connection.execute(Self.notify, .texts(payloads))
                    continue
                }
                if try messages.send(by: accepted.connection) { continue }
                let left = ContinuousClock.now.duration(to: heartbeat)
                _ = wake.wait(timeout: .now() + .milliseconds(Int(left.milliseconds)))
            } catch {
                connection = nil
                sender.store(0, ordering: .relaxed)
                // A bell for what was appended before is of no use any more.
                waiting.withLock { $0 = [:] }
                messages.drop()
                heartbeat = .now
                _ = pool.stop.wait(until: pool.backoff.next)
            }
        }
        connection?.connection.close()
    }

    private func connect() throws(PostgresFailure) -> AcceptedConnection {
        let accepted = try pool.connect()
        if !accepted.greeting.isPooled {
            try accepted.connection.execute(script: "SET synchronous_commit = off")
            sender.store(accepted.connection.processID, ordering: .relaxed)
        }
        return accepted
    }
}

#endif
