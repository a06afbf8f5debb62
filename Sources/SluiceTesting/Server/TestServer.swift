internal import FoundationEssentials
public import Sluice
public import SluiceModel
internal import SluiceServer
internal import SluiceTransport
internal import Synchronization

/// A sync server within a test, without sockets: opens stores that sync with it, and lets the test cut the network, stop
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
/// The server's data lie in a temporary folder, outlive ``stop()`` and go with this object.
public final class TestServer: Sendable {
    private struct Client: Sendable {
        weak var core: StoreCore?
        let link: ClientLink
    }

    private struct State {
        var server: SyncServer?
        var clients: [ObjectIdentifier: Client] = [:]
    }

    /// The clock of the server and of every store that it opens.
    public let clock: ManualClock
    private let folder: String
    private let network: LoopbackNetwork
    private let workerID: String?
    private let state = Mutex(State())

    /// A running server without data.
    ///
    /// - Parameters:
    ///   - clock: shared with other servers, perhaps.
    ///   - workerID: how change events name the server.
    /// - Throws: `ServerError` when the temporary folder cannot be made.
    public init(clock: ManualClock = ManualClock(), workerID: String? = nil) throws {
        self.clock = clock
        self.workerID = workerID
        folder = FileManager.default.temporaryDirectory.path + "/sluice-test-\(UUID().uuidString)"
        network = LoopbackNetwork()
        try start()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    // MARK: The server

    /// Starts the server again, with the data that it had. Does nothing while it runs.
    public func start() throws {
        try state.withLock { state in
            guard state.server == nil else { return }
            var configuration = ServerConfiguration(dataFolder: folder, host: "server", isDevelopment: true)
            configuration.workerID = workerID
            configuration.loopback = network
            configuration.now = { [clock] in clock.timestamp }
            let server = try SyncServer(configuration)
            try server.start()
            state.server = server
        }
        reconnect()
    }

    /// Stops the server. Stores notice, and wait for it.
    public func stop() async {
        let server = state.withLock { state in
            defer { state.server = nil }
            return state.server
        }
        await server?.stop()
    }

    /// Stops the server and starts it again.
    public func restart() async throws {
        await stop()
        try start()
    }

    /// How many stores are connected.
    public var connectionCount: Int { state.withLock { $0.server }?.connectionCount ?? 0 }

    // MARK: Stores

    /// Opens a store that syncs with this server.
    ///
    /// - Parameters:
    ///   - models: the Swift types whose objects it holds.
    ///   - schema: classes without a Swift type.
    ///   - database: which of the server's databases; stores of one database share its objects.
    ///   - path: the store's file; nil for a private store in memory.
    ///   - configure: changes the configuration before the store is opened.
    /// - Throws: what `Store.open(_:)` throws.
    public func open(
        _ models: [any Model.Type] = [], schema: Schema = Schema(), database: String = "test", path: String? = nil,
        configure: (inout StoreConfiguration) -> Void = { _ in }
    ) async throws -> Store {
        let link = ClientLink(network)
        var configuration = StoreConfiguration(
            path: path, models: models, schema: schema, sync: SyncConfiguration(url: "ws://server/\(database)"))
        configuration.environment.now = { [clock] in clock.timestamp }
        configuration.environment.schedule = { [clock] delay, body in clock.schedule(after: delay, body) }
        configuration.environment.connect = { endpoint, delegate in try link.connect(to: endpoint, delegate) }
        configure(&configuration)
        let store = try await Store.open(configuration)
        state.withLock { state in
            let id = ObjectIdentifier(store.core)
            state.clients = state.clients.filter { $0.value.core != nil }
            // A store that was open already goes on over the link that it has.
            if state.clients[id] == nil { state.clients[id] = Client(core: store.core, link: link) }
        }
        return store
    }

    // MARK: The network

    /// Cuts a store off the server: its connection breaks, what is under way is lost, and it cannot connect until
    /// ``restore(_:)``.
    public func cut(_ store: Store) { link(of: store)?.cut() }

    /// Gives a store its network back; it connects at once, whatever the clock says.
    public func restore(_ store: Store) {
        link(of: store)?.restore()
        Self.reconnect(store.core)
    }

    private func link(of store: Store) -> ClientLink? {
        state.withLock { $0.clients[ObjectIdentifier(store.core)]?.link }
    }

    private func reconnect() {
        for client in state.withLock({ Array($0.clients.values) }) {
            if let core = client.core { Self.reconnect(core) }
        }
    }

    /// Has a store connect now. An attempt that is under way, and may have met the network as it was, ends first.
    private static func reconnect(_ core: StoreCore) {
        core.performLater { [weak core] engine in
            if engine.isConnecting {
                if let core { reconnect(core) }
            } else {
                engine.handle(.reconnect)
            }
        }
    }
}
