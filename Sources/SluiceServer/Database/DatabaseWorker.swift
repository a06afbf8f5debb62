internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// The shell around one database: a mailbox, and a serial queue on which the engine is made and handles whatever has come.
///
/// A turn handles what waits in the mailbox up to a bound, as one batch: uploads that arrive while a transaction is being
/// synced to disk share the next one, and no backlog keeps others waiting.
final class DatabaseWorker: Sendable {
    /// Touched on the queue only.
    private final class Confined: @unchecked Sendable {
        // Sound because every access goes through `queue`.
        var engine: DatabaseEngine?
        /// When something was last asked of the engine.
        var usedAt = Timestamp(microseconds: 0)
        /// What has to wait until other databases are closed, since descriptors have run out.
        var postponed: [DatabaseEvent] = []
    }

    private struct Waiting {
        var mailbox = Mailbox()
        var isScheduled = false
        var isStopping = false
        /// Connections that are held back until the mailbox has been emptied.
        var heldBack: [any MessageConnection] = []
    }

    let name: String
    private let makeEngine: @Sendable () throws -> DatabaseEngine
    private let confined = Confined()
    private let queue: DispatchQueue
    /// Where costly queries run, beside ``queue``.
    private let aside: DispatchQueue
    private let waiting = Mutex(Waiting())
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?
    private let makeRoom: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let carryOut: @Sendable ([DatabaseAction]) -> Void

    /// - Parameters:
    ///   - makeEngine: opens the database; called on its queue with the first session, and again with the next one after
    ///     it failed or was closed.
    ///   - makeRoom: closes other databases that nobody uses, and calls back.
    ///   - carryOut: called on the database's queue with what is to be sent.
    init(
        _ name: String, now: @escaping @Sendable () -> Timestamp, log: LogSink?,
        makeEngine: @escaping @Sendable () throws -> DatabaseEngine,
        makeRoom: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        carryOut: @escaping @Sendable ([DatabaseAction]) -> Void
    ) {
        self.name = name
        self.makeEngine = makeEngine
        queue = DispatchQueue(label: "sluice.database.\(name)")
        aside = DispatchQueue(label: "sluice.queries.\(name)", qos: .utility)
        self.now = now
        self.log = log
        self.makeRoom = makeRoom
        self.carryOut = carryOut
    }

    /// Adds an event. From any thread; returns at once.
    ///
    /// - Parameters:
    ///   - byteCount: the memory that the event takes, about.
    ///   - connection: where it came from; is held back while the database cannot keep up.
    func post(_ event: DatabaseEvent, byteCount: Int = 0, from connection: (any MessageConnection)? = nil) {
        let mustSchedule = waiting.withLock { waiting in
            // What is not acknowledged will be sent again.
            guard !waiting.isStopping else { return false }
            waiting.mailbox.add(event, byteCount: byteCount)
            if waiting.mailbox.isFull, let connection {
                connection.pauseReceiving()
                waiting.heldBack.append(connection)
            }
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    private func drain() {
        let (taken, heldBack) = waiting.withLock { waiting -> ([DatabaseEvent], [any MessageConnection]) in
            let events = waiting.mailbox.takeTurn()
            guard !waiting.mailbox.isFull else { return (events, []) }
            defer { waiting.heldBack = [] }
            return (events, waiting.heldBack)
        }
        for connection in heldBack { connection.resumeReceiving() }
        let events = confined.postponed + taken
        guard openEngine(toHandle: events) else { return }
        let engine = confined.engine
        if let engine {
            if !events.isEmpty {
                confined.usedAt = now()
                carryOut(engine.handle(events, now: now()))
            }
            if engine.hasWork { carryOut(engine.step(now: now())) }
            runAside(engine.takePreparation())
            carryOut(engine.checkSessions(now: now()))
            engine.performMaintenance(now: now())
        }
        dropVanished()
        let goesOn = waiting.withLock { waiting in
            guard !waiting.isStopping else { return false }
            waiting.isScheduled =
                !waiting.mailbox.isEmpty || confined.engine.map { $0.hasWork || $0.isMakingDigest } ?? false
            return waiting.isScheduled
        }
        if goesOn { queue.async { self.drain() } }
    }

    private func runAside(_ preparation: QueryPreparation?) {
        guard let preparation else { return }
        aside.async {
            preparation.run()
            self.post(.prepared(preparation))
        }
    }

    /// Looks, later, whether the database's file is still where it was opened. From any thread; returns at once.
    func checkFile() {
        queue.async { [self] in
            guard let engine = confined.engine else { return }
            carryOut(engine.checkFile())
            dropVanished()
        }
    }

    /// Closes a database whose file vanished; the next session opens what is there then.
    private func dropVanished() {
        guard let engine = confined.engine, engine.failure != nil else { return }
        engine.close()
        confined.engine = nil
    }

    /// Opens the database if a session asks for it. Where that fails the sessions are told.
    ///
    /// - Returns: false when file descriptors have run out: the events are postponed until there is room.
    private func openEngine(toHandle events: [DatabaseEvent]) -> Bool {
        let hasMadeRoom = !confined.postponed.isEmpty
        confined.postponed = []
        if confined.engine != nil { return true }
        let sessions = events.compactMap { event in
            if case .open(let id, _, _) = event { id } else { nil }
        }
        guard !sessions.isEmpty else { return true }
        do {
            let engine = try makeEngine()
            engine.isAbandoned = { [weak self] in self?.isAbandoned($0) ?? true }
            engine.onTooManyFiles = { [weak self] in self?.makeRoom {} }
            confined.engine = engine
        } catch {
            log?(.error, "a database could not be opened", [("database", name), ("error", "\(error)")])
            if !hasMadeRoom, (error as? StorageError)?.code == .tooManyFiles {
                confined.postponed = events
                makeRoom { [weak self] in
                    guard let self else { return }
                    queue.async { self.drain() }
                }
                return false
            }
            let message = DatabaseEngine.sentence("the server could not open the database", because: error)
            carryOut(sessions.flatMap { Self.failure(of: $0, message) })
        }
        return true
    }

    /// Does what can wait and what is due by the clock, in case nothing else happens.
    func wake() {
        let mustSchedule = waiting.withLock { waiting in
            guard !waiting.isStopping, !waiting.isScheduled else { return false }
            waiting.isScheduled = true
            return true
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Closes the database's file if it has no sessions and nothing was asked of it for a while. The next session opens it
    /// again; it cannot come between, since all of that happens on the queue.
    ///
    /// - Parameter completion: called on the queue.
    func closeIfIdle(unusedSince time: Timestamp, then completion: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            defer { completion() }
            guard let engine = confined.engine, engine.isIdle, confined.usedAt <= time else { return }
            engine.close()
            confined.engine = nil
            log?(.debug, "a database that nobody uses was closed", [("database", name)])
        }
    }

    /// Whether the database's file is open. Waits for what the queue is doing.
    var isOpen: Bool { queue.sync { confined.engine != nil } }

    /// Whether what is done for a session is in vain: it was closed meanwhile, or the server stops.
    private func isAbandoned(_ id: SessionID?) -> Bool {
        waiting.withLock { waiting in waiting.isStopping || id.map(waiting.mailbox.closes) ?? false }
    }

    private static func failure(of id: SessionID, _ message: String) -> [DatabaseAction] {
        let failure = ServerMessage.Failure(
            session: id.session, code: .internalError, message: message, action: .retry
        )
        return [.send(Frame.encode(ServerMessage.error(failure)), to: id.connection), .end(id)]
    }

    /// Finishes the turn that is under way, and closes the database's file. A query that runs meanwhile is given up, and
    /// what waits is dropped: none of it is acknowledged, so its senders keep it.
    func stop() {
        waiting.withLock { waiting in
            waiting.isStopping = true
            waiting.isScheduled = true
            waiting.mailbox = Mailbox()
        }
        queue.sync {
            aside.sync {}
            confined.engine?.close()
            confined.engine = nil
        }
    }
}
