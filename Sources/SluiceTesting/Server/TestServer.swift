internal import FoundationEssentials
public import Sluice
public import SluiceBackend
public import SluiceModel
public import SluiceServer
internal import SluiceStorage
internal import Synchronization

/// A sync server in a test, without sockets. It opens stores that sync with it, and lets the test cut the network, stop
/// the server and move the clock.
///
/// ```swift
/// let server = try TestServer()
/// let alice = try await server.open([Car.self])
/// let bob = try await server.open([Car.self])
///
/// let recorder = try EventRecorder(bob.objects(Car.self).where { $0.price < 10_000 })
/// try await recorder.complete()
///
/// server.cut(bob)
/// try await alice.write { try $0.insert(Car(vin: "JT2", price: 9_000)) }
/// try await alice.uploaded()
/// server.restore(bob)
///
/// let change = try await recorder.event { !$0.insertions.isEmpty }
/// #expect(change.remote != nil)
/// ```
///
/// With rules, each store is some user's:
///
/// ```swift
/// let server = try TestServer(rules: #"{"classes": {"Car": {"read": "owner == $user.id", "create": true}}}"#)
/// let ada = try await server.open([Car.self], user: "ada")
/// let boss = try await server.open([Car.self], user: "eve", claims: #"{"role": "boss"}"#)
/// ```
///
/// The server's data is in a temporary folder. It survives ``stop()`` and is deleted with this object.
public final class TestServer: Sendable {
    struct State {
        var server: SyncServer?
        /// Why writes to a class are rejected; nil for a class to which they are not any more.
        var writeRejections: [String: String?] = [:]
        /// What users may read and do, as a rules file; nil if everybody may do everything.
        var rules: String?
    }

    /// The clock of the server and of every store that it opens.
    public var clock: ManualClock { world.clock }
    let world: TestWorld
    /// The name by which stores reach the server.
    let host: String
    package let folder: String
    /// Makes what reaches the journals of the server's databases; nil if each has its own in its file.
    private let journals: (@Sendable () -> any JournalService)?
    private let workerID: String?
    private let prepare: @Sendable (SyncServer) -> Void
    private let log: LogSink?
    private let patience: Duration
    private let replicas: ReplicaPolicy
    let state: Mutex<State>

    /// Starts a server without data.
    ///
    /// - Parameters:
    ///   - clock: the clock of the server and its stores; several servers may share one.
    ///   - workerID: the name of the server in change events; nil for none.
    ///   - rules: what users may read and do, as a rules file; nil if everybody may do everything.
    ///   - log: where the server's log lines go; nil logs nothing.
    ///   - patience: the longest that a wait of a store with a time-out, such as `synced(timeout:)`, takes in real
    ///     time. Time-outs follow the clock, which stands still unless the test moves it; this makes a hanging test fail.
    ///   - prepare: called with the server before it starts, and again whenever it is started again; it adds validators
    ///     and resolvers.
    /// - Throws: `ServerError` when the temporary folder cannot be made or the rules are refused.
    public convenience init(
        clock: ManualClock = ManualClock(), workerID: String? = nil, rules: String? = nil,
        log: LogSink? = nil, patience: Duration = .seconds(120),
        prepare: @escaping @Sendable (SyncServer) -> Void = { _ in }
    ) throws {
        try self.init(
            in: TestWorld(clock), host: "server", journals: nil, workerID: workerID, rules: rules, log: log,
            patience: patience, replicas: ReplicaPolicy(), prepare: prepare)
    }

    /// - Parameters:
    ///   - world: what the server shares with others.
    ///   - host: the name by which stores reach it.
    ///   - journals: called at each start; nil if each database has its journal in its file.
    init(
        in world: TestWorld, host: String, journals: (@Sendable () -> any JournalService)?, workerID: String?,
        rules: String?, log: LogSink?, patience: Duration, replicas: ReplicaPolicy,
        prepare: @escaping @Sendable (SyncServer) -> Void
    ) throws {
        self.replicas = replicas
        self.world = world
        self.host = host
        self.journals = journals
        self.prepare = prepare
        self.log = log
        self.patience = patience
        state = Mutex(State(rules: rules))
        self.workerID = workerID
        folder = FileManager.default.temporaryDirectory.path + "/sluice-test-\(UUID().uuidString)"
        try start()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    // MARK: The server

    /// Starts the server again, with the data that it had. Does nothing while it is running.
    public func start() throws {
        try state.withLock { state in
            guard state.server == nil else { return }
            var configuration = ServerConfiguration(
                dataFolder: folder, host: host, isDevelopment: state.rules == nil)
            if let rules = state.rules {
                configuration.rules = rules
                configuration.logins.custom = { TestUser($0).map { LoginUser(id: $0.id, claims: $0.claims) } }
            }
            configuration.workerID = workerID
            configuration.loopback = world.network
            configuration.journals = journals?()
            configuration.replicas = replicas
            configuration.log = log
            configuration.now = { [clock] in clock.timestamp }
            configuration.schedule = { [clock] delay, body in clock.schedule(after: delay, isUpkeep: true, body) }
            let server = try SyncServer(configuration)
            prepare(server)
            for className in state.writeRejections.keys { judgeWrites(to: className, server) }
            try server.start()
            state.server = server
            world.set(server, on: host)
        }
        world.reconnect()
    }

    /// Stops the server. Stores notice that, and try to reconnect as the clock moves.
    public func stop() async { await stop(isKilled: false) }

    /// Stops the server.
    ///
    /// - Parameter isKilled: whether it closes nothing properly.
    func stop(isKilled: Bool) async {
        let server = state.withLock { state in
            defer { state.server = nil }
            return state.server
        }
        await server?.stop(isKilled: isKilled)
        world.set(nil, on: host)
    }

    /// Stops the server and starts it again.
    public func restart() async throws {
        await stop()
        try start()
    }

    /// Stops the server and starts it without its data, as after a restore from nothing. Its history is then another
    /// one than its stores know: they do what their `StoreConfiguration.clientReset` says.
    ///
    /// - Throws: what starting a server throws.
    public func restartWithoutData() async throws {
        await stop()
        try? FileManager.default.removeItem(atPath: folder)
        try start()
    }

    /// Stops the server and starts it with other rules; it must have had some.
    ///
    /// - Throws: `ServerError` when the rules are refused; then the server stays stopped.
    public func restart(rules: String) async throws {
        precondition(state.withLock { $0.rules } != nil, "a server without rules knows no users")
        await stop()
        state.withLock { $0.rules = rules }
        try start()
    }

    /// The number of connected stores.
    public var connectionCount: Int { state.withLock { $0.server }?.connectionCount ?? 0 }

    /// A database of the server, to write and observe as a backend in the server's process does. The handle is of the
    /// present run: after ``stop()`` it fails, also when the server was started again.
    ///
    /// - Throws: what `SyncServer.database(_:models:)` throws; `ServerError` while the server is stopped.
    public func database(_ name: String = "test", models: [any Model.Type] = []) async throws -> ServerDatabase {
        guard let server = state.withLock({ $0.server }) else {
            throw ServerError(.stopped, "the test server is stopped; start it first")
        }
        return try await server.database(name, models: models)
    }

    // MARK: Stores

    /// Opens a store that syncs with this server.
    ///
    /// - Parameters:
    ///   - models: the Swift types whose objects the store holds.
    ///   - schema: classes without a Swift type.
    ///   - database: the name of the server's database; stores of one database share its objects.
    ///   - path: the store's file; nil for a private store in memory.
    ///   - user: the user's id, for a server with rules; nil for a user without one. The server believes it.
    ///   - claims: what rules find at `$user.claims`, as a JSON object; for a server with rules.
    ///   - declaring: whether a server with rules is given the classes first, as by somebody who may change its schema,
    ///     so that users without that right find them. It is not while it is stopped. False is for tests of that right.
    ///   - configure: changes the configuration before the store is opened.
    /// - Throws: what `Store.open(_:)` throws; `ServerError` where the server has no rules, and so knows no users, but
    ///   a user or claims are given; `SchemaError` when the classes contradict those of a server with rules.
    public func open(
        _ models: [any Model.Type] = [], schema: Schema = Schema(), database: String = "test", path: String? = nil,
        user: String? = nil, claims: String = "{}", declaring: Bool = true,
        configure: (inout StoreConfiguration) -> Void = { _ in }
    ) async throws -> Store {
        let link = world.makeLink()
        var configuration = StoreConfiguration(
            path: path, models: models, schema: schema, sync: SyncConfiguration(url: "ws://\(host)/\(database)"))
        let hasRules = state.withLock { $0.rules != nil }
        guard hasRules || user == nil && claims == "{}" else {
            throw ServerError(
                .invalidConfiguration,
                "the store is to be \(user.map { "user '\($0)'" } ?? "somebody with claims"), and a test server without "
                    + "rules knows no users: make it with TestServer(rules:)")
        }
        if hasRules { configuration.sync?.credentials = .jwt(TestUser(id: user, claims: claims).token) }
        configuration.environment.now = { [clock] in clock.timestamp }
        configuration.environment.schedule = { [clock] delay, body in clock.schedule(after: delay, body) }
        configuration.environment.scheduleUpkeep = { [clock] delay, body in
            clock.schedule(after: delay, isUpkeep: true, body)
        }
        configuration.environment.patience = patience
        configuration.environment.watchNetwork = { _ in nil }
        configuration.environment.uptime = { [clock] in clock.elapsed }
        configuration.environment.suspendedTime = { .zero }
        configuration.environment.connect = { endpoint, delegate in try link.connect(to: endpoint, delegate) }
        configure(&configuration)
        if hasRules, declaring, let server = state.withLock({ $0.server }) {
            try await server.database(database).declare(configuration.wholeSchema().synced.classes)
        }
        let store = try await Store.open(configuration)
        world.add(store.core, link, user: user)
        return store
    }

    // MARK: The network

    /// Disconnects stores from the server: their connections break, everything in transit is lost, and they cannot
    /// connect until ``restore(_:)``.
    public func cut(_ stores: Store...) { for store in stores { link(of: store)?.cut() } }

    /// Ends a ``cut(_:)``; the stores connect at once, whatever the clock shows.
    public func restore(_ stores: Store...) {
        for store in stores {
            guard let link = link(of: store) else { continue }
            link.restore()
            TestWorld.reconnect(store.core, link)
        }
    }

    func link(of store: Store) -> ClientLink? { world.link(of: store) }
}
