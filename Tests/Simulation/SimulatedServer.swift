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
    /// Decides what the journal loses, and how far nodes follow.
    private var fortune: SeededGenerator
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
    var uploads: [(client: Int, userID: String?, changeset: Changeset)] = []
    /// An engine that follows this one.
    private(set) var follower: SimulatedFollower!
    /// What observes and writes inside the server's process.
    private(set) var backend = SimulatedBackend()
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
                try SimulatedNode(path: path, access) { storage in
                    Self.engine(storage, access, options, conditions, problems, random)
                })
        }
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

    var hasWork: Bool { !logins.isEmpty || nodes.contains { $0.hasWork || isBehind($0) } }

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
        let working = nodes.filter { $0.hasWork || isBehind($0) }
        guard !working.isEmpty else { return [] }
        let node = working[stepCount % working.count]
        if isBehind(node), !node.hasWork || fortune.chance(50) { return try follow(on: node, now: now) }
        if node.engine.isJudgingCached { return try handle([], on: node, now: now) }
        let before = history.latest
        let actions = node.step(now: now)
        // Time may have moved with it.
        if journal != nil || node.storage.version != before.version {
            try record(node)
            try follower.step(now: now)
        }
        let outputs = try carryOut(actions, since: before.version)
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

    private func handle(_ events: [DatabaseEvent], on node: SimulatedNode, now: Timestamp) throws -> [Output] {
        let before = history.latest
        if let journal = node.journal, fortune.chance(20) {
            journal.faults = fortune.chance(50) ? [.losesAnswer] : [.losesGroup]
            if options.delaysGroups, fortune.chance(60) {
                let count = fortune.below(3)
                // Where the author tries again, its group is there before the late one.
                journal.faults =
                    fortune.chance(70) ? [.delaysGroup(by: count), .silent] : [.repeatsGroup(after: count)]
            }
            // Now and then it says nothing more, whether it has the group or not.
            if fortune.chance(25) { journal.faults.append(.silent) }
        }
        let actions = node.handle(events, now: now)
        node.journal?.faults = []
        try record(node)
        try follower.step(now: now)
        if options.isRuled { try judgeWrites(since: before) }
        try checkBackend()
        let outputs = try carryOut(actions, since: before.version)
        try replaceIfFailed(node)
        return outputs
    }

    /// Lets every node move time where a date has passed.
    func passTime(now: Timestamp) throws -> [Output] {
        try nodes.reduce(into: []) { $0 += try handle([], on: $1, now: now) }
    }

    /// Writes from the server's own process.
    func write(now: Timestamp, _ body: (any ObjectReading) throws -> [ObjectOperation]) throws -> [Output] {
        let before = history.latest
        try engine.write(by: 1, now: now) { objects, _ in OwnTransaction((), try body(objects)) }
        try history.record(storage)
        try follower.step(now: now)
        try checkBackend()
        return try carryOut(engine.finishOwnWork(), since: before.version)
    }

    /// Does something in the process of a node.
    ///
    /// - Returns: what `body` returns or throws, and what is to be sent.
    func perform<Result>(
        on node: SimulatedNode, now: Timestamp, _ body: (SimulatedNode, Timestamp) throws -> Result
    ) throws -> (Swift.Result<Result, any Error>, [Output]) {
        let before = history.latest
        let result = Swift.Result { try body(node, now) }
        let actions = node.engine.finishOwnWork()
        try record(node)
        try follower.step(now: now)
        try checkBackend()
        let outputs = try carryOut(actions, since: before.version)
        try replaceIfFailed(node)
        return (result, outputs)
    }

    private func checkBackend() throws {
        guard options.hasBackend else { return }
        try backend.note(storage, of: engine.connectedClients)
        try backend.check(engine)
        try backend.observe(engine, now: storage.now)
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
            case .consult: break
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

    /// Loses everything that a node has not stored, and starts it again.
    func crash(_ node: SimulatedNode) throws { try restart(node) {} }

    /// - Parameter body: what happens while the node is down.
    func restart(_ node: SimulatedNode, _ body: () throws -> Void) throws {
        protocols = protocols.filter { self.node(of: $0.key) !== node }
        logins = []
        watch.keepSessions { _ in false }
        backend.forget()
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
