internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// Runs the connection of one store: it carries frames between the transport and the store's queue. Frames go out in
/// order while the store has a place on a connection, and are dropped otherwise: a session that opens later asks anew,
/// and uploads what was not acknowledged.
///
/// This is the entrance of the room `Connections`: stores with the same server, login and settings share a
/// ``SharedConnection``, on which each is a ``ConnectionMember``.
final class ServerLink: Sendable {
    private let endpoints: [Endpoint]
    private let configuration: SyncConfiguration
    private let environment: StoreEnvironment
    /// Whether the store may share its connection: the server forgets one in memory when its session is closed.
    private let mayShare: Bool
    private let state = Mutex<(member: ConnectionMember, listener: Listener)?>(nil)

    /// - Throws: ``StoreError`` when the URL, a duration or a variable is invalid.
    init(_ configuration: SyncConfiguration, environment: StoreEnvironment, isShortLived: Bool) throws {
        do throws(TransportError) {
            var endpoints: [Endpoint] = []
            for url in configuration.urls { endpoints.append(try Endpoint(url)) }
            self.endpoints = endpoints
        } catch {
            throw StoreError(.invalidConfiguration, error.message, cause: error)
        }
        guard let first = endpoints.first else {
            throw StoreError(.invalidConfiguration, "there is no URL of a server; SyncConfiguration needs one or more")
        }
        if let other = endpoints.first(where: { $0.target != first.target }) {
            throw StoreError(
                .invalidConfiguration,
                "the URLs of a store name one database, and these name '\(first.databaseName)' and "
                    + "'\(other.databaseName)'")
        }
        if let count = configuration.attemptCountMax, count < 1 {
            throw StoreError(.invalidConfiguration, "attemptCountMax is \(count); it must be above zero, or nil")
        }
        for (name, duration) in [
            ("connectTimeout", configuration.connectTimeout), ("reconnectDelay", configuration.reconnectDelay),
            ("reconnectDelayMax", configuration.reconnectDelayMax), ("heartbeat", configuration.heartbeat),
        ] where duration <= .zero {
            throw StoreError(.invalidConfiguration, "\(name) is \(duration); it must be above zero")
        }
        if let problem = VariableLimits.problem(with: ValueMap(configuration.variables)) {
            throw StoreError(.invalidConfiguration, problem)
        }
        self.configuration = configuration
        self.environment = environment
        mayShare = configuration.sharesConnection && !isShortLived && environment.connect == nil
    }

    /// The database that the URLs name.
    var databaseName: String { endpoints[0].databaseName }

    /// - Throws: `TransportError` when a session cannot be handed over to the URL.
    private func endpoint(of server: ServerChoice) throws -> Endpoint {
        switch server {
        case .configured(let position): return endpoints[position % endpoints.count]
        case .handedOver(let url):
            let endpoint = try Endpoint(url)
            guard endpoint.usesTLS || !endpoints.contains(where: \.usesTLS) else {
                throw TransportError(
                    .invalidURL,
                    "the server hands the session over to a server without TLS, where this store does not follow")
            }
            guard endpoint.target == endpoints[0].target else {
                throw TransportError(.invalidURL, "the server hands the session over to another database")
            }
            return endpoint
        }
    }

    /// Begins a connection, or joins one that is there, and reports its events to `tell`, in order, until
    /// ``disconnect()``.
    func connect(
        to server: ServerChoice, as credentials: Credentials, notify: @escaping @Sendable (ClientEvent) -> Void
    ) {
        let listener = Listener(notify: notify)
        do {
            let endpoint = try endpoint(of: server)
            let key = mayShare ? ConnectionPool.Key(endpoint, configuration, credentials) : nil
            let member = try ConnectionPool.shared.join(
                key, agent: ClientOptions().agent, uptime: environment.uptime, notify: { listener.say($0) },
                connect: { try connect(to: endpoint, $0) })
            state.withLock { $0 = (member, listener) }
            listener.begin()
        } catch {
            let transport = error as? TransportError
            // A bad address of another server ends nothing: the store returns to those of its configuration.
            let outlook: TransportError.Outlook =
                if case .handedOver = server { .passing } else { transport?.outlook ?? .lasting }
            notify(.closed(reason: transport?.message ?? "\(error)", outlook: outlook))
        }
    }

    private func connect(
        to endpoint: Endpoint, _ delegate: any MessageConnectionDelegate
    ) throws -> any MessageConnection {
        if let connect = environment.connect { return try connect(endpoint, delegate) }
        if let loopback = configuration.loopback { return loopback.connect(to: endpoint, delegate: delegate) }
        return try WebSocketClient.connect(
            to: endpoint, options: options, loop: try SharedLoop.loop(), delegate: delegate)
    }

    /// Takes the place of the session on the connection that has opened; nil if it is over.
    func takePlace() -> ConnectionPlace? { state.withLock { $0?.member }?.takePlace() }

    private var options: WebSocketClientOptions {
        var options = WebSocketClientOptions()
        options.connection.openTimeout = configuration.connectTimeout
        options.connection.pingInterval = configuration.heartbeat
        options.connection.pongTimeout = configuration.heartbeat * 2
        options.trust =
            switch configuration.trust {
            case .systemAuthorities: .systemAuthorities
            case .authorities(let files): .authorities(files: files)
            case .pinned(let file): .pinned(file: file)
            case .selfSignedOnly: .selfSignedOnly
            }
        options.trustSetting = configuration.trustSetting
        for (name, value) in configuration.headers.sorted(by: { $0.key < $1.key }) {
            options.headers.append(name, value)
        }
        options.networkInterface = configuration.networkInterface
        return options
    }

    func send(_ frame: [UInt8]) { state.withLock { $0?.member }?.send(frame) }

    /// How soon a connection that is probed must show that the server is there.
    private static let probeTimeout: Duration = .seconds(10)

    /// Has the connection end soon if the server is not there any more.
    func probe() {
        state.withLock { $0?.member }?.probe(timeout: min(Self.probeTimeout, configuration.heartbeat * 2))
    }

    /// Ends the session on the connection, and the connection with its last. No further event of it is reported.
    func disconnect() {
        let ended = state.withLock { state in
            defer { state = nil }
            return state
        }
        ended?.listener.silence()
        ended?.member.leave()
    }

    /// Reports that the store has handled a received frame.
    func didHandleFrame() { state.withLock { $0?.member }?.didHandleFrame() }

    /// Reports the events of one connection, from when the link knows it.
    private final class Listener: Sendable {
        private enum State {
            /// The link does not know the connection yet, which may report already.
            case waiting([ClientEvent])
            case listening
            case silent
        }

        private let notify: @Sendable (ClientEvent) -> Void
        private let state = Mutex(State.waiting([]))

        init(notify: @escaping @Sendable (ClientEvent) -> Void) { self.notify = notify }

        /// Reports what has happened so far, and from now on.
        func begin() {
            // Under the lock, so that nothing overtakes. What is told is only queued.
            state.withLock { state in
                guard case .waiting(let events) = state else { return }
                state = .listening
                for event in events { notify(event) }
            }
        }

        func silence() { state.withLock { $0 = .silent } }

        func say(_ event: ClientEvent) {
            state.withLock { state in
                switch state {
                case .waiting(let events): state = .waiting(events + [event])
                case .listening: notify(event)
                case .silent: break
                }
            }
        }
    }
}

extension Endpoint {
    /// The database that the URL names.
    fileprivate var databaseName: String { String(target.drop { $0 == "/" }) }
}

/// Holds the event loop that all stores of a process share.
private enum SharedLoop {
    private static let shared = Mutex<EventLoop?>(nil)

    static func loop() throws -> EventLoop {
        try shared.withLock { loop in
            if let loop { return loop }
            let made = try EventLoop()
            loop = made
            return made
        }
    }
}
