import Synchronization

/// What all connections of a server share.
final class ServerCore: ConnectionAcceptor {
    private struct State {
        var connections: [ConnectionID: WebSocketConnection] = [:]
        var open: Set<ConnectionID> = []
        var isStopping = false
        var whenEmpty: [@Sendable () -> Void] = []
    }

    let hooks: ServerHooks
    let tls: TLSContext?
    private let connectionCountMax: Int
    private let state = Mutex(State())

    /// How many connections beyond the limit may be in their opening handshake, to be refused politely.
    private static let openingCountMax = 1_024

    init(hooks: ServerHooks, tls: TLSContext?, connectionCountMax: Int) {
        self.hooks = hooks
        self.tls = tls
        self.connectionCountMax = connectionCountMax
    }

    var connectionCount: Int { state.withLock { $0.open.count } }

    /// Counts a new connection; false when there are far too many.
    func add(_ connection: WebSocketConnection) -> Bool {
        state.withLock { state in
            guard !state.isStopping,
                state.connections.count - state.open.count < ServerCore.openingCountMax
            else { return false }
            state.connections[connection.id] = connection
            return true
        }
    }

    /// Forgets a connection that has ended.
    ///
    /// - Parameter error: why it never opened; nil if it did.
    func remove(_ connection: WebSocketConnection, refusedBecause error: TransportError?) {
        if let error { hooks.didRefuse(connection.peerDescription, error) }
        let actions = state.withLock { state in
            state.connections[connection.id] = nil
            state.open.remove(connection.id)
            guard state.connections.isEmpty else { return [@Sendable () -> Void]() }
            defer { state.whenEmpty = [] }
            return state.whenEmpty
        }
        for action in actions { action() }
    }

    func page(for request: HTTPRequest) -> HTTPResponse? { hooks.page(request) }

    /// Asks the owner about an upgrade, unless the limit answers.
    func decide(_ request: HTTPRequest, for connection: WebSocketConnection) -> UpgradeDecision {
        let refusal: UpgradeDecision? = state.withLock { state in
            if state.isStopping { return .reject(status: 503, text: "this server is shutting down") }
            guard state.open.count < connectionCountMax else {
                return .reject(status: 503, text: "this server has \(connectionCountMax) connections, its limit")
            }
            state.open.insert(connection.id)
            return nil
        }
        if let refusal { return refusal }
        let decision = hooks.accept(request, connection)
        if case .reject = decision { _ = state.withLock { $0.open.remove(connection.id) } }
        return decision
    }

    /// Takes no more connections, and closes those that there are.
    ///
    /// - Parameter whenEmpty: called once all are closed, perhaps at once.
    func closeAll(whenEmpty: @escaping @Sendable () -> Void) {
        let connections = state.withLock { state in
            state.isStopping = true
            if !state.connections.isEmpty { state.whenEmpty.append(whenEmpty) }
            return Array(state.connections.values)
        }
        if connections.isEmpty { return whenEmpty() }
        for connection in connections { connection.close(code: .goingAway, reason: "the server is shutting down") }
    }

    /// Ends what is left.
    func abortAll() {
        let connections = state.withLock { Array($0.connections.values) }
        for connection in connections { connection.abort() }
    }
}
