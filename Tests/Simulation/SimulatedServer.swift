import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceWire

/// The server of a simulation: the engine and the connection protocol of the product, driven by the simulation.
final class SimulatedServer {
    let options: SimulationOptions
    /// The database's file; nil for one in memory.
    let path: String?
    /// What each client may read, by client.
    let conditions: [[String]]
    private let random: () -> UInt64
    private let problems: ProblemLog
    private(set) var storage: any ServerStorage
    private(set) var engine: DatabaseEngine
    /// The query that the engine wants to prepare beside its own work. It reads the state at the time of the request,
    /// and runs in a later step.
    private var preparation: QueryPreparation?
    /// Pages that are to be read in later steps, as of the time of the request.
    private var readings: [QueryPreparation] = []
    private var stepCount = 0
    var protocols: [UInt64: ConnectionProtocol] = [:]
    let history: ServerHistory
    /// Judges what the server sends and takes, where there are rules.
    let watch: AccessWatch
    let issuer: SimulatedIssuer
    /// The clients at the other ends of connections.
    private(set) var clients: [UInt64: Int] = [:]
    /// Whose the sessions are whose logins were decided.
    var identities: [SessionID: SimulatedIdentity] = [:]
    /// The logins that are being checked.
    var logins: [PendingLogin] = []
    /// The uploads of the batch that is being handled.
    var uploads: [(client: Int, userID: String?, changeset: Changeset)] = []
    /// An engine that follows this one.
    private(set) var follower: SimulatedFollower!
    /// What observes and writes inside the server's process.
    private(set) var backend = SimulatedBackend()
    private var startsOfEarlierLives = StartCounts()
    /// How many times a backup was put back.
    private(set) var putBackCount = 0

    /// How subscriptions were started, counted over all lives of the server.
    var starts: StartCounts { startsOfEarlierLives + engine.statistics.starts }

    private var sharedPagesOfEarlierLives = SharedPageCounts()

    /// The work for pages that clients share.
    var sharedPages: SharedPageCounts {
        var counts = sharedPagesOfEarlierLives
        counts += engine.statistics.sharedPages
        return counts
    }

    /// What the server sends to the network.
    enum Output {
        case send([UInt8], to: UInt64)
        /// Closes the connection after this frame.
        case expel([UInt8], UInt64)
    }

    /// - Parameter path: the database's file; nil keeps the data in memory, and hands them over when the server
    ///   restarts.
    init(
        _ options: SimulationOptions, path: String?, conditions: [[String]], problems: ProblemLog,
        issuer: SimulatedIssuer, random: @escaping () -> UInt64
    ) throws {
        self.issuer = issuer
        self.options = options
        self.conditions = conditions
        self.path = path
        self.random = random
        self.problems = problems
        storage = try Self.open(path)
        engine = Self.engine(storage, options, conditions, problems, random)
        history = try ServerHistory(storage)
        watch = AccessWatch(history)
        try follow()
    }

    /// Lets an engine follow this one from the beginning.
    private func follow() throws {
        follower = try SimulatedFollower(
            of: { [unowned self] in self.storage }, path: path.map { "\($0)-follower-\(putBackCount)" },
            problems: problems, seed: options.followerSeed)
    }

    /// Notes that the server goes on with an earlier state, which the engine that follows it has passed.
    func wasPutBack() throws {
        putBackCount += 1
        try follow()
    }

    private static func open(_ path: String?) throws -> any ServerStorage {
        let storage = try SQLiteServerStorage.open(
            path.map { .file($0) } ?? .memory, databaseID: ObjectID(high: 7, low: 7))
        storage.heldElementCountMin = 1
        return storage
    }

    private static func engine(
        _ storage: any ServerStorage, _ options: SimulationOptions, _ conditions: [[String]], _ problems: ProblemLog,
        _ random: @escaping () -> UInt64
    ) -> DatabaseEngine {
        var limits = DatabaseLimits()
        limits.pageRowCount = options.pageRowCount
        limits.groupOperationCountMax = options.groupOperationCountMax
        limits.replayObjectCountMax = options.replayObjectCountMax
        limits.comparedMemberCountMax = options.comparedMemberCountMax
        limits.digestObjectCountMax = options.digestObjectCountMax
        limits.shareStepCountMax = options.shareStepCountMax
        limits.turnStepCountMax = 3 * options.shareStepCountMax
        limits.contextStepCountMax = options.contextStepCountMax
        limits.followStepCountMax = options.followStepCountMax
        if options.followStepCountMax < 1_000 {
            limits.followStepCountPerChange = 0
            limits.followStepCountMin = 0
            limits.affectedRootCountMax = 1
        }
        limits.server.pageCreditMax = 2
        limits.sharedPageByteCount = options.sharedPageByteCount
        limits.objectCountBeside = options.objectCountBeside
        limits.pagesPerReading = options.pagesPerReading
        limits.readAheadReceiverCountMax = options.readAheadReceiverCountMax
        limits.incompleteCountMax = options.incompleteCountMax
        limits.digestInterval = 0
        limits.digestRoundTime = 0
        limits.server.operationCountMax = options.operationCountMax
        return DatabaseEngine(
            name: "simulation", storage: storage, workerID: "worker", limits: limits, log: problems.sink("server"),
            readContext: options.isRuled
                ? nil
                : { user, schema in
                    try ReadContext(user.id.flatMap { Int($0) }.map { conditions[$0] } ?? [], schema: schema)
                },
            policies: options.hasBackend ? SimulatedBackend.policies() : nil, random: random)
    }

    var parts: [AnyObject] { [engine, storage as AnyObject] + engine.views + follower.parts }

    func isConnected(_ connection: UInt64) -> Bool { protocols[connection] != nil }

    var connections: [UInt64] { protocols.keys.sorted() }

    var hasWork: Bool {
        !logins.isEmpty || preparation != nil || !readings.isEmpty || engine.hasWork || engine.isJudgingCached
    }

    /// Handles items of several connections as one batch.
    ///
    /// - Parameter client: returns the client at the other end of a connection.
    func handle(
        _ items: [(connection: UInt64, item: SimulatedNetwork.Item)], from client: (UInt64) -> Int?, now: Timestamp
    ) throws -> [Output] {
        var batch = ServerBatch(server: self, now: now)
        try batch.expire()
        for (connection, item) in items {
            switch item {
            case .request, .opened:
                clients[connection] = client(connection)
                protocols[connection] = ConnectionProtocol(
                    limits: ServerLimits(), login: options.isRuled ? DeferredLogin() : DevelopmentLogin())
            case .closed:
                for session in protocols[connection]?.sessions.keys.sorted() ?? [] {
                    batch.events.append(.closed(SessionID(connection: connection, session: session)))
                }
                protocols[connection] = nil
            case .frame(let frame):
                try batch.perform(protocols[connection]?.receive(frame, now: now) ?? [], of: connection)
            }
        }
        return try batch.finish()
    }

    /// Does one turn of the engine's own work, or runs a preparation, or decides a login.
    func step(now: Timestamp) throws -> [Output] {
        if !logins.isEmpty {
            var batch = ServerBatch(server: self, now: now)
            try batch.decide(logins.removeFirst())
            return try batch.finish()
        }
        if engine.isJudgingCached { return try handle([], now: now) }
        if let preparation {
            self.preparation = nil
            preparation.run()
            return try carryOut(engine.handle([.prepared(preparation)], now: now))
        }
        stepCount += 1
        if stepCount % 3 == 0 || !engine.hasWork, !readings.isEmpty {
            let reading = readings.remove(at: stepCount / 3 % readings.count)
            reading.run()
            return try carryOut(engine.handle([.prepared(reading)], now: now))
        }
        let outputs = try carryOut(engine.step(now: now))
        preparation = engine.takePreparation()
        while let reading = engine.takeReading() { readings.append(reading) }
        return outputs
    }

    /// Has the engine handle events, and judges what it sends.
    func handle(_ events: [DatabaseEvent], now: Timestamp) throws -> [Output] {
        let before = history.latest
        let actions = events.isEmpty ? [] : engine.handle(events, now: now)
        let checks = engine.checkSessions(now: now)
        while let reading = engine.takeReading() { readings.append(reading) }
        try history.record(storage)
        try follower.step(now: now)
        if options.isRuled { try judgeWrites(since: before) }
        try checkBackend()
        return try carryOut(actions + checks, since: before.version)
    }

    /// Writes from the server's own process.
    func write(now: Timestamp, _ body: (any ObjectReading) throws -> [ObjectOperation]) throws -> [Output] {
        let before = history.latest
        try engine.write(by: 1, now: now) { objects, _ in ((), try body(objects)) }
        try history.record(storage)
        try follower.step(now: now)
        try checkBackend()
        return try carryOut(engine.settle(), since: before.version)
    }

    private func checkBackend() throws {
        guard options.hasBackend else { return }
        try backend.note(storage, of: engine.connectedClients)
        try backend.check(engine)
        try backend.observe(engine)
    }

    /// - Parameter version: the server's version before it made these; nil if that is the present one.
    func carryOut(_ actions: [DatabaseAction], since version: UInt64? = nil) throws -> [Output] {
        var outputs: [Output] = []
        for action in actions {
            switch action {
            case .send(let frame, let connection):
                if isConnected(connection) { outputs.append(.send(frame, to: connection)) }
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                outputs += connections.filter(isConnected).map { .send(frame, to: $0) }
            case .end(let id, _): protocols[id.connection]?.ended(session: id.session)
            }
        }
        guard options.isRuled else { return outputs }
        for case .send(let frame, let connection) in outputs {
            try watch.judge(frame, to: connection, since: version ?? history.latest.version)
        }
        watch.keepSessions { protocols[$0.connection]?.sessions[$0.session] != nil }
        try judgeRefusals(since: version ?? history.latest.version)
        return outputs
    }

    /// Loses everything that is not stored, and starts the server again.
    func crash() throws { try restart {} }

    /// - Parameter body: what happens while the server is down.
    func restart(_ body: () throws -> Void) throws {
        protocols = [:]
        logins = []
        watch.keepSessions { _ in false }
        preparation = nil
        readings = []
        backend.forget()
        if let path {
            storage.close()
            try body()
            storage = try Self.open(path)
        }
        startsOfEarlierLives += engine.statistics.starts
        sharedPagesOfEarlierLives += engine.statistics.sharedPages
        engine = Self.engine(storage, options, conditions, problems, random)
        engine.loadRules()
        try engine.beginEpoch()
        history.begin(epoch: storage.epoch)
        try history.record(storage)
    }

    func trimLog(keepingVersions count: UInt64) throws {
        _ = try storage.trimLog(keepingVersions: count, keepingBytes: .max, entriesMax: 10_000)
    }
}
