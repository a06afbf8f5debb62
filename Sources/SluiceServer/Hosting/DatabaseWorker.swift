internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// Runs one database: a mailbox, and a serial queue on which the engine is made and handles the events.
///
/// A turn handles the events in the mailbox, up to a bound, as one batch. So uploads that arrive while a transaction is
/// being synced to disk share the next transaction, and no backlog keeps others waiting.
final class DatabaseWorker: Sendable {
    /// The state that only code on the queue uses.
    private final class Confined: @unchecked Sendable {
        // Sound because every access goes through `queue`.
        var engine: DatabaseEngine?
        /// The version of the database up to which clients were told.
        var toldVersion: UInt64 = 0
        /// When the engine last handled an event.
        var usedAt = Timestamp(microseconds: 0)
        /// Why the last attempt to open the database failed. It is logged only when it changes.
        var openingFailure = ""
        /// Events that wait until other databases are closed, because file descriptors have run out.
        var postponed: [DatabaseEvent] = []
        /// When the oldest of them came.
        var postponedSince: Int64?
        /// What the databases have done that were open before.
        var past = DatabaseSample()
        var eventLag = DurationHistogram()
        /// Whether the queue will look for steps that wait to be stored.
        var wakesForSteps = false
        /// When the queue will look next whether time has changed results; nil if it will not.
        var wakesForTime: Timestamp?
    }

    /// Whether events are taken.
    private enum Phase {
        case open
        /// Work of this process may come at any time, so the worker stays.
        case kept
        /// Another worker takes what comes for the database.
        case retired
        case stopping
    }

    private struct Waiting {
        var mailbox = Mailbox()
        /// Whether the journal may have more. One note stands for all that came since the last turn.
        var journalHasGrown = false
        /// Messages that other servers of the cluster pass on.
        var relayed = RelayedMessages()
        var isScheduled = false
        var phase = Phase.open
        var isStopping: Bool { phase == .stopping }
        /// The connections of each user that are paused until the mailbox has room for the user.
        var heldBack: [Holder: [any MessageConnection]] = [:]

        /// Removes and returns the connections for which there is room again.
        mutating func takeReleased() -> [any MessageConnection] {
            guard !heldBack.isEmpty else { return [] }
            let released = heldBack.keys.filter { !mailbox.isFull(for: $0) }
            return released.flatMap { heldBack.removeValue(forKey: $0) ?? [] }
        }
    }

    let name: String
    /// What is known of the database without asking its queue.
    let health = HealthRecord()
    /// Wake jobs of this process.
    let bells = CommitBells()
    private let makeEngine: @Sendable (_ mayMake: Bool) throws -> DatabaseEngine
    /// Whether a session may make the database, if there is none of the name.
    private let mayMake: @Sendable (ClientMessage.Open, User) -> Bool
    private let confined = Confined()
    private let queue: DispatchQueue
    /// The queue for costly queries, beside ``queue``.
    private let aside: DispatchQueue
    /// The queue for pages and digests that are read beside ``queue``, several at a time.
    private let readers: DispatchQueue
    private let waiting = Mutex(Waiting())
    private let lastSample = Mutex(DatabaseSample())
    private let now: @Sendable () -> Timestamp
    private let uptime: @Sendable () -> Int64
    private let log: LogSink?
    private let metrics: (any ServerMetrics)?
    private let makeRoom: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let act: @Sendable ([DatabaseAction], DatabaseMoment) -> Void
    private let relay: @Sendable ([[UInt8]]) -> Void
    private let audit: @Sendable ([AuditNote]) -> Void
    private let schedule: Schedule
    private let isOnQueue = DispatchSpecificKey<Bool>()

    /// - Parameters:
    ///   - mayMake: whether a session may make the database, if there is none of the name.
    ///   - makeEngine: opens the database, or makes it if it may. It is called on the queue with the first session or work
    ///     of this process, and again with the next after it failed or the database was closed.
    ///   - uptime: a monotonic clock, in nanoseconds.
    ///   - makeRoom: closes other databases without sessions, and then calls back.
    ///   - schedule: calls back after a time.
    ///   - relay: tells the other servers of the cluster what clients have sent.
    ///   - audit: takes what is for the audit log, before the actions that belong to it.
    ///   - carryOut: called on the database's queue with the actions to carry out, and when the turn began.
    init(
        _ name: String, now: @escaping @Sendable () -> Timestamp, log: LogSink?, metrics: (any ServerMetrics)? = nil,
        schedule: @escaping Schedule = scheduleInTime,
        uptime: @escaping @Sendable () -> Int64 = { MonotonicClock.now },
        mayMake: @escaping @Sendable (ClientMessage.Open, User) -> Bool = { _, _ in true },
        makeEngine: @escaping @Sendable (_ mayMake: Bool) throws -> DatabaseEngine,
        makeRoom: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        relay: @escaping @Sendable ([[UInt8]]) -> Void = { _ in },
        audit: @escaping @Sendable ([AuditNote]) -> Void = { _ in },
        carryOut: @escaping @Sendable ([DatabaseAction], DatabaseMoment) -> Void
    ) {
        self.name = name
        self.makeEngine = makeEngine
        self.mayMake = mayMake
        queue = DispatchQueue(label: "sluice.database.\(name)")
        aside = DispatchQueue(label: "sluice.queries.\(name)", qos: .utility)
        readers = DispatchQueue(label: "sluice.pages.\(name)", qos: .utility, attributes: .concurrent)
        self.now = now
        self.uptime = uptime
        self.log = log
        self.metrics = metrics
        self.schedule = schedule
        self.makeRoom = makeRoom
        self.relay = relay
        self.audit = audit
        act = carryOut
        queue.setSpecific(key: isOnQueue, value: true)
    }

    /// Adds an event. Any thread may call it; it returns at once.
    ///
    /// - Parameters:
    ///   - byteCount: the approximate memory that the event takes.
    ///   - holder: whose event it is; nil for the server's own.
    ///   - connection: the connection that sent the event; it is paused while the mailbox is full for the holder.
    /// - Returns: false if the worker has retired, and another one must take the event.
    @discardableResult
    func post(
        _ event: DatabaseEvent, byteCount: Int = 0, of holder: Holder? = nil,
        from connection: (any MessageConnection)? = nil
    ) -> Bool {
        let time = uptime()
        let mustSchedule = waiting.withLock { waiting -> Bool? in
            switch waiting.phase {
            case .open, .kept: break
            case .retired: return nil
            // The clients keep what is not acknowledged, and send it again.
            case .stopping: return false
            }
            waiting.mailbox.add(event, byteCount: byteCount, of: holder, at: time)
            if let holder, let connection, waiting.mailbox.isFull(for: holder) {
                connection.pauseReceiving()
                waiting.heldBack[holder, default: []].append(connection)
            }
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        guard let mustSchedule else { return false }
        if mustSchedule { queue.async { self.drain() } }
        return true
    }

    /// Makes the database follow its journal, which may have grown, if it is open. Any thread may call it; it returns at
    /// once.
    func journalGrew() {
        waiting.withLock { $0.journalHasGrown = true }
        health.noteBehind(at: uptime())
        wake()
    }

    /// Passes messages of other servers' clients on to those that listen here, if the database is open. Any thread may
    /// call it; it returns at once. What comes faster than it can be passed on is lost.
    func hear(_ messages: [[UInt8]]) {
        waiting.withLock { $0.relayed.add(messages) }
        wake()
    }

    /// Whether another worker takes what comes for the database.
    var isRetired: Bool { waiting.withLock { $0.phase == .retired } }

    /// Keeps the worker for work of this process.
    ///
    /// - Returns: false if it has retired.
    func keep() -> Bool {
        waiting.withLock { waiting in
            if waiting.phase == .open { waiting.phase = .kept }
            return waiting.phase != .retired
        }
    }

    private func drain() {
        let (taken, since, heldBack, hasGrown, relayed) = waiting.withLock {
            waiting -> ([DatabaseEvent], Int64?, [any MessageConnection], Bool, [[UInt8]]) in
            let events = waiting.mailbox.takeTurn()
            defer { waiting.journalHasGrown = false }
            return (
                events, waiting.mailbox.oldestTaken, waiting.takeReleased(), waiting.journalHasGrown,
                waiting.relayed.take()
            )
        }
        for connection in heldBack { connection.resumeReceiving() }
        let events = confined.postponed + taken
        let oldest = [confined.postponedSince, since].compactMap(\.self).min()
        confined.postponedSince = nil
        guard openEngine(toHandle: events) else {
            confined.postponedSince = oldest
            return noteHealth()
        }
        let engine = confined.engine
        if let engine {
            // Before the uploads, which are then merged once.
            if hasGrown { carryOut(engine.handle([.journalGrew], now: now())) }
            if !relayed.isEmpty { carryOut(engine.handle([.relayed(relayed)], now: now())) }
            if !events.isEmpty {
                confined.usedAt = now()
                let start = uptime()
                let groupCount = engine.groupCount
                let actions = engine.handle(events, now: now())
                audit(of: engine)
                carryOut(actions)
                let end = uptime()
                if engine.groupCount != groupCount { confined.eventLag.note(end - (oldest ?? start)) }
                metrics?.databaseTurn(eventCount: events.count, of: name, took: .nanoseconds(end - start))
                let messages = engine.takeMessages()
                if !messages.isEmpty { relay(messages) }
            }
            if engine.hasWork { carryOut(engine.step(now: now())) }
            run(engine.takePreparation(), on: aside)
            carryOut(engine.checkSessions(now: now()))
            while let reading = engine.takeReading() { run(reading, on: readers) }
            engine.performMaintenance(now: now())
            audit(of: engine)
        }
        askJournalAgain()
        dropVanished()
        noteHealth()
        let goesOn = waiting.withLock { waiting in
            guard !waiting.isStopping else { return false }
            waiting.isScheduled =
                !waiting.mailbox.isEmpty || waiting.journalHasGrown || !waiting.relayed.isEmpty
                || confined.engine.map { $0.hasWork || $0.isJudgingCached } ?? false
            return waiting.isScheduled
        }
        if goesOn { queue.async { self.drain() } }
        wakeForSteps()
        wakeForTime()
    }

    /// Has done what a turn wants done.
    private func carryOut(_ actions: [DatabaseAction]) {
        let moment = DatabaseMoment(database: name, version: confined.toldVersion)
        if let engine = confined.engine { confined.toldVersion = engine.version }
        if !actions.isEmpty { act(actions, moment) }
    }

    private func audit(of engine: DatabaseEngine) {
        let notes = engine.takeAuditNotes()
        if !notes.isEmpty { audit(notes) }
    }

    /// Notes how the database is, for those who must not wait for the queue.
    private func noteHealth() {
        let state: HealthRecord.State
        if let engine = confined.engine {
            var health = engine.health
            bells.ring(at: .init(position: health.position, rights: health.rightsNumber))
            health.isBehind = health.isBehind || waiting.withLock(\.journalHasGrown)
            state = .open(health)
        } else {
            state = confined.openingFailure.isEmpty ? .closed : .failed
        }
        health.note(state, at: uptime())
    }

    /// Has a journal asked again that does not answer, beside the queue.
    private func askJournalAgain() {
        guard let retry = confined.engine?.takeRetry() else { return }
        let ask: @Sendable () -> Void = { [weak self, aside] in
            aside.async { [weak self] in
                retry.run()
                self?.post(.journalAsked(retry))
            }
        }
        if retry.delay > .zero { schedule(retry.delay, ask) } else { ask() }
    }

    /// Sees to it that steps are stored for which no client waits, even if nothing happens any more.
    private func wakeForSteps() {
        guard !confined.wakesForSteps, confined.engine?.isHoldingSteps == true else { return }
        confined.wakesForSteps = true
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            guard let self else { return }
            confined.wakesForSteps = false
            wake()
        }
    }

    /// Sees to it that time moves when it changes the results of a query, even if nothing else happens.
    private func wakeForTime() {
        guard let next = confined.engine?.nextTick, confined.wakesForTime.map({ next < $0 }) ?? true else { return }
        confined.wakesForTime = next
        call(at: next) { [weak self] in
            guard let self else { return }
            queue.async { [self] in
                if confined.wakesForTime == next { confined.wakesForTime = nil }
                wake()
            }
        }
    }

    private func run(_ preparation: QueryPreparation?, on queue: DispatchQueue) {
        guard let preparation else { return }
        queue.async {
            preparation.run()
            self.post(.prepared(preparation))
        }
    }

    /// Makes the queue check that the database's file is still where it was opened. Any thread may call it; it returns
    /// at once.
    func checkFile() {
        queue.async { [self] in
            guard let engine = confined.engine else { return }
            carryOut(engine.checkFile())
            dropVanished()
            noteHealth()
        }
    }

    /// Closes the database if its file has vanished. The next session opens the file that is there then.
    private func dropVanished() {
        guard let engine = confined.engine, engine.mustReopen else { return }
        engine.close()
        forgetEngine()
    }

    /// Lets go of a database that is closed, and keeps what it has done.
    private func forgetEngine() {
        if let engine = confined.engine { confined.past.statistics += engine.statistics }
        confined.engine = nil
    }

    // MARK: What it is and has done

    /// What waits for the database.
    var waitingCounts: (events: Int, bytes: Int) {
        waiting.withLock { ($0.mailbox.eventCount, $0.mailbox.byteCount) }
    }

    /// Asks the queue what the database is and has done.
    ///
    /// - Parameter completion: called on the queue.
    func sample(_ completion: @escaping @Sendable (DatabaseSample) -> Void) {
        queue.async { [self] in
            let sample = sampleNow()
            lastSample.withLock { $0 = sample }
            completion(sample)
        }
    }

    /// Asks about the database between its turns.
    ///
    /// - Parameter completion: called on the queue; with nil if it is not open, or cannot answer.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (DatabaseEngine) throws -> Answer,
        then completion: @escaping @Sendable (Answer?) -> Void
    ) {
        queue.async { [self] in completion(try? confined.engine.map(question)) }
    }

    /// What the queue said when it was last asked.
    var latestSample: DatabaseSample { lastSample.withLock { $0 } }

    /// The same, on the queue.
    private func sampleNow() -> DatabaseSample {
        var sample = confined.engine.map { DatabaseSample($0) } ?? DatabaseSample()
        sample += confined.past
        sample.eventLag += confined.eventLag
        return sample
    }

    /// Opens the database if a session asks for it. If that fails, the sessions are told why.
    ///
    /// - Returns: false if file descriptors have run out; then the events are postponed until there is room.
    private func openEngine(toHandle events: [DatabaseEvent]) -> Bool {
        let hasMadeRoom = !confined.postponed.isEmpty
        confined.postponed = []
        if confined.engine != nil { return true }
        var sessions: [(id: SessionID, takesExistingOnly: Bool)] = []
        var isMade = false
        for case .open(let id, let request, let user, _) in events {
            sessions.append((id, request.options.contains(.existing)))
            isMade = isMade || mayMake(request, user)
        }
        guard !sessions.isEmpty else { return true }
        do {
            _ = try openedEngine(mayMake: isMade)
        } catch {
            noteFailure(ofOpening: error)
            if !hasMadeRoom, (error as? StorageError)?.code == .tooManyFiles {
                confined.postponed = events
                makeRoom { [weak self] in
                    guard let self else { return }
                    queue.async { self.drain() }
                }
                return false
            }
            carryOut(
                sessions.flatMap { session in
                    let (code, action, message) = Consequence.ofOpening(
                        name, error, takesExistingOnly: session.takesExistingOnly)
                    return Self.failure(of: session.id, code, message, action)
                })
        }
        return true
    }

    private func noteFailure(ofOpening error: any Error) {
        // Anybody may ask for a database that is not there.
        guard (error as? StorageError)?.code != .notFound else { return }
        let isNew = confined.openingFailure != "\(error)"
        confined.openingFailure = "\(error)"
        log?(
            isNew ? .error : .debug, "a database could not be opened", [("database", name), ("error", "\(error)")])
    }

    /// The engine, which is made if the database is not open.
    private func openedEngine(mayMake: Bool) throws -> DatabaseEngine {
        if let engine = confined.engine { return engine }
        let engine = try makeEngine(mayMake)
        engine.isAbandoned = { [weak self] in self?.isAbandoned($0) ?? true }
        engine.onTooManyFiles = { [weak self] in self?.makeRoom {} }
        confined.engine = engine
        confined.toldVersion = engine.version
        confined.openingFailure = ""
        // Before the first session is told that the database is open.
        noteHealth()
        return engine
    }

    // MARK: Work of this process

    /// Runs work of this process on the queue, between the turns for clients.
    ///
    /// - Throws: ``ServerError`` when the server was stopped or the database cannot be opened; what `body` throws.
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable (DatabaseEngine, Timestamp) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in continuation.resume(with: Swift.Result { try run(body) }) }
        }
    }

    /// Does the same and waits for it; a call from the queue runs at once.
    func performAndWait<Result>(_ body: (DatabaseEngine, Timestamp) throws -> Result) throws -> Result {
        if DispatchQueue.getSpecific(key: isOnQueue) == true { return try run(body) }
        return try queue.sync { try run(body) }
    }

    /// Runs work of this process on the queue, later; nothing happens if the database is not open.
    func performLater(_ body: @escaping @Sendable (DatabaseEngine) -> Void) {
        queue.async { [self] in
            guard !waiting.withLock(\.isStopping), let engine = confined.engine else { return }
            body(engine)
            finish(engine)
        }
    }

    /// Calls back at a time of the wall clock, at once if that is over; perhaps twice.
    func call(at time: Timestamp, _ body: @escaping @Sendable () -> Void) {
        let wait = time.microseconds - now().microseconds
        if wait > 0 { schedule(.microseconds(wait), body) }
        // The clock may have moved before it was asked to call.
        if now() >= time { body() }
    }

    /// The wall clock.
    var time: Timestamp { now() }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        log?(level, message, [("database", name)] + details)
    }

    /// Runs work of this process that needs no engine, beside the queue.
    func performBeside(_ body: @escaping @Sendable () -> Void) { readers.async(execute: body) }

    private func run<Result>(_ body: (DatabaseEngine, Timestamp) throws -> Result) throws -> Result {
        guard !waiting.withLock(\.isStopping) else { throw ServerError(.stopped, "the server was stopped") }
        let engine: DatabaseEngine
        do { engine = try openedEngine(mayMake: true) } catch {
            let message = Consequence.sentence("the database '\(name)' could not be opened", of: name, because: error)
            throw ServerError(.database, message, cause: error)
        }
        confined.usedAt = now()
        defer { finish(engine) }
        return try body(engine, confined.usedAt)
    }

    /// Carries out what work of this process has left to be done.
    private func finish(_ engine: DatabaseEngine) {
        audit(of: engine)
        carryOut(engine.settle())
        askJournalAgain()
        dropVanished()
        noteHealth()
        wakeForTime()
        if confined.engine?.hasWork == true { wake() }
    }

    /// Lets the engine do its maintenance and whatever is due by the clock, even if no event arrives.
    func wake() {
        let mustSchedule = waiting.withLock { waiting in
            guard !waiting.isStopping, !waiting.isScheduled else { return false }
            waiting.isScheduled = true
            return true
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Closes the database if it has no sessions and has not been used since `time`. The next session opens it again. The
    /// two cannot interfere, since both happen on the queue. Then nothing is left of it, whether there is a file or not.
    ///
    /// - Parameters:
    ///   - hasFiles: whether databases are in files. One in memory that has something is not closed.
    ///   - completion: called on the queue; if the worker has retired, with what it has done.
    func closeIfIdle(
        unusedSince time: Timestamp, hasFiles: Bool,
        then completion: @escaping @Sendable (_ retired: DatabaseSample?) -> Void
    ) {
        queue.async { [self] in
            if let engine = confined.engine {
                // Who waits for commits needs somebody to follow the journal.
                guard engine.isIdle, bells.isEmpty, confined.usedAt <= time, hasFiles || engine.isEmpty else {
                    return completion(nil)
                }
                engine.close(now: now())
                forgetEngine()
                noteHealth()
                log?(.info, "a database that nobody uses was closed", [("database", name)])
            }
            completion(retire() ? sampleNow() : nil)
        }
    }

    /// Ends the sessions of the database, and closes it. The next session opens it again.
    ///
    /// - Parameters:
    ///   - asker: who wants it, as the audit log names somebody; nil if that is not known.
    ///   - isForced: whether it is closed also if it has sessions or observers.
    ///   - completion: called on the queue with whether it is closed and, if the worker has retired, what it has done.
    func shut(
        because reason: SessionEnd, by asker: String?, isForced: Bool,
        then completion: @escaping @Sendable (_ isShut: Bool, _ retired: DatabaseSample?) -> Void
    ) {
        queue.async { [self] in
            if let engine = confined.engine {
                guard isForced || engine.isIdle else { return completion(false, nil) }
                let actions = engine.endSessions(because: reason, by: asker)
                audit(of: engine)
                carryOut(actions)
                engine.close(now: now())
                forgetEngine()
                noteHealth()
            }
            completion(true, retire() ? sampleNow() : nil)
        }
    }

    private func retire() -> Bool {
        // A failure that is known is not logged again.
        guard confined.postponed.isEmpty, confined.openingFailure.isEmpty else { return false }
        return waiting.withLock { waiting in
            guard waiting.phase == .open, waiting.mailbox.isEmpty else { return false }
            waiting.phase = .retired
            return true
        }
    }

    /// Whether the database's file is open. It waits for the work of the queue.
    var isOpen: Bool { queue.sync { confined.engine != nil } }

    /// Calls `completion` once what has begun is done, with whether nothing is left to do. No thread waits for it.
    func settle(_ completion: @escaping @Sendable (Bool) -> Void) {
        queue.async { [self] in
            aside.async { [self] in
                readers.async(flags: .barrier) { [self] in
                    queue.async { [self] in
                        completion(waiting.withLock { $0.isStopping || !$0.isScheduled && $0.mailbox.isEmpty })
                    }
                }
            }
        }
    }

    /// Whether the work for a session is useless, because the session was closed meanwhile or the server stops.
    private func isAbandoned(_ id: SessionID?) -> Bool {
        waiting.withLock { waiting in waiting.isStopping || id.map(waiting.mailbox.closes) ?? false }
    }

    private static func failure(
        of id: SessionID, _ code: ErrorCode, _ message: String, _ action: ErrorAction
    ) -> [DatabaseAction] {
        let failure = ServerMessage.Failure(
            session: id.session, code: code, message: message, action: action,
            retryAfter: code == .unknownDatabase && action == .retry ? 5_000 : 0)
        return [.send(Frame.encode(ServerMessage.error(failure)), to: id.connection), .end(id, reason: message)]
    }

    /// Finishes the turn that is running, and closes the database's file. A costly query that is running is aborted,
    /// and waiting events are dropped: none of them is acknowledged, so the clients keep them.
    ///
    /// - Parameter isKilled: whether to leave what waits unstored, as a process that is killed.
    func stop(isKilled: Bool) {
        waiting.withLock { waiting in
            waiting.phase = .stopping
            waiting.isScheduled = true
            waiting.mailbox = Mailbox()
        }
        queue.sync {
            aside.sync {}
            readers.sync(flags: .barrier) {}
            confined.engine?.endObservations(ServerError(.stopped, "the server was stopped"))
            if isKilled { confined.engine?.abandon() } else { confined.engine?.close(now: now()) }
            forgetEngine()
            noteHealth()
            bells.ringAnyway()
        }
    }
}
