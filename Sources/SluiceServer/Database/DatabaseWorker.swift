internal import Dispatch
internal import SluiceModel
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
    private let carryOut: @Sendable ([DatabaseAction]) -> Void

    /// - Parameters:
    ///   - makeEngine: opens the database; called on its queue with the first session, and again with the next one after
    ///     it failed.
    ///   - carryOut: called on the database's queue with what is to be sent.
    init(
        _ name: String, now: @escaping @Sendable () -> Timestamp, log: LogSink?,
        makeEngine: @escaping @Sendable () throws -> DatabaseEngine,
        carryOut: @escaping @Sendable ([DatabaseAction]) -> Void
    ) {
        self.name = name
        self.makeEngine = makeEngine
        queue = DispatchQueue(label: "sluice.database.\(name)")
        aside = DispatchQueue(label: "sluice.queries.\(name)", qos: .utility)
        self.now = now
        self.log = log
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
        let (events, heldBack) = waiting.withLock { waiting -> ([DatabaseEvent], [any MessageConnection]) in
            let events = waiting.mailbox.takeTurn()
            guard !waiting.mailbox.isFull else { return (events, []) }
            defer { waiting.heldBack = [] }
            return (events, waiting.heldBack)
        }
        for connection in heldBack { connection.resumeReceiving() }
        let engine = engine(toHandle: events)
        if let engine {
            if !events.isEmpty { carryOut(engine.handle(events, now: now())) }
            if engine.hasWork { carryOut(engine.step(now: now())) }
            runAside(engine.takePreparation())
            engine.keepHouse(now: now())
        }
        let goesOn = waiting.withLock { waiting in
            guard !waiting.isStopping else { return false }
            waiting.isScheduled = !waiting.mailbox.isEmpty || engine?.hasWork == true
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

    /// The engine, made if a session asks for it; nil where there is none, and the sessions were told.
    private func engine(toHandle events: [DatabaseEvent]) -> DatabaseEngine? {
        if let engine = confined.engine { return engine }
        let sessions = events.compactMap { event in
            if case .open(let id, _, _) = event { id } else { nil }
        }
        guard !sessions.isEmpty else { return nil }
        do {
            let engine = try makeEngine()
            engine.isAbandoned = { [weak self] in self?.isAbandoned($0) ?? true }
            confined.engine = engine
        } catch {
            log?(.error, "a database could not be opened", [("database", name), ("error", "\(error)")])
            let message = DatabaseEngine.sentence("the server could not open the database", because: error)
            carryOut(sessions.flatMap { Self.refusal(of: $0, message) })
        }
        return confined.engine
    }

    /// Whether what is done for a session is in vain: it was closed meanwhile, or the server stops.
    private func isAbandoned(_ id: SessionID?) -> Bool {
        waiting.withLock { waiting in waiting.isStopping || id.map(waiting.mailbox.closes) ?? false }
    }

    private static func refusal(of id: SessionID, _ message: String) -> [DatabaseAction] {
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
