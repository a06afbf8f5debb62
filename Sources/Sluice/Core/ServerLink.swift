internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// Runs the connection of one store: it carries frames between the transport and the store's queue.
final class ServerLink: Sendable {
    private struct State {
        var connection: (any MessageConnection)?
        var delegate: Delegate?
    }

    private let endpoint: Endpoint
    private let configuration: SyncConfiguration
    private let environment: StoreEnvironment
    private let state = Mutex(State())

    /// - Throws: ``StoreError`` when the URL, a duration or a variable is invalid.
    init(_ configuration: SyncConfiguration, environment: StoreEnvironment) throws {
        do {
            endpoint = try Endpoint(configuration.url)
        } catch {
            throw StoreError(.invalidConfiguration, error.message, cause: error)
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
    }

    /// The database that the URL names.
    var databaseName: String { String(endpoint.target.drop { $0 == "/" }) }

    /// Begins a connection, and reports its events to `tell`, in order, until ``disconnect()``.
    func connect(tell: @escaping @Sendable (ClientEvent) -> Void) {
        let delegate = Delegate(tell: tell)
        do {
            let connection: any MessageConnection
            if let connect = environment.connect {
                connection = try connect(endpoint, delegate)
            } else if let loopback = configuration.loopback {
                connection = loopback.connect(to: endpoint, delegate: delegate)
            } else {
                connection = try WebSocketClient.connect(
                    to: endpoint, options: options, loop: try SharedLoop.loop(), delegate: delegate)
            }
            state.withLock { state in
                state.connection = connection
                state.delegate = delegate
            }
        } catch {
            delegate.silence()
            let transport = error as? TransportError
            tell(.closed(reason: transport?.message ?? "\(error)", isTransient: transport?.isTransient ?? false))
        }
    }

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
        for (name, value) in configuration.headers.sorted(by: { $0.key < $1.key }) {
            options.headers.append(name, value)
        }
        options.networkInterface = configuration.networkInterface
        return options
    }

    func send(_ frame: [UInt8]) {
        state.withLock { $0.connection }?.send(SharedBuffer(frame))
    }

    /// Ends the connection. No further event of it is reported.
    func disconnect() {
        let ended = state.withLock { state in
            defer { state = State() }
            return state
        }
        ended.delegate?.silence()
        ended.connection?.close()
    }

    /// Reports that the store has handled a received frame.
    func didHandleFrame() {
        let (connection, delegate) = state.withLock { ($0.connection, $0.delegate) }
        if let connection { delegate?.didHandleFrame(connection) }
    }

    /// Reports the events of one connection, and pauses it while the store has too many frames to handle.
    private final class Delegate: MessageConnectionDelegate {
        private static let pendingCountMax = 64

        private let tell: @Sendable (ClientEvent) -> Void
        private let isSilent = Atomic<Bool>(false)
        /// One lock guards the count and the calls to the connection, because a pause that came after its own
        /// resumption would never end.
        private let flow = Mutex((pendingCount: 0, isPaused: false))

        init(tell: @escaping @Sendable (ClientEvent) -> Void) { self.tell = tell }

        func silence() { isSilent.store(true, ordering: .sequentiallyConsistent) }

        private func say(_ event: ClientEvent) {
            if !isSilent.load(ordering: .sequentiallyConsistent) { tell(event) }
        }

        func connectionDidOpen(_ connection: any MessageConnection) { say(.opened) }

        func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
            flow.withLock { flow in
                flow.pendingCount += 1
                guard flow.pendingCount >= Self.pendingCountMax, !flow.isPaused else { return }
                flow.isPaused = true
                connection.pauseReceiving()
            }
            say(.received(Array(message)))
        }

        func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
            say(
                .closed(
                    reason: error?.message ?? "the server closed the connection",
                    isTransient: error?.isTransient ?? true))
        }

        func didHandleFrame(_ connection: any MessageConnection) {
            flow.withLock { flow in
                flow.pendingCount -= 1
                guard flow.pendingCount <= Self.pendingCountMax / 4, flow.isPaused else { return }
                flow.isPaused = false
                connection.resumeReceiving()
            }
        }
    }
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
