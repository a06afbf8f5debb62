import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport

/// The server of a simulation: the engine and the connection protocol of the product, driven by the simulation.
///
/// It may be several nodes on one journal, between which clients move with each connection. What one node commits, the
/// others follow when their turn comes.
final class SimulatedServer {
    let options: SimulationOptions
    /// The database's file; nil for one in memory.
    let path: String?
    /// What each client may read, by client.
    let conditions: [[String]]
    private let problems: ProblemLog
    private(set) var nodes: [SimulatedNode] = []
    /// What the nodes share; nil for one node with a journal of its own.
    let journal: MemoryJournal?
    /// What holds at each place of the journal of several nodes, where there are rules.
    let places: JournalPlaces?
    /// What nodes have still to learn of users.
    var news: [UserNews] = []
    /// Decides what the journal loses, and how far nodes follow.
    var fortune: SeededGenerator
    /// The head at which the latest state was recorded.
    var recordedPosition: UInt64 = 0
    /// What a node begins with whose next group the journal no longer has.
    var snapshot: SimulatedSnapshot?
    /// The groups with the first visits of clients, by the clients' numbers, where the journal may lose them.
    var firstVisits: [UInt64: UInt64] = [:]
    /// What has happened to the journal.
    var journalCounts = JournalCounts()
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
    var uploads: [(client: Int, node: Int, userID: String?, changeset: Changeset)] = []
    /// An engine that follows this one.
    private(set) var follower: SimulatedFollower!
    /// What observes inside the process of each node.
    private(set) var backends: [SimulatedBackend] = []
    /// Counts what the server's processes write.
    private var ownWrites = BackendCounts()
    /// How many times a backup was put back.
    private(set) var putBackCount = 0
    /// How many engines have followed this one.
    private var followerCount = 0

    static let databaseID = ObjectID(high: 7, low: 7)

    /// The one node of a server that has no others, or the first of them.
    var engine: DatabaseEngine { nodes[0].engine }
    var storage: SQLiteServerStorage { nodes[0].storage }

    /// How subscriptions were started, counted over all lives of the server.
    var starts: StartCounts { nodes.reduce(into: StartCounts()) { $0 += $1.starts } }

    /// The work for pages that clients share.
    var sharedPages: SharedPageCounts { nodes.reduce(into: SharedPageCounts()) { $0 += $1.sharedPages } }

    /// What observers and writers in the server's processes have met.
    var backendCounts: BackendCounts { backends.reduce(into: ownWrites) { $0 += $1.counts } }

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
        self.problems = problems
        fortune = SeededGenerator(seed: options.followerSeed ^ 0x0DE5)
        let journal = options.nodeCount > 1 ? MemoryJournal(databaseID: Self.databaseID) : nil
        self.journal = journal
        for number in 0..<options.nodeCount {
            let path = path.map { number == 0 ? $0 : "\($0)-node-\(number)" }
            let access = journal?.another()
            nodes.append(
                try SimulatedNode(number, path: path, access, clockOffset: options.clockOffset(ofNode: number)) {
                    storage in
                    Self.engine(storage, access, options, conditions, problems, random)
                })
        }
        backends = nodes.map { _ in SimulatedBackend() }
        places = journal == nil || !options.isRuled ? nil : JournalPlaces(of: nodes[0].storage)
        history = try ServerHistory(nodes[0].storage)
        watch = AccessWatch(history)
        try follow()
    }

    /// Lets an engine follow this one from the beginning.
    func follow() throws {
        follower = try SimulatedFollower(
            of: { [unowned self] in self.storage }, path: path.map { "\($0)-follower-\(followerCount)" },
            problems: problems, seed: options.followerSeed)
        followerCount += 1
    }

    /// Notes that the server goes on with an earlier state, which the engine that follows it has passed.
    func wasPutBack() throws {
        putBackCount += 1
        try follow()
    }

    private static func engine(
        _ storage: SQLiteServerStorage, _ journal: MemoryJournal?, _ options: SimulationOptions,
        _ conditions: [[String]],
        _ problems: ProblemLog,
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
            name: "simulation", storage: storage, journal: journal, workerID: "worker", limits: limits,
            log: problems.sink("server"),
            readContext: options.isRuled
                ? nil
                : { user, schema in
                    try ReadContext(user.id.flatMap { Int($0) }.map { conditions[$0] } ?? [], schema: schema)
                },
            policies: options.hasBackend ? SimulatedBackend.policies() : nil, random: random)
    }

    var parts: [AnyObject] { nodes.flatMap(\.parts) + follower.parts }

    /// The node to which a connection leads. Each connection of a client may lead to another one.
    func node(of connection: UInt64) -> SimulatedNode {
        nodes[Int((connection &* 0x9E37_79B9_7F4A_7C15) >> 33) % nodes.count]
    }

    func isConnected(_ connection: UInt64) -> Bool { protocols[connection] != nil }

    var connections: [UInt64] { protocols.keys.sorted() }

    var hasWork: Bool { !logins.isEmpty || !news.isEmpty || nodes.contains { $0.hasWork || mustFollow($0) } }

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

    /// Does one turn of an engine's own work, lets a node follow, or decides a login.
    func step(now: Timestamp) throws -> [Output] {
        if !logins.isEmpty {
            var batch = ServerBatch(server: self, now: now)
            try batch.decide(logins.removeFirst())
            return try batch.finish()
        }
        stepCount += 1
        let working = nodes.filter { $0.hasWork || mustFollow($0) }
        if !news.isEmpty, working.isEmpty || fortune.chance(30) { return try learn(news.removeFirst(), now: now) }
        guard !working.isEmpty else { return [] }
        let node = working[stepCount % working.count]
        if mustFollow(node), !node.hasWork || fortune.chance(50) { return try follow(on: node, now: now) }
        if node.engine.isJudgingCached { return try handle([], on: node, now: now) }
        let before = history.latest
        let actions = node.step(now: now)
        // Time may have moved with it.
        if journal != nil || node.storage.version != before.version {
            try record(node)
            try follower.step(now: now)
        }
        let outputs = try carryOut(actions, of: node, since: before.version)
        try replaceIfFailed(node)
        return outputs
    }

    /// Lets a node follow some of what the others have appended, sometimes beginning with what it has.
    private func follow(on node: SimulatedNode, now: Timestamp) throws -> [Output] {
        guard let journal else { return [] }
        let position = node.storage.head.position
        let start = position > 0 && fortune.chance(10) ? position - 1 : position
        let countMax = 1 + fortune.below(4)
        // Whoever has other groups, or has missed those that are gone, has to find out.
        guard !node.isStale, let records = try? journal.records(after: start, countMax: countMax) else {
            return try handle([.journalGrew], on: node, now: now)
        }
        return try handle([.follow(records)], on: node, now: now)
    }

    /// Has the engines handle events, and judges what they send.
    func handle(_ events: [DatabaseEvent], now: Timestamp) throws -> [Output] {
        guard nodes.count > 1 else { return try handle(events, on: nodes[0], now: now) }
        var outputs: [Output] = []
        for node in nodes {
            let own = events.filter { event in event.session.map { self.node(of: $0.connection) === node } ?? false }
            if !own.isEmpty { outputs += try handle(own, on: node, now: now) }
        }
        return outputs
    }

    func handle(_ events: [DatabaseEvent], on node: SimulatedNode, now: Timestamp) throws -> [Output] {
        let before = history.latest
        disturbJournal(of: node)
        let actions = node.handle(events, now: now)
        node.journal?.faults = []
        try record(node)
        try follower.step(now: now)
        if options.isRuled, places == nil { try judgeWrites() }
        try checkBackend(of: node)
        let outputs = try carryOut(actions, of: node, since: before.version)
        try replaceIfFailed(node)
        return outputs
    }

    /// Lets every node move time where a date has passed.
    func passTime(now: Timestamp) throws -> [Output] {
        try nodes.reduce(into: []) { $0 += try handle([], on: $1, now: now) }
    }

    /// Writes from the process of the server, or of one of its nodes, which may not learn whether it is stored.
    func write(now: Timestamp, _ body: (any ObjectReading) throws -> [ObjectOperation]) throws -> [Output] {
        let node = nodes.count > 1 ? fortune.pick(nodes) : nodes[0]
        disturbJournal(of: node)
        let (result, outputs) = try perform(on: node, now: now) { node, now in
            try node.engine.write(by: 1, now: now) { objects, _ in OwnTransaction((), try body(objects)) }
        }
        ownWrites.ownWrites += 1
        if case .failure(let error) = result {
            guard nodes.count > 1, error is ServerError else { throw error }
            ownWrites.unknownWrites += 1
        }
        return nodes.count == 1 ? outputs : outputs + (try handle([], on: node, now: now))
    }

    /// Does something in the process of a node.
    ///
    /// - Returns: what `body` returns or throws, and what is to be sent.
    func perform<Result>(
        on node: SimulatedNode, now: Timestamp, _ body: (SimulatedNode, Timestamp) throws -> Result
    ) throws -> (Swift.Result<Result, any Error>, [Output]) {
        let before = history.latest
        let result = Swift.Result { try body(node, node.time(at: now)) }
        node.journal?.faults = []
        let actions = node.engine.finishOwnWork()
        try record(node)
        try follower.step(now: now)
        try checkBackend(of: node)
        let outputs = try carryOut(actions, of: node, since: before.version)
        try replaceIfFailed(node)
        return (result, outputs)
    }

    private func checkBackend(of node: SimulatedNode) throws {
        guard options.hasBackend, node.engine.failure == nil else { return }
        try backends[node.number].note(node.storage, of: node.engine.connectedClients)
        try backends[node.number].check(node.engine)
        try backends[node.number].observe(node.engine, now: node.storage.now)
    }

    /// Forgets what the process of a node observes, whose engine is gone.
    func forgetObservations(of node: SimulatedNode) { backends[node.number].forget() }

    /// Of how many objects of a client's transaction validators say that they refuse it; nil if they do not.
    func refusalCount(of sequence: UInt64, by clientID: UInt64) -> Int? {
        backends.lazy.compactMap { $0.refused[clientID]?[sequence] }.first
    }

    /// - Parameter version: the server's version before it made these; nil if that is the present one.
    func carryOut(
        _ actions: [DatabaseAction], of node: SimulatedNode, since version: UInt64? = nil
    ) throws -> [Output] {
        var outputs: [Output] = []
        for action in actions {
            switch action {
            case .send(let frame, let connection):
                if isConnected(connection) { outputs.append(.send(frame, to: connection)) }
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                outputs += connections.filter(isConnected).map { .send(frame, to: $0) }
            case .consult: break
            case .end(let id, _): protocols[id.connection]?.ended(session: id.session)
            }
        }
        if options.isRuled { try judge(outputs, of: node, since: version ?? history.latest.version) }
        return outputs
    }

    /// Loses everything that a node has not stored, and starts it again.
    func crash(_ node: SimulatedNode) throws { try restart(node) {} }

    /// - Parameter body: what happens while the node is down.
    func restart(_ node: SimulatedNode, _ body: () throws -> Void) throws {
        protocols = protocols.filter { self.node(of: $0.key) !== node }
        logins.removeAll { self.node(of: $0.connection) === node }
        keepSessions()
        forgetObservations(of: node)
        try node.restart(body)
        if journal != nil { try join(node) }
        // The journal of several nodes goes on, and sometimes nobody can be sure of that.
        if journal == nil || fortune.chance(40) {
            try node.engine.beginEpoch()
            history.begin(epoch: node.storage.epoch)
        }
        try record(node)
    }
}

extension DatabaseEvent {
    /// The session that the event concerns; nil if it concerns several.
    fileprivate var session: SessionID? {
        switch self {
        case .open(let id, _, _, _), .renewed(let id, _), .messages(let id, _), .closed(let id): id
        case .prepared, .journalGrew, .journalAsked, .relayed, .follow: nil
        }
    }
}
