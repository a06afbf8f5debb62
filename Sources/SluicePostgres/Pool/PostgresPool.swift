#if PostgreSQL

internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// A connection that was accepted, with what its server said.
struct AcceptedConnection {
    let connection: PostgresConnection
    let greeting: Greeting
}

/// The few connections of a node for appends and reading. Who needs one waits until one is free; a turn keeps its own.
final class PostgresPool: Sendable {
    /// With those of the watch and of the bell a node has six.
    static let countMax = 4

    let address: PostgresAddress
    let timeouts: PostgresTimeouts
    let identity: ServerIdentity
    let stop: StopSignal
    let backoff: RetryPause
    /// The node whose connections these are, which tells old primaries that it refuses them.
    private let row: NodeRow?
    private let idle = Mutex<[AcceptedConnection]>([])
    private let places = DispatchSemaphore(value: countMax)

    init(
        address: PostgresAddress, timeouts: PostgresTimeouts, identity: ServerIdentity, stop: StopSignal, row: NodeRow?
    ) {
        self.row = row
        self.address = address
        self.timeouts = timeouts
        self.identity = identity
        self.stop = stop
        backoff = RetryPause(min: timeouts.reconnectMin, max: timeouts.reconnectMax)
    }

    /// Takes a connection, which has to come back by ``give(_:)``. Blocks for at most the time of an answer while all are
    /// taken, and while a new one is made.
    func take() throws(PostgresFailure) -> AcceptedConnection {
        guard places.wait(timeout: .now() + .milliseconds(Int(timeouts.answer.milliseconds))) == .success else {
            throw .lost("all connections of this node are busy")
        }
        do throws(PostgresFailure) {
            // The last that was used is the one that the server has everything ready for.
            while let connection = idle.withLock({ $0.popLast() }) {
                if stop.isGiven { throw PostgresFailure.stopped }
                if connection.connection.isOpen, connection.greeting.history == identity.history { return connection }
                // It is broken, or was greeted by a server of before.
                connection.connection.close()
            }
            return try connect()
        } catch {
            places.signal()
            throw error
        }
    }

    /// Takes a connection back. One that is in a transaction, or broken, is closed.
    func give(_ connection: AcceptedConnection) {
        let isUsable = !stop.isGiven && connection.connection.isOpen
        // Those to a server of before are closed.
        if isUsable, connection.greeting.history == identity.history {
            idle.withLock { $0.append(connection) }
        } else {
            connection.connection.close()
        }
        places.signal()
    }

    /// Runs `body` with a connection.
    func withConnection<Result>(
        _ body: (AcceptedConnection) throws(PostgresFailure) -> Result
    ) throws(PostgresFailure) -> Result {
        let connection = try take()
        defer { give(connection) }
        return try body(connection)
    }

    /// Runs `body` with a connection, and once more with another if that one has ended meanwhile: what only reads can be
    /// done twice.
    func withAnyConnection<Result>(
        _ body: (AcceptedConnection) throws(PostgresFailure) -> Result
    ) throws(PostgresFailure) -> Result {
        let connection = try take()
        do throws(PostgresFailure) {
            defer { give(connection) }
            return try body(connection)
        } catch {
            guard error.isOfConnection else { throw error }
        }
        return try withConnection(body)
    }

    /// Runs `body` with a connection, for callers who know no more of failures than the engine does.
    ///
    /// - Parameter what: what could not be done, as a clause: "the group could not be appended".
    /// - Throws: as ``PostgresFailure/storageError(_:_:)``.
    func asking<Result>(
        _ what: @autoclosure () -> String, _ body: (AcceptedConnection) throws(PostgresFailure) -> Result
    ) throws(StorageError) -> Result {
        do throws(PostgresFailure) { return try withConnection(body) } catch {
            throw error.storageError(what(), address)
        }
    }

    /// Makes a connection beside the pool, unless the last attempt was too short a time ago.
    ///
    /// - Parameter address: where to; nil for the pool's own.
    func connect(to address: PostgresAddress? = nil) throws(PostgresFailure) -> AcceptedConnection {
        guard !stop.isGiven else { throw .stopped }
        guard backoff.mayTry() else { throw .lost("it did not answer a moment ago") }
        do throws(PostgresFailure) {
            let accepted = try accepted(at: address ?? self.address)
            backoff.noteSuccess()
            return accepted
        } catch {
            if error != .stopped { backoff.noteFailure() }
            throw error
        }
    }

    /// Connects to the first server of an address that can be used. An old primary before the present one is left out,
    /// also by a node that has met neither.
    private func accepted(at address: PostgresAddress) throws(PostgresFailure) -> AcceptedConnection {
        if !identity.isMet, address.hosts.count > 1 {
            identity.expect(Primary.find(all: address, timeouts: timeouts, stop: stop).map(\.greeting.history))
        }
        var accepted: Greeting?
        let connection = try PostgresConnection(to: address, timeouts: timeouts, stop: stop) {
            connection throws(PostgresFailure) in
            let greeting = try Greeting(connection, timeouts: timeouts)
            let cluster = try PostgresCluster.check(connection)
            do throws(PostgresFailure) {
                try identity.accept(greeting, clusterID: cluster.id, accepted: cluster.accepted)
            } catch {
                if let seen = identity.history, greeting.history.isOlder(than: seen), !greeting.isPooled {
                    try? row?.refuse(connection, afterTimeline: seen.timeline)
                }
                throw error
            }
            accepted = greeting
        }
        guard let accepted else { throw .lost("it has no address") }
        return AcceptedConnection(connection: connection, greeting: accepted)
    }

    /// Closes what is idle. What is in use is closed when it comes back.
    func closeIdle() {
        let connections = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        for connection in connections { connection.connection.close() }
    }
}

#endif
