public import Sluice
public import SluiceModel
public import SluiceServer
internal import Synchronization

/// Several sync servers in a test, the nodes of a cluster, which share the journal of each database. It lets the test
/// kill nodes, cut them off from the journal, lose what the journal has, and move stores from node to node.
///
/// ```swift
/// let cluster = try TestCluster(nodes: 3)
/// let alice = try await cluster.open([Car.self])
/// let bob = try await cluster.open([Car.self], on: 2)
///
/// await cluster.kill(1)
/// try await alice.write { try $0.insert(Car(vin: "JT2", price: 9_000)) }
/// try await alice.uploaded()
/// ```
///
/// The journals are in memory, and each node has a replica of each database that it serves in a temporary folder, which
/// survives ``kill(_:)``. Time stands still until the test moves it, as for one ``TestServer``. Nodes are numbered from 1.
public final class TestCluster: Sendable {
    private let world: TestWorld
    private let nodes: [Node]
    /// The journals as no node reaches them.
    package let journals: MemoryJournals

    /// One node, and how it reaches the journals.
    private final class Node: Sendable {
        let server: TestServer
        let journals: NodeJournals

        init(_ server: TestServer, _ journals: NodeJournals) {
            self.server = server
            self.journals = journals
        }
    }

    /// Starts a cluster without data.
    ///
    /// - Parameters:
    ///   - count: the number of nodes, at least 1.
    ///   - clock: the clock of the nodes and their stores.
    ///   - rules: what users may read and do, as a rules file; nil if everybody may do everything.
    ///   - log: where the nodes' log lines go; nil logs nothing.
    ///   - patience: as in ``TestServer/init(clock:workerID:rules:log:patience:prepare:)``.
    ///   - prepare: called with each node's server before it starts, and again whenever it is started again; it adds
    ///     validators and resolvers.
    /// - Throws: `ServerError` when a temporary folder cannot be made or the rules are refused.
    public convenience init(
        nodes count: Int = 3, clock: ManualClock = ManualClock(), rules: String? = nil, log: LogSink? = nil,
        patience: Duration = .seconds(120), prepare: @escaping @Sendable (SyncServer) -> Void = { _ in }
    ) throws {
        try self.init(
            nodes: count, clock: clock, rules: rules, log: log, patience: patience, replicas: ReplicaPolicy(),
            prepare: prepare)
    }

    /// - Parameter replicas: when snapshots are made, and used.
    package init(
        nodes count: Int, clock: ManualClock = ManualClock(), rules: String? = nil, log: LogSink? = nil,
        patience: Duration = .seconds(120), replicas: ReplicaPolicy,
        prepare: @escaping @Sendable (SyncServer) -> Void = { _ in }
    ) throws {
        precondition(count > 0, "a cluster has at least one node")
        let world = TestWorld(clock)
        self.world = world
        let shared = MemoryJournals(now: { Timestamp(clock.now) })
        nodes = try (1...count).map { number in
            let journals = NodeJournals(shared)
            let server = try TestServer(
                in: world, host: "node-\(number)", journals: { journals.connect() }, workerID: "node-\(number)",
                rules: rules, log: log, patience: patience, replicas: replicas, prepare: prepare)
            return Node(server, journals)
        }
        journals = shared
    }

    /// The clock of the nodes and of every store that they open.
    public var clock: ManualClock { world.clock }

    /// The number of nodes, those included that do not run.
    public var count: Int { nodes.count }

    /// A node, by its number from 1. Its stores are those of the whole cluster: ``TestServer/hold(_:before:)`` and the
    /// like do to any of them what they say.
    public subscript(number: Int) -> TestServer { node(number).server }

    private func node(_ number: Int) -> Node {
        precondition(nodes.indices.contains(number - 1), "the nodes are 1 to \(nodes.count), and not \(number)")
        return nodes[number - 1]
    }

    // MARK: Stores

    /// Opens a store that knows the addresses of all nodes: where one cannot be reached, it connects to the next at once.
    ///
    /// - Parameters:
    ///   - models: the Swift types whose objects the store holds.
    ///   - schema: classes without a Swift type.
    ///   - database: the name of the database.
    ///   - path: the store's file; nil for a private store in memory.
    ///   - number: the node to which it connects first.
    ///   - user: the user's id, for a cluster with rules; nil for a user without one.
    ///   - claims: what rules find at `$user.claims`, as a JSON object; for a cluster with rules.
    ///   - configure: changes the configuration before the store is opened.
    /// - Throws: as ``TestServer/open(_:schema:database:path:user:claims:declaring:configure:)``.
    public func open(
        _ models: [any Model.Type] = [], schema: Schema = Schema(), database: String = "test", path: String? = nil,
        on number: Int = 1, user: String? = nil, claims: String = "{}",
        configure: (inout StoreConfiguration) -> Void = { _ in }
    ) async throws -> Store {
        let first = node(number).server
        let order = nodes[(number - 1)...] + nodes[..<(number - 1)]
        return try await first.open(
            models, schema: schema, database: database, path: path, user: user, claims: claims
        ) { configuration in
            configuration.sync?.urls = order.map { "ws://\($0.server.host)/\(database)" }
            // The next address is tried at once, while the clock stands still.
            configuration.environment.schedule = { [world] delay, body in
                if delay > .zero { world.clock.schedule(after: delay, body) } else { world.floor.run(body) }
            }
            configure(&configuration)
        }
    }

    /// Leads a store to one node from now on, whatever addresses it knows, as a balancer does. Its connection breaks, and
    /// it connects at once. Where it is led on before its opening has arrived, it may have to come again, as the clock
    /// moves.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - number: the node; nil leads it by its own addresses again.
    public func route(_ store: Store, to number: Int?) {
        guard let link = world.link(of: store) else { return }
        link.route(to: number.map { node($0).server.host })
        TestWorld.reconnect(store.core, link)
    }

    // MARK: Nodes

    /// Kills a node as the end of its process does: connections break, nothing is closed in order, and what it had not
    /// stored is gone. It may be started again. Does nothing if it does not run.
    public func kill(_ number: Int) async {
        let node = node(number)
        node.journals.disconnect()
        for client in world.clients { client.link.cut(from: node.server.host) }
        await node.server.stop(isKilled: true)
        for client in world.clients { client.link.restore(to: node.server.host) }
        world.reconnect()
    }

    /// Starts a node with the replicas that it had; one that runs is stopped in order before.
    ///
    /// - Throws: what starting a server throws.
    public func restart(_ number: Int) async throws { try await node(number).server.restart() }

    /// Cuts a node off from the journals: nothing that it asks or appends is answered, until ``mend(_:)``. Clients reach
    /// the node. It answers queries from its replicas, and clients keep what they write.
    ///
    /// - Parameters:
    ///   - number: the node.
    ///   - takesNext: whether the journal still takes the group that the node appends next in each database, and only the
    ///     answer is lost: then nobody knows what has become of it.
    public func cut(_ number: Int, takingNext takesNext: Bool = false) {
        node(number).journals.cut(takingNext: takesNext)
    }

    /// Ends a ``cut(_:takingNext:)``. The node catches up, and stores whose uploads it has held back come again, as the
    /// clock moves.
    public func mend(_ number: Int) { node(number).journals.mend() }

    /// Begins another history in the journal of each database, as when the database that holds them fails over or is
    /// restored: an epoch begins, and the last groups may be gone. Stores that have seen what is lost do what their
    /// `StoreConfiguration.clientReset` says, and the others go on, as the clock moves.
    ///
    /// - Parameter count: how many groups of each journal are lost. Transactions that the servers commit together are one
    ///   group, and so are the openings of stores, schemas and rules.
    public func fork(losing count: Int = 0) throws { try nodes[0].journals.shared.fork(losing: count) }

    // MARK: Waiting

    /// Waits until no node, no store and nothing between them has anything left to do as long as the clock stands still,
    /// as ``TestServer/settled(timeout:)``. All nodes that run and reach the journal have then followed it to its end.
    ///
    /// - Parameter timeout: the longest wait without progress, in real time.
    /// - Throws: ``NotSettled`` when work goes on.
    public func settled(timeout: Duration = .seconds(120)) async throws { try await world.settled(timeout: timeout) }

    /// Moves the clock, and lets everything happen that its timers set off, as ``TestServer/advance(by:)``.
    ///
    /// - Throws: ``NotSettled``.
    public func advance(by duration: Duration) async throws { try await world.advance(by: duration) }
}

/// How one node reaches the journals over its lives.
private final class NodeJournals: Sendable {
    private struct State {
        var current: MemoryJournals?
        var isCut = false
    }

    let shared: MemoryJournals
    private let state = Mutex(State())

    init(_ shared: MemoryJournals) { self.shared = shared }

    /// The journals for a node that starts.
    func connect() -> MemoryJournals {
        let journals = shared.another()
        let isCut = state.withLock { state in
            state.current = journals
            return state.isCut
        }
        if isCut { journals.setAnswers(false) }
        return journals
    }

    /// Lets the journals have nothing more of a node that is killed.
    func disconnect() { state.withLock { $0.current }?.stop() }

    func cut(takingNext takesNext: Bool) {
        let current = state.withLock { state in
            state.isCut = true
            return state.current
        }
        if takesNext { current?.loseNextAnswer() } else { current?.setAnswers(false) }
    }

    func mend() {
        let current = state.withLock { state in
            state.isCut = false
            return state.current
        }
        current?.setAnswers(true)
    }
}
