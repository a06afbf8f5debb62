internal import Dispatch
internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// Runs one database: a mailbox, and a serial queue on which the engine is made and handles the events. A turn handles the
/// events in the mailbox, up to a bound, as one batch. So uploads that arrive while a transaction is being synced to disk
/// share the next transaction, and no backlog keeps others waiting. What the engine wants sent is sent in order before the
/// next turn. Readings and preparations run beside the queue, and come back as events.
final class DatabaseWorker: Sendable {
    let name: String
    /// What is known of the database without asking its queue.
    let health = HealthRecord()
    /// Wake jobs of this process.
    let bells = CommitBells()
    /// What only code on the queue uses.
    private let hosted: HostedDatabase
    private let queues: DatabaseQueues
    private var queue: DispatchQueue { queues.main }
    private let intake = Mutex(DatabaseIntake())
    private let lastSample = Mutex(DatabaseSample())
    let clock: ServerClock
    let log: LogSink?
    private let metrics: (any ServerMetrics)?
    private let makeRoom: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let act: @Sendable ([DatabaseAction], DatabaseMoment) -> Void
    private let relay: @Sendable ([[UInt8]]) -> Void
    private let audit: @Sendable ([AuditNote]) -> Void

    /// - Parameters:
    ///   - mayMake: whether a session may make the database, if there is none of the name.
    ///   - makeEngine: opens the database, or makes it if it may. It is called on the queue with the first session or work
    ///     of this process, and again with the next after it failed or the database was closed.
    ///   - makeRoom: closes other databases without sessions, and then calls back.
    ///   - relay: tells the other servers of the cluster what clients have sent.
    ///   - audit: takes what is for the audit log, before the actions that belong to it.
    ///   - carryOut: called on the database's queue with the actions to carry out, and when the turn began.
    init(
        _ name: String, clock: ServerClock, log: LogSink?, metrics: (any ServerMetrics)? = nil,
        mayMake: @escaping @Sendable (ClientMessage.Open, User) -> Bool = { _, _ in true },
        makeEngine: @escaping @Sendable (_ mayMake: Bool) throws -> DatabaseEngine,
        makeRoom: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        relay: @escaping @Sendable ([[UInt8]]) -> Void = { _ in },
        audit: @escaping @Sendable ([AuditNote]) -> Void = { _ in },
        carryOut: @escaping @Sendable ([DatabaseAction], DatabaseMoment) -> Void
    ) {
        self.name = name
        hosted = HostedDatabase(name, log: log, mayMake: mayMake, makeEngine: makeEngine)
        queues = DatabaseQueues(ofDatabase: name)
        self.clock = clock
        self.log = log
        self.metrics = metrics
        self.makeRoom = makeRoom
        self.relay = relay
        self.audit = audit
        act = carryOut
        hosted.onOpen = { [weak self] in self?.prepare($0) }
    }

    /// Prepares an engine that was just made, before the first session is told that the database is open.
    private func prepare(_ engine: DatabaseEngine) {
        engine.isAbandoned = { [weak self] id in self?.intake.withLock { $0.abandons(id) } ?? true }
        engine.database.onTooManyFiles = { [weak self] in self?.makeRoom {} }
        noteHealth()
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
        let time = clock.uptime()
        let posting = intake.withLock {
            $0.post(event, byteCount: byteCount, of: holder, from: connection, at: time)
        }
        switch posting {
        case .waits(let mustSchedule):
            if mustSchedule { scheduleTurn() }
            return true
        case .dropped: return true
        case .refused: return false
        }
    }

    /// Makes the database follow its journal, which may have grown, if it is open. Any thread may call it; it returns at
    /// once.
    func journalGrew() {
        intake.withLock { $0.noteJournalGrowth() }
        health.noteBehind(at: clock.uptime())
        wake()
    }

    /// Passes messages of other servers' clients on to those that listen here, if the database is open. Any thread may
    /// call it; it returns at once. What comes faster than it can be passed on is lost.
    func deliver(_ messages: [[UInt8]]) {
        intake.withLock { $0.add(messages) }
        wake()
    }

    /// Whether another worker takes what comes for the database.
    var isRetired: Bool { intake.withLock { $0.phase == .retired } }

    /// Keeps the worker for work of this process.
    ///
    /// - Returns: false if it has retired.
    func keep() -> Bool { intake.withLock { $0.keep() } }

    private func drain() {
        let turn = intake.withLock { $0.takeTurn() }
        for connection in turn.released { connection.resumeReceiving() }
        let opening = hosted.open(for: turn.events, since: turn.since)
        guard case .ready(let events, let oldest, let refusals) = opening else {
            makeRoom { [weak self] in self?.scheduleTurn() }
            return noteHealth()
        }
        carryOut(refusals)
        let engine = hosted.engine
        if let engine {
            // Before the uploads, which are then merged once.
            if turn.journalHasGrown { carryOut(engine.handle([.journalGrew], now: clock.now())) }
            if !turn.relayed.isEmpty { carryOut(engine.handle([.relayed(turn.relayed)], now: clock.now())) }
            if !events.isEmpty {
                hosted.usedAt = clock.now()
                let start = clock.uptime()
                let groupCount = engine.committer.counts.groupCount
                let actions = engine.handle(events, now: clock.now())
                audit(of: engine)
                carryOut(actions)
                let end = clock.uptime()
                if engine.committer.counts.groupCount != groupCount { hosted.noteLag(end - (oldest ?? start)) }
                metrics?.databaseTurn(eventCount: events.count, of: name, took: .nanoseconds(end - start))
                let messages = engine.takeMessages()
                if !messages.isEmpty { relay(messages) }
            }
            if engine.hasWork { carryOut(engine.step(now: clock.now())) }
            run(engine.takePreparation(), on: queues.aside)
            engine.performMaintenance(now: clock.now())
            // The last of the turn that may commit, as its sessions have to be told what the others found.
            carryOut(engine.checkSessions(now: clock.now()))
            while let reading = engine.takeReading() { run(reading, on: queues.readers) }
            audit(of: engine)
        }
        askJournalAgain()
        hosted.dropIfVanished()
        noteHealth()
        let hasWork = hosted.engine.map { $0.hasWork || $0.isJudgingCached } ?? false
        let goesOn = intake.withLock { $0.endTurn(hasWork: hasWork) }
        if goesOn { scheduleTurn() }
        wakeForSteps()
        wakeForTime()
    }

    /// Has done what a turn wants done.
    private func carryOut(_ actions: [DatabaseAction]) {
        let moment = hosted.takeMoment()
        if !actions.isEmpty { act(actions, moment) }
    }

    private func audit(of engine: DatabaseEngine) {
        let notes = engine.takeAuditNotes()
        if !notes.isEmpty { audit(notes) }
    }

    /// Notes how the database is, for those who must not wait for the queue.
    private func noteHealth() {
        let state: HealthRecord.State
        if let engine = hosted.engine {
            var health = engine.health
            bells.ring(at: .init(position: health.position, rights: health.rightsNumber))
            health.isBehind = health.isBehind || intake.withLock(\.journalHasGrown)
            state = .open(health)
        } else {
            state = hosted.failure.isEmpty ? .closed : .failed
        }
        health.note(state, at: clock.uptime())
    }

    /// Has a journal asked again that does not answer, beside the queue.
    private func askJournalAgain() {
        guard let retry = hosted.engine?.takeRetry() else { return }
        let ask: @Sendable () -> Void = { [weak self, queues] in
            queues.aside.async { [weak self] in
                retry.run()
                self?.post(.journalAsked(retry))
            }
        }
        if retry.delay > .zero { clock.schedule(retry.delay, ask) } else { ask() }
    }

    /// Sees to it that steps are stored for which no client waits, even if nothing happens any more.
    private func wakeForSteps() {
        guard hosted.beginWaitForSteps() else { return }
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            guard let self else { return }
            hosted.endWaitForSteps()
            wake()
        }
    }

    /// Sees to it that time moves when it changes the results of a query, even if nothing else happens.
    private func wakeForTime() {
        guard let next = hosted.beginWaitForTime() else { return }
        clock.call(at: next) { [weak self] in
            guard let self else { return }
            queue.async { [self] in
                hosted.endWaitForTime(next)
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
            guard let engine = hosted.engine else { return }
            carryOut(engine.checkFile())
            hosted.dropIfVanished()
            noteHealth()
        }
    }

    // MARK: What it is and has done

    /// What waits for the database.
    var waitingCounts: (events: Int, bytes: Int) { intake.withLock(\.counts) }

    /// Asks the queue what the database is and has done.
    ///
    /// - Parameter completion: called on the queue.
    func sample(_ completion: @escaping @Sendable (DatabaseSample) -> Void) {
        queue.async { [self] in
            let sample = hosted.sample
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
        queue.async { [self] in completion(try? hosted.engine.map(question)) }
    }

    /// What the queue said when it was last asked.
    var latestSample: DatabaseSample { lastSample.withLock { $0 } }

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
        try queues.performAndWait { try run(body) }
    }

    /// Runs work of this process on the queue, later; nothing happens if the database is not open.
    func performLater(_ body: @escaping @Sendable (DatabaseEngine) -> Void) {
        queue.async { [self] in
            guard !intake.withLock(\.isStopping), let engine = hosted.engine else { return }
            body(engine)
            finish(engine)
        }
    }

    /// Runs work of this process that needs no engine, beside the queue.
    func performBeside(_ body: @escaping @Sendable () -> Void) { queues.readers.async(execute: body) }

    private func run<Result>(_ body: (DatabaseEngine, Timestamp) throws -> Result) throws -> Result {
        guard !intake.withLock(\.isStopping) else { throw ServerError(.stopped, "the server was stopped") }
        let engine: DatabaseEngine
        do { engine = try hosted.opened(mayMake: true) } catch {
            let message = Consequence.sentence("the database '\(name)' could not be opened", of: name, because: error)
            throw ServerError(.database, message, cause: error)
        }
        hosted.usedAt = clock.now()
        defer { finish(engine) }
        return try body(engine, hosted.usedAt)
    }

    /// Carries out what work of this process has left to be done.
    private func finish(_ engine: DatabaseEngine) {
        audit(of: engine)
        carryOut(engine.finishOwnWork())
        askJournalAgain()
        hosted.dropIfVanished()
        noteHealth()
        wakeForTime()
        if hosted.engine?.hasWork == true { wake() }
    }

    /// Lets the engine do its maintenance and whatever is due by the clock, even if no event arrives.
    func wake() {
        let mustSchedule = intake.withLock { $0.schedule() }
        if mustSchedule { scheduleTurn() }
    }

    private func scheduleTurn() { queue.async { self.drain() } }

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
            if let engine = hosted.engine {
                // Who waits for commits needs somebody to follow the journal.
                guard engine.isIdle, bells.isEmpty, hosted.usedAt <= time, hasFiles || engine.isEmpty else {
                    return completion(nil)
                }
                hosted.close(now: clock.now())
                noteHealth()
                log?(.info, "a database that nobody uses was closed", [("database", name)])
            }
            completion(retire() ? hosted.sample : nil)
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
            if let engine = hosted.engine {
                guard isForced || engine.isIdle else { return completion(false, nil) }
                let actions = engine.endSessions(because: reason, by: asker)
                audit(of: engine)
                carryOut(actions)
                hosted.close(now: clock.now())
                noteHealth()
            }
            completion(true, retire() ? hosted.sample : nil)
        }
    }

    private func retire() -> Bool { hosted.isForgettable && intake.withLock { $0.retire() } }

    /// Whether the database's file is open. It waits for the work of the queue.
    var isOpen: Bool { queue.sync { hosted.engine != nil } }

    /// Calls `completion` once what has begun is done, with whether nothing is left to do. No thread waits for it.
    func whenIdle(_ completion: @escaping @Sendable (Bool) -> Void) {
        queues.whenDone { [self] in completion(intake.withLock(\.isIdle)) }
    }

    /// Finishes the turn that is running, and closes the database's file. A costly query that is running is aborted,
    /// and waiting events are dropped: none of them is acknowledged, so the clients keep them.
    ///
    /// - Parameter isKilled: whether to leave what waits unstored, as a process that is killed.
    func stop(isKilled: Bool) {
        intake.withLock { $0.stop() }
        queue.sync {
            queues.finishReading()
            hosted.engine?.endObservations(ServerError(.stopped, "the server was stopped"))
            if isKilled { hosted.abandon() } else { hosted.close(now: clock.now()) }
            noteHealth()
            bells.ringAnyway()
        }
    }
}
