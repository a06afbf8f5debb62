#if PostgreSQL

internal import CPQ
internal import Glibc

/// A statement that a connection prepares when it is first used.
package struct PostgresStatement: Sendable {
    /// The name that it is prepared by; nil to send its text each time.
    let name: String?
    let sql: String

    /// - Parameters:
    ///   - name: the name that it is prepared by; nil to send its text each time.
    ///   - sql: the text, with `$1`, `$2` and so on for its parameters.
    package init(_ name: String?, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}

/// One connection to PostgreSQL by libpq. Every wait ends at a deadline, or when the service is stopped.
///
/// Used by one thread at a time, which is why it may be sent to another. After ``PostgresFailure/lost(_:state:)`` it is
/// closed and of no further use.
package final class PostgresConnection: @unchecked Sendable {
    let address: PostgresAddress
    private let timeouts: PostgresTimeouts
    private let stop: StopSignal
    /// Nil once closed.
    private var handle: OpaquePointer?
    private var prepared: Set<String> = []
    /// Whether statements may be prepared; not behind a pooler, where the next one may reach another process.
    var preparesStatements = false

    /// Connects to the first server that accepts, and that is accepted. O(hosts) connects, each with a deadline of its own.
    ///
    /// - Parameter judge: throws if the server cannot be used; then the next one is tried.
    /// - Throws: ``PostgresFailure/lost(_:state:)`` with what the last server said; what `judge` throws.
    init(
        to address: PostgresAddress, timeouts: PostgresTimeouts, stop: StopSignal,
        judge: (PostgresConnection) throws(PostgresFailure) -> Void = { _ in }
    ) throws(PostgresFailure) {
        self.address = address
        self.timeouts = timeouts
        self.stop = stop
        var failures: [PostgresFailure] = []
        for host in address.hosts {
            do throws(PostgresFailure) {
                try connect(address.parameters(for: host))
                try judge(self)
                return
            } catch {
                close()
                prepared = []
                if error == .stopped { throw error }
                failures.append(address.hosts.count > 1 ? error.about(host) : error)
            }
        }
        throw PostgresFailure.ofAll(failures)
    }

    /// Connects to a PostgreSQL whose statements nobody stops, and prepares statements: there must be no pooler between.
    ///
    /// - Throws: ``StorageError/Code/journal`` if the URL is none, and ``PostgresFailure/lost(_:state:)`` with what the
    ///   server said.
    package convenience init(url: String, timeouts: PostgresTimeouts) throws {
        try self.init(to: PostgresAddress(url), timeouts: timeouts, stop: StopSignal())
        preparesStatements = true
    }

    deinit { close() }

    /// Ends the connection. What comes later throws.
    func close() {
        PQfinish(handle)
        handle = nil
    }

    /// The process of PostgreSQL that the connection was given, as the server said; see `pg_backend_pid()`.
    var processID: Int32 { PQbackendPID(handle) }

    /// The server's version, such as 150018.
    var serverVersion: Int32 { PQserverVersion(handle) }

    private func connect(_ parameters: [String: String]) throws(PostgresFailure) {
        let deadline = ContinuousClock.now + timeouts.connect
        let pairs = parameters.sorted { $0.key < $1.key }
        handle = withCStrings(pairs.map(\.key)) { keywords in
            withCStrings(pairs.map(\.value)) { values in PQconnectStartParams(keywords, values, 0) }
        }
        guard PQstatus(handle) != CONNECTION_BAD else { throw broken() }
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED else { throw broken() }
            try wait(state == PGRES_POLLING_READING ? POLLIN : Int32(POLLOUT), until: deadline)
            state = PQconnectPoll(handle)
        }
        PQsetnonblocking(handle, 1)
        // The library would print notices.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
    }

    // MARK: Statements

    /// Runs a statement to its end.
    ///
    /// - Parameter parameters: the values of `$1`, `$2` and so on.
    /// - Throws: ``PostgresFailure`` if the statement failed, or if there was no answer in time.
    @discardableResult
    package func execute(
        _ statement: PostgresStatement, _ parameters: PostgresParameter...
    ) throws(PostgresFailure) -> PostgresResult { try execute(statement, parameters) }

    /// Runs a statement to its end.
    @discardableResult
    func execute(
        _ statement: PostgresStatement, _ parameters: [PostgresParameter]
    ) throws(PostgresFailure) -> PostgresResult {
        try send(statement, parameters)
        return try lastResult()
    }

    /// Runs statements without parameters that stand in one text; the result is that of the last.
    ///
    /// - Throws: ``PostgresFailure`` if one of them failed, or if there was no answer in time.
    @discardableResult
    package func execute(script: String) throws(PostgresFailure) -> PostgresResult {
        guard PQsendQuery(handle, script) == 1 else { throw broken() }
        return try lastResult()
    }

    /// Runs a query and hands over each row when it arrives, so that only one is in memory.
    func forEachRow(
        of statement: PostgresStatement, _ parameters: PostgresParameter..., body: (PostgresResult) -> Void
    ) throws(PostgresFailure) {
        try send(statement, parameters)
        PQsetSingleRowMode(handle)
        _ = try lastResult(body)
    }

    private func send(_ statement: PostgresStatement, _ parameters: [PostgresParameter]) throws(PostgresFailure) {
        let name = preparesStatements ? statement.name : nil
        let types = parameters.map(\.type)
        if let name, !prepared.contains(name) {
            guard PQsendPrepare(handle, name, statement.sql, Int32(types.count), types) == 1 else { throw broken() }
            _ = try lastResult()
            prepared.insert(name)
        }
        let encoded = parameters.map(\.encoded)
        let lengths = encoded.map { Int32($0?.count ?? 0) }
        let formats = encoded.map { _ in Int32(1) }
        let isSent = withBuffers(encoded) { values in
            if let name {
                PQsendQueryPrepared(handle, name, Int32(types.count), values, lengths, formats, 1)
            } else {
                PQsendQueryParams(handle, statement.sql, Int32(types.count), types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw broken() }
    }

    /// Waits for all results of what was sent, and returns the last, unless one says that something failed.
    ///
    /// - Parameter each: called with each result that has a single row.
    private func lastResult(_ each: (PostgresResult) -> Void = { _ in }) throws(PostgresFailure) -> PostgresResult {
        try flush()
        var last: PostgresResult?
        var failure: PostgresFailure?
        while true {
            let deadline = ContinuousClock.now + timeouts.answer
            while PQisBusy(handle) == 1 { try read(until: deadline) }
            guard let pointer = PQgetResult(handle) else { break }
            let result = PostgresResult(pointer)
            failure = failure ?? result.failure(address)
            if result.status == PGRES_SINGLE_TUPLE { each(result) }
            last = result
        }
        if PQstatus(handle) == CONNECTION_BAD {
            close()
            throw failure.map { if case .refused(let state, let text) = $0 { .lost(text, state: state) } else { $0 } }
                ?? .lost("the connection ended")
        }
        if let failure { throw failure }
        guard let last else { throw .lost("no result") }
        return last
    }

    /// Sends what is waiting to be sent. The deadline begins anew with everything that goes out.
    private func flush() throws(PostgresFailure) {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1: try wait(POLLOUT | POLLIN, until: .now + timeouts.answer)
            default: throw broken()
            }
            // A server that waits for its own output to be read would not read.
            guard PQconsumeInput(handle) == 1 else { throw broken() }
        }
    }

    private func read(until deadline: ContinuousClock.Instant) throws(PostgresFailure) {
        try wait(POLLIN, until: deadline)
        guard PQconsumeInput(handle) == 1 else { throw broken() }
    }

    // MARK: Notifications

    /// What has come for `LISTEN` since the last call: the payload, and the process that sent it.
    package func notifications() -> [(payload: String, processID: Int32)] {
        var notifications: [(String, Int32)] = []
        while let notification = PQnotifies(handle) {
            defer { PQfreemem(notification) }
            notifications.append((String(cString: notification.pointee.extra), notification.pointee.be_pid))
        }
        return notifications
    }

    /// Waits until PostgreSQL sends something, or for a time.
    ///
    /// - Returns: whether something has come.
    /// - Throws: ``PostgresFailure/lost(_:state:)`` if the connection has ended.
    package func waitForInput(until deadline: ContinuousClock.Instant) throws(PostgresFailure) -> Bool {
        switch PollWait(descriptor: PQsocket(handle), stop: stop.descriptor).run(events: POLLIN, until: deadline) {
        case .stop: throw .stopped
        case .time: return false
        case .ready:
            guard PQconsumeInput(handle) == 1 else { throw broken() }
            return true
        }
    }

    /// Whether the connection can be used. Between two statements the server sends nothing, unless to say that it closes
    /// the connection. O(1), without a question.
    var isOpen: Bool {
        guard handle != nil, PQtransactionStatus(handle) == PQTRANS_IDLE else { return false }
        return PollWait(descriptor: PQsocket(handle), stop: stop.descriptor).run(events: POLLIN, until: .now) == .time
    }

    // MARK: Waiting

    private func wait(_ events: Int32, until deadline: ContinuousClock.Instant) throws(PostgresFailure) {
        switch PollWait(descriptor: PQsocket(handle), stop: stop.descriptor).run(events: events, until: deadline) {
        case .ready: return
        case .stop:
            close()
            throw .stopped
        case .time:
            close()
            throw .late
        }
    }

    /// Closes the connection, and says why it is of no further use.
    private func broken() -> PostgresFailure {
        let text = address.redacted(String(cString: PQerrorMessage(handle)))
        close()
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? "the connection is closed"
        return .lost(line, state: Self.access(line))
    }

    /// The state of a failed login, which libpq has only as text.
    private static func access(_ text: String) -> String? {
        if text.contains("password authentication failed") || text.contains("no password supplied") { return "28P01" }
        if text.contains("no pg_hba.conf entry") || text.contains("authentication failed") { return "28000" }
        if text.contains("FATAL:  role ") || text.contains("FATAL:  database ") { return "28000" }
        return nil
    }
}

#endif
