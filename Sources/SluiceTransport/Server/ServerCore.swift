import Glibc
import Synchronization

/// Keeps the state that all connections of a server share: it limits their number, decides which ones begin, and closes
/// all of them at the end.
final class ServerCore: ConnectionAcceptor {
    private struct State {
        var connections: [ConnectionID: WebSocketConnection] = [:]
        var open: Set<ConnectionID> = []
        /// The connections with requests that are being answered.
        var answering: Set<ConnectionID> = []
        var pending: PendingConnections
        /// The sockets of connections that wait for a place.
        var sockets: [ConnectionID: Int32] = [:]
        var refusingCount = 0
        var isTicking = false
        var isStopping = false
        var whenEmpty: [@Sendable () -> Void] = []
    }

    let hooks: ServerHooks
    /// The certificate that new connections are shown; nil without TLS.
    private let certificate: Mutex<TLSContext?>
    private let options: WebSocketServerOptions
    private let loop: EventLoop
    private let state: Mutex<State>

    /// How often ``PendingConnections/tick(now:)`` is called while connections are pending or waiting.
    private static let tickTime = Duration.milliseconds(250)

    /// - Parameter loop: runs the timer of the pending connections.
    init(hooks: ServerHooks, tls: TLSContext?, options: WebSocketServerOptions, loop: EventLoop) {
        self.hooks = hooks
        certificate = Mutex(tls)
        self.options = options
        self.loop = loop
        state = Mutex(
            State(
                pending: PendingConnections(
                    .init(
                        pendingMax: options.pendingConnectionCountMax,
                        pendingMaxPerAddress: options.pendingConnectionCountMaxPerAddress,
                        waitingMax: options.waitingConnectionCountMax, patience: options.patience.nanoseconds,
                        time: options.connection.openTimeout.nanoseconds))))
    }

    var tls: TLSContext? { certificate.withLock { $0 } }

    /// Shows new connections another certificate. Those that are open keep theirs.
    func show(_ context: TLSContext) { certificate.withLock { $0 = context } }

    var connectionCount: Int { state.withLock { $0.open.count } }

    /// Accepts a new socket: serves it, lets it wait for a place, or refuses it.
    ///
    /// - Parameter user: the user of this machine at the other end; nil if that is not known.
    func accept(_ socket: Int32, from address: SocketAddress, of user: UInt32? = nil, loop: EventLoop) {
        let connection = WebSocketConnection(
            role: .server(self), state: .connecting, peer: address.text, peerUser: user, loop: loop,
            options: options.connection, delegate: nil)
        let isStopping = state.withLock { state in
            guard !state.isStopping else { return true }
            state.connections[connection.id] = connection
            state.sockets[connection.id] = socket
            return false
        }
        if isStopping { return Socket.close(socket) }
        change { $0.arrive(connection.id, from: address.key, now: $1) }
    }

    /// The owner knows who the peer of a connection is, so the connection is no longer pending.
    func admit(_ connection: WebSocketConnection) { change { $0.leave(connection.id, now: $1) } }

    /// Changes the pending connections and carries out the steps that result.
    private func change(_ body: (inout PendingConnections, Int64) -> [PendingConnections.Step]) {
        let now = MonotonicClock.now
        let (actions, mustTick) = state.withLock { state in
            let actions = body(&state.pending, now).compactMap { action(for: $0, &state) }
            defer { state.isTicking = !state.pending.isIdle }
            return (actions, !state.isTicking && !state.pending.isIdle)
        }
        for action in actions { action() }
        if mustTick { scheduleTick() }
    }

    private func scheduleTick() {
        loop.execute { [self] in
            _ = loop.schedule(after: ServerCore.tickTime) { [weak self] in
                guard let self else { return }
                state.withLock { $0.isTicking = false }
                change { $0.tick(now: $1) }
            }
        }
    }

    private func action(for step: PendingConnections.Step, _ state: inout State) -> (() -> Void)? {
        switch step {
        case .begin(let id):
            guard let connection = state.connections[id], let socket = state.sockets.removeValue(forKey: id) else {
                return nil
            }
            return { connection.loop.execute { connection.start(socket) } }
        case .dismiss(let id, let reason):
            guard let connection = state.connections[id] else { return nil }
            return { connection.loop.execute { connection.dismiss(reason) } }
        case .refuse(let id, let reason):
            guard let connection = state.connections.removeValue(forKey: id),
                let socket = state.sockets.removeValue(forKey: id)
            else { return nil }
            let isTold = state.refusingCount < RefusingAcceptor.countMax
            if isTold { state.refusingCount += 1 }
            return { [self] in refuse(socket, of: connection, reason, isTold: isTold) }
        }
    }

    /// Ends a connection that was never served.
    ///
    /// - Parameter isTold: whether its peer is told why.
    private func refuse(_ socket: Int32, of connection: WebSocketConnection, _ reason: String, isTold: Bool) {
        hooks.didRefuse(connection.peerDescription, TransportError(.resourcesExhausted, reason))
        guard isTold else { return Socket.close(socket) }
        let acceptor = RefusingAcceptor(tls: tls, reason: reason) { [self] in state.withLock { $0.refusingCount -= 1 } }
        let refusal = WebSocketConnection(
            role: .server(acceptor), state: .connecting, peer: connection.peerDescription, loop: connection.loop,
            options: WebSocketOptions(openTimeout: RefusingAcceptor.time), delegate: nil)
        connection.loop.execute { refusal.start(socket) }
    }
}

// MARK: - From connections

extension ServerCore {
    func route(_ request: HTTPRequest, for connection: WebSocketConnection) -> HTTPRoute {
        state.withLock { $0.pending.progress(connection.id, now: MonotonicClock.now) }
        return hooks.route(request)
    }

    /// A connection whose request is answered is pending no more; a limit of their own holds for them, so that neither
    /// stores nor requests keep the others out.
    func beginAnswer(on connection: WebSocketConnection) -> HTTPResponse? {
        let isTaken = state.withLock { state in
            guard state.answering.count < options.answerCountMax else { return false }
            state.answering.insert(connection.id)
            return true
        }
        guard isTaken else {
            return HTTPResponse(status: 503, text: "this server answers \(options.answerCountMax) requests, its limit")
        }
        admit(connection)
        return nil
    }

    /// Asks the owner about an upgrade, unless the server is stopping or full.
    func decide(_ request: HTTPRequest, for connection: WebSocketConnection) -> UpgradeDecision {
        let refusal: UpgradeDecision? = state.withLock { state in
            if state.isStopping { return .reject(status: 503, text: "this server is shutting down") }
            guard state.open.count < options.connectionCountMax else {
                return .reject(
                    status: 503, text: "this server has \(options.connectionCountMax) connections, its limit")
            }
            state.open.insert(connection.id)
            state.pending.progress(connection.id, now: MonotonicClock.now)
            return nil
        }
        if let refusal { return refusal }
        let decision = hooks.accept(request, connection)
        switch decision {
        case .accept: if !options.awaitsAdmission { admit(connection) }
        case .reject: _ = state.withLock { $0.open.remove(connection.id) }
        }
        return decision
    }

    func remove(_ connection: WebSocketConnection, refusedBecause error: TransportError?) {
        if let error { hooks.didRefuse(connection.peerDescription, error) }
        change { $0.leave(connection.id, now: $1) }
        let actions = state.withLock { state in
            state.connections[connection.id] = nil
            state.open.remove(connection.id)
            state.answering.remove(connection.id)
            guard state.connections.isEmpty else { return [@Sendable () -> Void]() }
            defer { state.whenEmpty = [] }
            return state.whenEmpty
        }
        for action in actions { action() }
    }
}

// MARK: - The end

extension ServerCore {
    /// Accepts no more connections, and closes the existing ones.
    ///
    /// - Parameter whenEmpty: called once all are closed, possibly before this returns.
    func closeAll(whenEmpty: @escaping @Sendable () -> Void) {
        let (connections, sockets, isEmpty) = state.withLock { state in
            state.isStopping = true
            for id in state.sockets.keys { state.connections[id] = nil }
            let sockets = Array(state.sockets.values)
            state.sockets = [:]
            if !state.connections.isEmpty { state.whenEmpty.append(whenEmpty) }
            return (Array(state.connections.values), sockets, state.connections.isEmpty)
        }
        for socket in sockets { Socket.close(socket) }
        if isEmpty { return whenEmpty() }
        for connection in connections { connection.close(code: .goingAway, reason: "the server is shutting down") }
    }

    /// Aborts the connections that are left.
    func abortAll() {
        let connections = state.withLock { Array($0.connections.values) }
        for connection in connections { connection.abort() }
    }
}

/// Opens a connection only to tell its peer why it is refused.
private struct RefusingAcceptor: ConnectionAcceptor {
    /// How many connections are told at the same time; the others are closed without a reason.
    static let countMax = 64
    static let time = Duration.seconds(2)

    let tls: TLSContext?
    let reason: String
    let didEnd: @Sendable () -> Void

    func decide(_ request: HTTPRequest, for connection: WebSocketConnection) -> UpgradeDecision {
        .reject(status: 503, text: reason)
    }

    func route(_ request: HTTPRequest, for connection: WebSocketConnection) -> HTTPRoute {
        .respond(HTTPResponse(status: 503, text: reason))
    }

    func beginAnswer(on connection: WebSocketConnection) -> HTTPResponse? { nil }

    func admit(_ connection: WebSocketConnection) {}

    func remove(_ connection: WebSocketConnection, refusedBecause error: TransportError?) { didEnd() }
}
