internal import Dispatch
internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire
internal import Synchronization

/// Something that a task awaits once: it arrives, fails, or takes too long.
private final class Arrival<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var result: Result<Value, any Error>?
        var progress: UInt64 = 0
    }

    private let state = Mutex(State())

    func finish(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }

    /// Records how many rows have arrived. Rows that an earlier connection brought, and a new one brings again, are not
    /// progress.
    func noteProgress(_ progress: UInt64) { state.withLock { $0.progress = max($0.progress, progress) } }

    /// The highest number of rows that has arrived; nil once the wait is over.
    var progress: UInt64? { state.withLock { $0.result == nil ? $0.progress : nil } }

    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if state.result == nil { state.continuation = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }
}

extension StoreCore {
    /// Fails the arrival if there is no progress for `timeout`. The error says why, as far as it is known.
    private func limit<Value>(_ arrival: Arrival<Value>, to timeout: Duration?, _ what: String) {
        guard let timeout else { return }
        let environment = configuration.environment
        limit(arrival, to: timeout, what, by: environment.schedule)
        guard let patience = environment.patience else { return }
        limit(arrival, to: patience, what, by: StoreEnvironment.delayed, clockStandsStill: true)
    }

    private func limit<Value>(
        _ arrival: Arrival<Value>, to timeout: Duration, _ what: String,
        by schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
        clockStandsStill: Bool = false
    ) {
        guard let progress = arrival.progress else { return }
        schedule(timeout) { [weak self] in
            guard let now = arrival.progress else { return }
            guard now == progress else {
                self?.limit(arrival, to: timeout, what, by: schedule, clockStandsStill: clockStandsStill)
                return
            }
            let error =
                self?.timedOut(what, timeout, clockStandsStill: clockStandsStill)
                ?? SyncError(.timedOut, "\(what) within \(timeout)")
            arrival.finish(.failure(error))
        }
    }

    /// The error of a wait that took too long. It says why, as far as it is known.
    ///
    /// - Parameter clockStandsStill: whether the time was real, while the store's clock is another.
    func timedOut(_ what: String, _ timeout: Duration, clockStandsStill: Bool = false) -> SyncError {
        let obstacle = try? performAndWait(\.obstacle)
        let clock =
            clockStandsStill
            ? " of real time, and the clock of the test, which the time-out follows, has not ended it" : ""
        return SyncError(.timedOut, "\(what) within \(timeout)\(clock)" + (obstacle.map { ": \($0)" } ?? ""))
    }

    /// - Throws: ``SyncError/Code/noServer`` when the store has no server to wait for.
    private func requireServer() throws {
        try checkOpen()
        guard configuration.sync == nil else { return }
        throw SyncError(
            .noServer, "this store syncs with nothing; open it with a SyncConfiguration to wait for a server")
    }

    /// Waits until a query's subscription is complete and has caught up in an open session, runs `body` while the
    /// subscription is held, and then releases it.
    ///
    /// - Parameters:
    ///   - isLocal: whether the query is known to find only objects of a class that does not sync: then it is complete
    ///     at once, without a server.
    ///   - timeout: the longest wait without progress; nil waits without limit. New rows are progress; a new
    ///     connection, and rows that an earlier connection brought, are not.
    package func synced<Value: Sendable>(
        _ query: Query, isLocal: Bool = false, timeout: Duration?,
        progress: (@Sendable (SyncProgress) -> Void)? = nil, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let isLocal = isLocal || query.namesLocalClass(in: schema)
        if !isLocal { try requireServer() }
        let arrival = Arrival<Bool>()
        let gate = gates.makeGate()
        let progressCalls = HandlerSequence(.pool(handlers))
        let listener = progress.map { handler in
            let listener = EventListener<SyncProgress>.ofNewest
            listener.deliver(on: progressCalls, through: gate, handler)
            return listener
        }
        let (waiter, watch) = try await perform { engine -> (UInt64, UInt64?) in
            // What has ended syncing is why no answer will come, also where nobody has asked yet.
            if !isLocal, let failure = engine.syncFailure { throw failure }
            let waiter = try engine.awaitStatus(query, isLocal: isLocal) { [unowned engine] status in
                switch status.state {
                case .complete:
                    arrival.finish(.success(true))
                    return true
                case .error:
                    arrival.finish(.failure(status.error ?? SyncError(.server, "the server rejected the query")))
                    return true
                case .pending, .bootstrapping:
                    arrival.noteProgress(UInt64(engine.active[query: query.hash]?.arrivedCount ?? 0))
                    return false
                }
            }
            // From the beginning, so that no row is missed.
            return (waiter, listener.map { engine.progress.add(.download, .outstanding, query: query.hash, $0) })
        }
        defer {
            gate.close()
            performLater { engine in
                if let watch { engine.progress.remove(watch) }
                try? engine.releaseStatus(query, waiter: waiter)
            }
        }
        limit(arrival, to: timeout, "the server's answer did not come or go on")
        _ = try await arrival.value()
        try await handlersAreTold(of: query)
        if let listener {
            while listener.hasPending { await progressCalls.pass() }
            await progressCalls.pass()
        }
        return try body()
    }

    /// Waits until the handlers without a queue of their own that observe a query have handled an event that says that
    /// it is complete.
    private func handlersAreTold(of query: Query) async throws {
        let arrival = Arrival<Bool>()
        try await perform { engine in engine.whenHandledComplete(query) { arrival.finish(.success(true)) } }
        _ = try await arrival.value()
    }

    /// Whether the store has nothing to do, once it and the handlers on its own threads have finished what they had.
    ///
    /// - Parameter connecting: whether an attempt to connect counts as nothing to do.
    package func isQuiet(connecting: Bool) async -> Bool {
        await withCheckedContinuation { continuation in handlers.whenIdle { continuation.resume() } }
        let isQuiet = try? await perform { engine in
            !engine.hasBusyObservers && (connecting || !engine.isOpening)
        }
        return isQuiet ?? true
    }

    private typealias Registration =
        @Sendable (ClientEngine, @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64?

    private func wait(timeout: Duration?, _ what: String, _ register: @escaping Registration) async throws {
        try requireServer()
        let arrival = Arrival<Bool>()
        let waiter = try await perform { engine in
            register(engine) { [unowned engine] result in
                switch result {
                case .success(true): arrival.finish(.success(true))
                case .success(false):
                    arrival.noteProgress(engine.acknowledgedSequence)
                    return false
                case .failure(let error): arrival.finish(.failure(error))
                }
                return true
            }
        }
        defer { if let waiter { performLater { $0.waiters.cancel(waiter) } } }
        limit(arrival, to: timeout, what)
        _ = try await arrival.value()
    }

    func uploaded(timeout: Duration?) async throws {
        try await wait(timeout: timeout, "the server did not acknowledge more") { $0.whenUploaded($1) }
        // By the time that this returns, the handlers have been told of every write that was rejected meanwhile.
        await reports.pass()
    }

    func uploaded(_ receipt: WriteReceipt, timeout: Duration?) async throws {
        if case .unstored = receipt.fate {
            try checkOpen()
            throw StoreError(.outsideWrite, "the write that this receipt is of was not stored: its body has thrown")
        }
        do {
            try await wait(timeout: timeout, "the server did not acknowledge more") { $0.whenUploaded(receipt, $1) }
        } catch {
            // The handlers are told of a rejection first.
            if case .rejected = receipt.fate { await reports.pass() }
            throw error
        }
        await reports.pass()
    }

    func connected(timeout: Duration?) async throws {
        try await wait(timeout: timeout, "no session with the server came about") { $0.whenConnected($1) }
    }

    /// Asks the server for a report, as soon as a session is open.
    ///
    /// - Parameter timeout: the longest wait for the session and the answer together; nil waits without limit.
    package func report(_ topic: ReportTopic, timeout: Duration?) async throws -> String {
        try requireServer()
        let arrival = Arrival<String>()
        let waiter = try await perform { engine in
            engine.whenConnected { [unowned engine] result in
                switch result {
                case .success(true): engine.serverRequests.report(topic, reply: Self.reply(to: arrival))
                case .success(false): return false
                case .failure(let error): arrival.finish(.failure(error))
                }
                return true
            }
        }
        defer { if let waiter { performLater { $0.waiters.cancel(waiter) } } }
        limit(arrival, to: timeout, "the server did not answer")
        return try await arrival.value()
    }

    /// Asks what a job wants to know, as soon as a session is open.
    ///
    /// - Returns: the answer's bytes, and the server's schema that they belong to.
    func ask(_ question: ClientMessage.JobCall.Question) async throws -> (bytes: [UInt8], schema: Schema) {
        try requireServer()
        let arrival = Arrival<(bytes: [UInt8], schema: Schema)>()
        let waiter = try await perform { engine in
            engine.ask(question) { arrival.finish($0.mapError { $0 as any Error }) }
        }
        defer { if let waiter { performLater { $0.waiters.cancel(waiter) } } }
        return try await arrival.value()
    }

    /// Removes an empty class, or a property without values, from the server's schema.
    ///
    /// - Returns: the report on the remaining schema.
    package func removeFromSchema(class className: String, property: String?, timeout: Duration?) async throws -> String
    {
        try await answer(timeout: timeout) {
            $0.serverRequests.removal(ofClass: className, property: property, reply: $1)
        }
    }

    /// Asks the server what the user may do.
    func privileges(asking question: String, isLasting: Bool, timeout: Duration?) async throws -> String {
        try await answer(timeout: timeout) { $0.privileges.ask(question, isLasting: isLasting, reply: $1) }
    }

    /// Has the server store other rules, or say what they would change.
    ///
    /// - Returns: the report on what has changed.
    package func deploy(rules file: [UInt8], isTrial: Bool, timeout: Duration?) async throws -> String {
        try await answer(timeout: timeout) { $0.serverRequests.deployment(file, isTrial: isTrial, reply: $1) }
    }

    typealias Reply = (Result<[UInt8], SyncError>) -> Void

    func answer(
        timeout: Duration?, to request: @escaping @Sendable (ClientEngine, @escaping Reply) -> Void
    ) async throws -> String {
        try requireServer()
        let arrival = Arrival<String>()
        try await perform { engine in request(engine, Self.reply(to: arrival)) }
        limit(arrival, to: timeout, "the server did not answer")
        return try await arrival.value()
    }

    private static func reply(to arrival: Arrival<String>) -> Reply {
        { result in arrival.finish(result.map { String(decoding: $0, as: UTF8.self) }.mapError { $0 as any Error }) }
    }
}
