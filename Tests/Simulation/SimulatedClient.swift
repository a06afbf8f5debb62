import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire

/// One client of a simulation: the engine of the product, its store, and its observers.
final class SimulatedClient {
    /// A committed local transaction.
    struct Write {
        let sequence: UInt64
        /// Whether the server must reject the transaction.
        let isRejected: Bool
        /// Whether it is of a job, whose checkpoint or claim may have moved: then the server rejects it.
        let isOfJob: Bool
    }

    struct Hold {
        var query: Query
        let waiter: UInt64
    }

    let index: Int
    private let options: SimulationOptions
    private let path: String?
    private let clock: () -> Timestamp
    private let random: () -> UInt64
    private let problems: ProblemLog
    private var opened: (storage: SQLiteClientStorage, engine: ClientEngine)?
    /// The objects that may be here although no subscription has them: those that were written here, that somebody waited
    /// for, or whose dormant subscription the store has forgotten.
    var cached: Set<ObjectRef> = []
    private(set) var observations: [ObservationMirror] = []
    var holds: [Hold] = []
    /// Queries that stay in sync without an observer.
    var kept: [Query] = []
    var ledger: [Write] = []
    /// How many times the client began anew, since the server had another history.
    private(set) var resetCount = 0
    /// How many rejections were reported.
    private(set) var rejectionCount = 0
    /// The numbers that the server has given this client: one, and another each time that it has lost the client.
    private(set) var clientIDs: [UInt64] = []
    /// The last transaction that the client was told the server has, where backups are put back.
    private var acknowledged: UInt64 = 0
    /// The transactions that the client was told are rejected, where the server may lose what it has said.
    private var refused: Set<UInt64> = []
    /// The client's numbers when the server's file was copied.
    private var copiedClientIDs: [UInt64] = []
    /// Numbers that the server has lost.
    private var lostClientIDs: [UInt64] = []
    /// The epoch in which the client got a number that the server has lost.
    private var endedEpoch: UInt64?
    /// How many times the server may have lost the client, since a backup was put back.
    var lossCount = 0
    var connection: UInt64?
    var isReachable = true
    /// Whether the client does not read what arrives.
    var isPaused = false
    var wantsSync = true
    /// How many times the client was restarted. Timers of an earlier life are ignored.
    private(set) var life = 0
    var step = ObservationMirror.Step.other
    var keylessCount: [String: Int] = [:]
    /// Who uses the client, where rules apply; nil for somebody without a name.
    let user: Int64?
    /// Whose credentials the client presents instead of its user's.
    var impersonated: Int64?
    /// Makes what the client presents to the server.
    private var makeCredentials: (SimulatedClient) -> [WireCredentials] = { _ in [] }
    /// Of the program that the client runs.
    var version = 0
    /// The queries that were parsed against a schema, by their texts.
    private var parsed: (schema: Schema, queries: [String: Query]) = (Schema(), [:])
    /// The schema that the queries are bound to.
    private var boundSchema = Schema()

    init(
        _ index: Int, user: Int64? = nil, options: SimulationOptions, path: String?, problems: ProblemLog,
        clock: @escaping () -> Timestamp, random: @escaping () -> UInt64
    ) throws {
        self.index = index
        self.user = user
        self.options = options
        self.path = path
        self.clock = clock
        self.random = random
        self.problems = problems
        try open(nil)
    }

    /// Parses a query against the schema of the store, once for each schema.
    func query(_ text: String) throws -> Query {
        if parsed.schema != storage.schema { parsed = (storage.schema, [:]) }
        if let known = parsed.queries[text] { return known }
        let query = try Query.parse(text, schema: storage.schema)
        parsed.queries[text] = query
        return query
    }

    /// Sets what the client presents, from now on and after each restart.
    func present(_ make: @escaping (SimulatedClient) -> [WireCredentials]) {
        makeCredentials = make
        engine.handle(.credentials(make(self)))
    }

    /// The client's clock.
    var time: Timestamp { clock() }

    /// Whether the client may not read everything.
    var isLimited: Bool { index >= options.clientCount - options.limitedClientCount }

    /// Whether the client fetches a new token when one expires.
    var isRenewable: Bool { options.isRuled && index % 2 == 0 }

    var storage: SQLiteClientStorage {
        guard let opened else { preconditionFailure("the client is closed") }
        return opened.storage
    }

    var engine: ClientEngine {
        guard let opened else { preconditionFailure("the client is closed") }
        return opened.engine
    }

    private func open(_ handedOver: SQLiteClientStorage?) throws {
        let storage = try handedOver ?? SQLiteClientStorage.open(path.map { .file($0) } ?? .memory)
        storage.heldElementCountMin = 1
        if handedOver == nil || version > 0 {
            _ = try storage.transaction { try storage.merge(declared(), sides: ("the store", "the models")) }
        }
        var engineOptions = ClientOptions()
        engineOptions.databaseName = "simulation"
        engineOptions.listedMemberCountMax = options.listedMemberCountMax
        engineOptions.bulkRowCountMin = options.bulkRowCountMin
        engineOptions.askedObserverCountMax = options.askedObserverCountMax
        engineOptions.windowSurplus = options.windowSurplus
        engineOptions.quickAnswerTime = options.quickAnswerTime
        engineOptions.isReadOnly = isLimited
        engineOptions.credentials = makeCredentials(self)
        engineOptions.hasCredentialProvider = isRenewable
        let engine = try ClientEngine(
            storage: storage, options: engineOptions, now: clock, random: random,
            log: problems.sink("client \(index)"))
        engine.onRejection = { [unowned self] rejection in
            // The server took a write without effect.
            let code = rejection.reason.code
            if code == .jobConflict || code == .jobUnfinished { return }
            if rejection.reason.message != SyncError.withoutEffect.message { rejectionCount += 1 }
        }
        engine.onResetBegin = { [unowned self] _ in resetCount += 1 }
        opened = (storage, engine)
    }

    /// What the program declares.
    private func declared() throws -> Schema {
        try SimulationWorld.schema(ofClient: index, version: version, options: options)
    }

    /// Declares the classes of this version in the running program.
    func declare() throws { try engine.declare(declared().classes) }

    /// Reads the queries in the names and types of now.
    func rebindQueries() throws {
        let schema = engine.schema
        guard schema != boundSchema else { return }
        boundSchema = schema
        for mirror in observations { mirror.query = try mirror.query.rebound(to: schema) }
        for index in holds.indices { holds[index].query = try holds[index].query.rebound(to: schema) }
        kept = try kept.map { try $0.rebound(to: schema) }
    }

    /// Loses everything that is not stored, and starts the client again.
    func crash() throws {
        life += 1
        observations = []
        holds = []
        kept = []
        connection = nil
        let storage = path == nil ? opened?.storage : nil
        if path != nil { opened?.storage.close() }
        opened = nil
        try open(storage)
    }

    // MARK: Observing

    /// What follows when a query is observed no longer: a local change, unless writes wait that the server has answered
    /// and that only this query keeps from being settled.
    var stepOfEnding: ObservationMirror.Step { storage.outboxCount == 0 ? .local : .other }

    func observe(_ query: Query) throws {
        let mirror = ObservationMirror(query) { [weak self] in self?.step ?? .other }
        mirror.id = try engine.observe(query) { mirror.receive($0) }
        observations.append(mirror)
    }

    func removeObservation(at index: Int) -> ObservationMirror { observations.remove(at: index) }

    /// Makes every observer that keeps up say that it is ready, until no more events come.
    func readyObservers() {
        while let mirror = observations.first(where: { $0.awaitsReady && !$0.isLagging }) {
            mirror.becomeReady()
            engine.observerIsReady(mirror.id)
        }
    }

    /// When time changes what the client observes.
    ///
    /// - Parameter now: the time of the simulation, from which the client's clock differs.
    func nextTick(at now: Int64) -> Timestamp? {
        let skew = clock().microseconds - now
        return engine.nextTick?.advanced(by: -skew)
    }

    /// Whether an observer, a waiter or an earlier stop with `stopSyncing: false` keeps the query in sync.
    func holdsSubscription(to query: Query) -> Bool {
        observations.contains { $0.query == query } || holds.contains { $0.query == query } || kept.contains(query)
    }

    // MARK: Writing

    /// Runs a transaction, and records it if it was queued for upload.
    func write(_ body: (LocalWriter) throws -> Void) throws {
        let before = storage.lastSequence
        let outcome = Result { try engine.write(body) }
        try storage.forEachOutboxChangeset(after: before) { changeset in
            cached.formUnion(changeset.operations.map(\.object))
            ledger.append(
                Write(
                    sequence: changeset.sequence,
                    isRejected: changeset.operations.count > options.operationCountMax,
                    isOfJob: !changeset.jobs.isEmpty))
            return true
        }
        try outcome.get()
    }

    /// Checks that the server's number for this client never changes while the server knows it.
    func noteIdentity(_ history: ServerHistory) throws {
        // A new client has none while nothing can be stored of it.
        guard let state = storage.syncState, case let id = state.clientID, id != 0, clientIDs.last != id else { return }
        // A number that the server has given since the backup, it gives again to anybody.
        guard state.epoch != endedEpoch, !history.hasLost(clientID: id, inEpoch: state.epoch) else { return }
        clientIDs.append(id)
        guard clientIDs.count <= 1 + lossCount else {
            throw SimulationFailure("client \(index) was \(clientIDs.dropLast()) to the server and is now \(id)")
        }
    }

    /// Notes that the journal has lost some of what the server had.
    func journalHasForked(_ history: ServerHistory) {
        lossCount += 1
        guard let epoch = storage.syncState?.epoch else { return }
        // A number that an earlier history has lost may have been given to this client again.
        let lost = Set(clientIDs.filter { history.hasLost(clientID: $0, inEpoch: epoch) })
        lostClientIDs += clientIDs.filter(lost.contains)
        clientIDs.removeAll(where: lost.contains)
    }

    /// Whether the client was told that the server has a transaction that the server has lost since, or that it is
    /// rejected, which another history need not say.
    func isExcused(_ write: Write, by history: ServerHistory) -> Bool {
        refused.contains(write.sequence)
            || write.sequence <= acknowledged && history.hasLost(write.sequence, by: clientIDs + lostClientIDs)
    }

    /// What the client knows of the server, for a failure.
    var whatItWasTold: String {
        "it is \(clientIDs), was \(lostClientIDs), was told of \(acknowledged), and not of \(refused.sorted())"
    }

    /// Notes which transactions the client was told that the server has, and which it does not take.
    func noteAcknowledgements(in frame: [UInt8]) throws {
        for message in try Frame.decode(frame, as: ServerMessage.self) {
            switch message {
            case .commit(let commit): acknowledged = max(acknowledged, commit.header.acknowledged ?? 0)
            case .opened(let opened):
                acknowledged = max(acknowledged, opened.acknowledged)
                refused.formUnion(opened.rejections.map(\.sequence))
            case .rejected(let rejected): refused.insert(rejected.rejection.sequence)
            default: break
            }
        }
    }

    /// Notes that the server's file is copied.
    func serverIsCopied() { copiedClientIDs = clientIDs }

    /// Forgets the writes that the server had acknowledged and has lost. The others are sent again.
    ///
    /// - Parameter isAccepted: whether the server has a transaction, by its number.
    func serverWasPutBack(isAccepted: (UInt64) -> Bool) {
        lossCount += 1
        if clientIDs != copiedClientIDs { endedEpoch = storage.syncState?.epoch }
        clientIDs = copiedClientIDs
        ledger.removeAll { $0.sequence <= acknowledged && !isAccepted($0.sequence) }
    }
}
