internal import Dispatch
package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
internal import SluiceWire
internal import Synchronization

/// The state that all ``Store`` values on one path share: the storage, the engine, and the queue that serves both
/// writers and the server's messages.
package final class StoreCore: Sendable {
    /// The engine, which only code on the queue uses.
    private final class Confined: @unchecked Sendable {
        // Sound because every access goes through `queue`.
        let engine: ClientEngine
        /// When the queue will look next whether time has changed results; nil if it will not.
        var wakesForTime: Timestamp?

        init(engine: ClientEngine) { self.engine = engine }
    }

    package let storage: SQLiteClientStorage
    package let configuration: StoreConfiguration
    /// The functions of the configuration, as far as nobody has replaced them since.
    let functions: StoreFunctions
    /// Where handlers without a queue of their own are called.
    let handlers = HandlerPool()
    /// What every handler of the store is called through.
    let gates = GateGroup()
    /// The calls of handlers that are told what has become of writes, each after the last.
    let reports: HandlerSequence
    let rejections: RejectionCenter
    let sessions = SessionFeed()
    /// The objects that travel.
    let transfers = EventFeed<ObjectTransfer> { EventListener(pendingCountMax: 1_000) { $0.omitting($1) } }
    private let queue = DispatchQueue(label: "sluice.store")
    private let confined: Confined
    let link: ServerLink?
    private let closed = Atomic<Bool>(false)
    /// Frames that have arrived and wait for the queue. The queue handles all of them in one turn.
    private let frames = Mutex<[[UInt8]]>([])
    private let queueMark = DispatchSpecificKey<Bool>()
    let bindings = Mutex<[BindingKey: ElementBinding]>([:])
    private let published: Mutex<Schema>
    private let declaredInverses = Mutex(InverseNames())
    /// Who the user is, and how often a connection was begun or ended: a token that comes later is for another one.
    let login: Mutex<LoginState>

    /// Reports the changes of the machine's network, as long as it exists.
    let networkWatch = Mutex<(any Sendable)?>(nil)

    /// What a ``ElementBinding`` is of.
    struct BindingKey: Hashable {
        let element: ObjectIdentifier
        let classIndex: Int
    }

    init(storage: SQLiteClientStorage, configuration: StoreConfiguration) throws {
        self.storage = storage
        self.configuration = configuration
        functions = StoreFunctions(configuration)
        reports = HandlerSequence(.pool(handlers))
        rejections = RejectionCenter(reports, gates)
        let environment = configuration.environment
        login = Mutex(LoginState(credentials: configuration.sync?.credentials ?? .anonymous))
        let isShortLived = if case .memory = configuration.location { true } else { false }
        link = try configuration.sync.map {
            try ServerLink($0, environment: environment, isShortLived: isShortLived)
        }
        var options = ClientOptions()
        options.purgesRevokedObjects = configuration.purgesRevokedObjects
        options.keepsRevokedObject = { [functions] in functions.keepsRevokedObject($0) }
        options.keepsRejectedWrites = configuration.rejectedWrites == .keepLocal
        options.resetMode = configuration.clientReset.mode
        options.copiesBeforeReset = configuration.clientReset.keepsBackup
        options.cacheLimits = configuration.cacheLimits
        if let sync = configuration.sync {
            options.databaseName = link?.databaseName
            options.credentials = sync.credentials.wire
            options.variables = ValueMap(sync.variables)
            options.hasCredentialProvider = sync.credentials.areRenewable
            options.heartbeat = sync.heartbeat
            options.reconnectDelay = sync.reconnectDelay
            options.reconnectDelayMax = sync.reconnectDelayMax
            options.serverCount = sync.urls.count
            options.choosesServersAtRandom = sync.urlChoice == .random
            options.attemptCountMax = sync.attemptCountMax
            options.cancelsWaitsOnNonFatalErrors = sync.cancelsWaitsOnNonFatalErrors
            options.isReadOnly = sync.access == .readOnly
            options.isShortLived = isShortLived
            options.wishes = sync.wishes
        }
        confined = Confined(
            engine: try ClientEngine(
                storage: storage, declared: try configuration.wholeSchema(), options: options, now: environment.now,
                random: environment.random, log: functions.forwardingLog.about(.sync)))
        published = Mutex(storage.schema)
        confined.engine.onSchemaGrowth = { [weak self] schema in self?.published.withLock { $0 = schema } }
        confined.engine.reportTransfers(while: { [transfers] in transfers.hasListeners }, transfers.notify)
        for rejection in confined.engine.unreportedRejections { rejections.report(rejection) }
        confined.engine.onRejection = { [rejections, functions] rejection in
            functions.metrics?.writeRejected(code: rejection.reason.code)
            rejections.report(rejection)
        }
        confined.engine.onMismatch = { [functions] in functions.metrics?.subscriptionDiffered() }
        confined.engine.onStatus = { [sessions] in sessions.publish($0) }
        confined.engine.onResetBegin = { [functions] in functions.beforeReset?($0) }
        let gate = gates.makeGate()
        confined.engine.onResetEnd = { [functions, reports] reset in
            if let after = functions.afterReset { reports.run { gate.deliver { after(reset) } } }
        }
        confined.engine.onFlush = { [weak self] in
            if let self { carryOut(confined.engine.takeActions()) }
        }
        rejections.onReported = { [weak self] rejection in self?.performLater { $0.noteReported(rejection) } }
        queue.setSpecific(key: queueMark, value: true)
        addInverses(of: configuration.models)
    }

    /// Takes in what somebody else says who opens this store again.
    ///
    /// - Throws: ``StoreError/Code/invalidConfiguration`` when settings differ that must not, `SchemaError` when the
    ///   classes contradict those of the store.
    func join(_ other: StoreConfiguration, schema: Schema) async throws {
        let conflicts = StoreSetting.conflicts(configuration, other)
        guard conflicts.isEmpty else {
            throw StoreError(
                .invalidConfiguration,
                "the store is open already with other settings: \(conflicts.joined(separator: ", ")) "
                    + "\(conflicts.count == 1 ? "differs" : "differ"); open it with the same, or close it first")
        }
        try await perform { try $0.declare(schema.classes) }
        addInverses(of: other.models)
        functions.adopt(other)
        // Some log what the old sink wanted.
        bindings.withLock { $0 = [:] }
    }

    // MARK: Inverse relationships

    /// The names of the models' inverse properties.
    var inverses: InverseNames { declaredInverses.withLock { $0 } }

    /// Adds the names of the models' inverse properties.
    func addInverses(of models: [any Model.Type]) {
        declaredInverses.withLock { names in
            for model in models {
                for inverse in model.declaredClass?.inverses ?? [] {
                    names.add(inverse.name, on: model.className, source: inverse.origin())
                }
            }
        }
    }

    // MARK: The queue

    /// Whether the store's queue makes the call.
    var isOnQueue: Bool { DispatchQueue.getSpecific(key: queueMark) == true }

    private func run<Result>(_ body: (ClientEngine) throws -> Result) rethrows -> Result {
        defer {
            carryOut(confined.engine.takeActions())
            confined.engine.reportStatus()
            confined.engine.reportProgress()
            wakeForTime()
        }
        do { return try body(confined.engine) } catch { throw StoreError.wrapping(error) }
    }

    /// Sees to it that time changes what is observed, even if nothing else happens.
    private func wakeForTime() {
        guard !isClosed, let next = confined.engine.nextTick, confined.wakesForTime.map({ next < $0 }) ?? true else {
            return
        }
        confined.wakesForTime = next
        let wait = max(
            0, next.microseconds.subtractingReportingOverflow(configuration.environment.now().microseconds).partialValue
        )
        // Longer waits are cut to what timers can count.
        configuration.environment.schedule(.microseconds(min(wait, 86_400_000_000))) { [weak self] in
            self?.performLater { [weak self] engine in
                guard let self else { return }
                if confined.wakesForTime == next { confined.wakesForTime = nil }
                engine.passTime()
            }
        }
    }

    /// Reads the last commit, from any thread.
    ///
    /// - Throws: ``StoreError`` when the store is closed or cannot be read; what `body` throws.
    func read<Result>(_ body: (any ClientReading) throws -> Result) throws -> Result {
        try checkOpen()
        do { return try storage.read(at: configuration.environment.now(), body) } catch {
            // Another thread may have closed the store meanwhile.
            try checkOpen()
            throw StoreError.wrapping(error)
        }
    }

    /// Reads what an open write has made of the store, where the write's body makes the call; else the last commit.
    func readWithinWrite<Result>(_ body: (any ClientReading) throws -> Result) throws -> Result {
        guard isOnQueue, storage.isInTransaction else { return try read(body) }
        do { return try body(storage) } catch { throw StoreError.wrapping(error) }
    }

    /// Runs `body` on the store's queue.
    ///
    /// Never on the caller's thread, also where the queue is idle: a body that takes long, or waits, would hold one of the
    /// few threads that all tasks share.
    package func perform<Result: Sendable>(_ body: @escaping @Sendable (ClientEngine) throws -> Result) async throws
        -> Result
    {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                do {
                    try checkOpen()
                    continuation.resume(returning: try run(body))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Runs `body` on the store's queue and waits for it; a call from the queue runs it at once.
    package func performAndWait<Result>(_ body: (ClientEngine) throws -> Result) throws -> Result {
        if isOnQueue { return try run(body) }
        return try queue.sync {
            try checkOpen()
            return try run(body)
        }
    }

    /// Runs `body` on the store's queue without waiting for the queue: at once when called from the queue, else later.
    ///
    /// - Parameter fail: called on the queue with what `body` throws later, or because the store was closed meanwhile.
    /// - Throws: ``StoreError`` when the store is closed; what `body` throws at once.
    package func performSoon(
        _ body: @escaping @Sendable (ClientEngine) throws -> Void, orElse fail: @escaping @Sendable (any Error) -> Void
    ) throws {
        try checkOpen()
        if isOnQueue { return try run(body) }
        queue.async { [self] in
            do {
                try checkOpen()
                try run(body)
            } catch {
                fail(error)
            }
        }
    }

    /// Runs `body` on the store's queue, later.
    package func performLater(_ body: @escaping @Sendable (ClientEngine) -> Void) {
        queue.async { [self] in
            if !isClosed { run(body) }
        }
    }

    package var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }

    package func checkOpen() throws {
        if isClosed { throw StoreError(.closed, "the store was closed; open it again") }
    }

    // MARK: Sync

    func start() {
        if configuration.startsSyncing { performLater { $0.handle(.start) } }
        if configuration.sync != nil { watchSurroundings() }
        if case .file = configuration.location { watchFile() }
        if !configuration.cacheLimits.areNone { sweepCache(after: .seconds(60)) }
    }

    /// Ends the hold of an observation on its subscription, once its time to live is over.
    func letGo(of observation: UInt64, after timeToLive: Duration, purging: Bool) {
        configuration.environment.schedule(timeToLive) { [weak self] in
            self?.performLater { engine in
                engine.faults.recording("a subscription could not be ended") {
                    try engine.endHold(observation, purging: purging)
                }
            }
        }
    }

    private func carryOut(_ actions: [ClientAction]) {
        for action in actions {
            switch action {
            case .connect(let server):
                connect(to: server)
            case .probe:
                link?.probe()
            case .disconnect:
                forgetAttempt()
                link?.disconnect()
            case .renew(let delay):
                renewLogin(after: delay)
            case .send(let frame):
                functions.metrics?.sent(byteCount: frame.count)
                link?.send(frame)
            case .reconnect(let delay):
                forgetAttempt()
                link?.disconnect()
                configuration.environment.schedule(delay) { [weak self] in self?.performLater { $0.handle(.reconnect) }
                }
            case .storePostponed(let delay):
                configuration.environment.scheduleUpkeep(delay) { [weak self] in
                    self?.performLater { $0.handle(.storePostponed) }
                }
            }
        }
    }

    func receive(_ event: ClientEvent) {
        switch event {
        case .received(let frame): receive(frame)
        case .opened:
            functions.metrics?.connected()
            // The number of the session is taken right before the session asks to be opened.
            performLater { [self] engine in
                if let place = link?.takePlace() { engine.handle(.opened(at: place)) }
            }
        case .closed:
            functions.metrics?.disconnected()
            performLater { $0.handle(event) }
        case .start, .stop, .pause, .resume, .retryAfterFailure, .reconnectNow, .surroundingsChanged, .credentials,
            .renew, .reconnect, .storePostponed:
            performLater { $0.handle(event) }
        }
    }

    private func receive(_ frame: [UInt8]) {
        functions.metrics?.received(byteCount: frame.count)
        let isFirst = frames.withLock { frames in
            frames.append(frame)
            return frames.count == 1
        }
        if isFirst { performLater { [self] engine in receiveFrames(engine) } }
    }

    private func receiveFrames(_ engine: ClientEngine) {
        let batch = frames.withLock { frames in
            defer { frames = [] }
            return frames
        }
        engine.receive(batch)
        for _ in batch { link?.didHandleFrame() }
    }

    /// Ends syncing and all subscriptions, after the work that the queue already has. What was written stays, and is
    /// uploaded when the store is next opened. No call of a handler begins after it. It does not wait, so any thread may
    /// release a store.
    ///
    /// - Parameter completion: called on the queue.
    func close(_ completion: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            defer { completion() }
            guard !closed.exchange(true, ordering: .sequentiallyConsistent) else { return }
            gates.close()
            run { $0.close() }
            networkWatch.withLock { $0 = nil }
            sessions.close()
            transfers.close()
            storage.close()
        }
    }

    /// The current classes of the store.
    package var schema: Schema { published.withLock { $0 } }
}
