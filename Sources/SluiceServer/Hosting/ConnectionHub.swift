internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// Connects the connections with the databases: it decodes frames on the event loops, passes messages to the databases'
/// queues, and sends the frames that the databases want sent.
final class ConnectionHub: Sendable {
    private let connections = Mutex<[UInt64: PeerConnection]>([:])
    private let databases: DatabaseDirectory
    private let login: any Login
    private let limits: ServerLimits
    private let queueByteCountMax: Int
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?

    /// - Parameter queueByteCountMax: a connection with more bytes waiting to be sent is closed; its client reconnects
    ///   and resumes.
    init(
        databases: DatabaseDirectory, login: any Login, limits: ServerLimits, queueByteCountMax: Int,
        now: @escaping @Sendable () -> Timestamp, log: LogSink?
    ) {
        self.databases = databases
        self.login = login
        self.limits = limits
        self.queueByteCountMax = queueByteCountMax
        self.now = now
        self.log = log
    }

    var hooks: ServerHooks {
        ServerHooks(
            accept: { [self] request, connection in
                // Only browsers send this header. No web page may use a server without the knowledge of the browser's
                // user.
                guard request.headers["Origin"] == nil else {
                    return .reject(status: 403, text: "this server does not take connections from web pages")
                }
                return .accept(PeerConnection(connection, hub: self, ConnectionProtocol(limits: limits, login: login)))
            },
            didRefuse: { [log] peer, error in
                log?(.info, "a connection was refused", [("peer", peer), ("reason", error.message)])
            })
    }

    var connectionCount: Int { connections.withLock { $0.count } }

    // MARK: From connections

    fileprivate func opened(_ peer: PeerConnection) {
        connections.withLock { $0[peer.id] = peer }
        log?(.debug, "connected", [("peer", peer.connection.peerDescription)])
    }

    fileprivate func receive(_ frame: UnsafeRawBufferPointer, from peer: PeerConnection) {
        for action in peer.receive(Array(frame), now: now()) {
            switch action {
            case .send(let frame):
                peer.connection.send(SharedBuffer(frame))
            case .open(let session, let database, let open, let user, let byteCount):
                peer.connection.admit()
                let id = SessionID(connection: peer.id, session: session)
                worker(database).post(.open(id, open, user), byteCount: byteCount, from: peer.connection)
            case .deliver(let session, let database, let messages, let byteCount):
                let id = SessionID(connection: peer.id, session: session)
                databases.known(database)?.post(.messages(id, messages), byteCount: byteCount, from: peer.connection)
            case .close(let reason):
                log?(.info, "closing a connection", [("peer", peer.connection.peerDescription), ("reason", reason)])
                peer.connection.close(code: .policyViolation, reason: reason)
            }
        }
    }

    private func worker(_ database: String) -> DatabaseWorker {
        databases.worker(database) { [weak self] in self?.carryOut($0) }
    }

    fileprivate func closed(_ peer: PeerConnection, _ error: TransportError?) {
        connections.withLock { $0[peer.id] = nil }
        for (session, database) in peer.sessions {
            databases.known(database)?.post(.closed(SessionID(connection: peer.id, session: session)))
        }
        log?(
            .debug, "disconnected",
            [("peer", peer.connection.peerDescription), ("reason", error?.message ?? "closed normally")])
    }

    // MARK: From databases

    private func carryOut(_ actions: [DatabaseAction]) {
        for action in actions {
            switch action {
            case .send(let frame, let id):
                if let peer = connections.withLock({ $0[id] }) { send(SharedBuffer(frame), to: peer) }
            case .broadcast(let frame, let ids):
                let buffer = SharedBuffer(frame)
                let peers = connections.withLock { connections in ids.compactMap { connections[$0] } }
                for peer in peers { send(buffer, to: peer) }
            case .end(let id):
                connections.withLock { $0[id.connection] }?.ended(session: id.session)
            }
        }
    }

    private func send(_ buffer: SharedBuffer, to peer: PeerConnection) {
        guard peer.connection.queuedBytes + buffer.count <= queueByteCountMax else {
            log?(.warning, "a connection is too slow and is closed", [("peer", peer.connection.peerDescription)])
            return peer.connection.abort()
        }
        peer.connection.send(buffer)
    }
}

/// The hub's state for one connection.
private final class PeerConnection: MessageConnectionDelegate {
    let connection: any MessageConnection
    private let hub: ConnectionHub
    private let state: Mutex<ConnectionProtocol>

    init(_ connection: any MessageConnection, hub: ConnectionHub, _ machine: ConnectionProtocol) {
        self.connection = connection
        self.hub = hub
        state = Mutex(machine)
    }

    var id: UInt64 { connection.id.rawValue }

    var sessions: [UInt64: String] { state.withLock { $0.sessions } }

    func receive(_ frame: [UInt8], now: Timestamp) -> [ConnectionProtocol.Action] {
        state.withLock { $0.receive(frame, now: now) }
    }

    func ended(session: UInt64) { state.withLock { $0.ended(session: session) } }

    func connectionDidOpen(_ connection: any MessageConnection) { hub.opened(self) }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        hub.receive(message, from: self)
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        hub.closed(self, error)
    }
}
