internal import Sluice
internal import SluiceServer
internal import SluiceTransport
internal import Synchronization

/// What the servers of one test share: the clock, the network, and the stores.
final class TestWorld: Sendable {
    struct Client: Sendable {
        weak var core: StoreCore?
        let link: ClientLink
        /// Stores are numbered in the order in which they are opened, from 1.
        let number: Int
        /// What errors call the store.
        let name: String
    }

    private struct State {
        /// The running servers, by the names of their hosts.
        var servers: [String: SyncServer] = [:]
        var clients: [ObjectIdentifier: Client] = [:]
        var openedCount = 0
        /// The conditions of stores that are opened from now on.
        var conditions = NetworkConditions()
    }

    let clock: ManualClock
    let floor: NetworkFloor
    let network: LoopbackNetwork
    private let state = Mutex(State())

    init(_ clock: ManualClock) {
        self.clock = clock
        let floor = NetworkFloor(clock)
        self.floor = floor
        network = LoopbackNetwork { floor.run($0) }
        clock.afterMoves { [weak self] in self?.servers.forEach { $0.expireSessions() } }
    }

    // MARK: Servers

    /// The running servers, in the order of their hosts' names.
    var servers: [SyncServer] { state.withLock { $0.servers.sorted { $0.key < $1.key }.map(\.value) } }

    /// Sets which server runs on a host; nil for none.
    func set(_ server: SyncServer?, on host: String) { state.withLock { $0.servers[host] = server } }

    // MARK: Stores

    /// The stores that are open, in the order in which they were opened.
    var clients: [Client] { state.withLock { $0.clients.values.sorted { $0.number < $1.number } } }

    func link(of store: Store) -> ClientLink? { state.withLock { $0.clients[ObjectIdentifier(store.core)]?.link } }

    /// A link for a store that is about to be opened.
    func makeLink() -> ClientLink {
        let link = ClientLink(network, floor)
        link.set(state.withLock { $0.conditions })
        return link
    }

    /// Notes a store that was opened. One that was already open keeps its link.
    func add(_ core: StoreCore, _ link: ClientLink, user: String?) {
        state.withLock { state in
            let id = ObjectIdentifier(core)
            state.clients = state.clients.filter { $0.value.core != nil }
            guard state.clients[id] == nil else { return }
            state.openedCount += 1
            let name = "store \(state.openedCount)" + (user.map { " (\($0))" } ?? "")
            state.clients[id] = Client(core: core, link: link, number: state.openedCount, name: name)
        }
    }

    /// Changes the network of all stores, those that are opened later included.
    func set(_ conditions: NetworkConditions) {
        let links = state.withLock { state in
            state.conditions = conditions
            return state.clients.values.map(\.link)
        }
        for link in links { link.set(conditions) }
    }

    // MARK: Connecting

    /// Makes all stores connect now. They are told so behind what the network has still to tell them of the connections
    /// that a server before this one has ended: a store that takes itself for connected would not connect.
    func reconnect() {
        floor.run { [weak self, floor] in
            floor.run { [weak self] in
                for client in self?.clients ?? [] {
                    if let core = client.core { Self.reconnect(core, client.link) }
                }
            }
        }
    }

    /// Makes a store connect now. If an attempt is under way, which may have failed because of the old state of the
    /// network, this waits for its end first.
    static func reconnect(_ core: StoreCore, _ link: ClientLink) {
        core.performLater { [weak core] engine in
            if engine.isConnecting {
                // An attempt that takes time, or waits for the test, ends by itself.
                if let core, !link.isDelayed { reconnect(core, link) }
            } else {
                engine.handle(.reconnect)
            }
        }
    }
}
