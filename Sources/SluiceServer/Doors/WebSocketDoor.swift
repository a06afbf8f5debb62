internal import SluiceAccess
internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// The door of stores: WebSocket connections, or those of a network in memory, that speak Sluice's own protocol.
///
/// A connection is accepted or refused here, and counts from then on (``QuotaLedger``). What it sends goes down:
/// ``ConnectionProtocol`` makes messages of its frames, ``LoginChecks`` finds out whose sessions it has, and
/// ``SessionRouter`` passes the messages of a session to its database. What databases want sent comes from ``FanOut``,
/// which knows connections and no door.
///
/// Another door (HTTP pages, a JSON subprotocol, an admin socket) is one more file beside this one that takes connections
/// in and carries out what their machine wants, with a `MessageConnection` over its transport. Where it does not speak
/// Sluice's protocol it has a machine of its own in the place of ``ConnectionProtocol``. It shares ``OpenConnections``,
/// ``LoginChecks``, ``QuotaLedger`` and ``SessionRouter`` with this one, and `SyncServer` makes it.
final class WebSocketDoor: Sendable {
    private let connections: OpenConnections
    private let logins: LoginChecks
    private let ledger: QuotaLedger
    private let router: SessionRouter
    private let login: any Login
    private let limits: ServerLimits
    /// Whether the connections come through a proxy that says where they are from.
    private let isBehindProxy: Bool
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?
    private let metrics: (any ServerMetrics)?
    private let audit: AuditTrail?
    private let gate: DatabaseGate
    /// Which web pages may connect.
    private let origins: WebOrigins
    /// Where sessions are sent.
    private let handOver = Mutex(HandOver())

    private struct HandOver {
        /// The server to which sessions are handed over; nil while this one serves them.
        var server: String?
        /// Whether those that know other servers are sent there.
        var isCutOff = false

        /// As ``ConnectionProtocol/handOver(to:)`` takes it.
        var target: String? { server ?? (isCutOff ? "" : nil) }
    }

    init(
        _ connections: OpenConnections, _ logins: LoginChecks, _ ledger: QuotaLedger, _ router: SessionRouter,
        login: any Login, limits: ServerLimits, isBehindProxy: Bool, now: @escaping @Sendable () -> Timestamp,
        log: LogSink?, metrics: (any ServerMetrics)?, audit: AuditTrail? = nil,
        gate: DatabaseGate, origins: WebOrigins
    ) {
        self.connections = connections
        self.logins = logins
        self.ledger = ledger
        self.router = router
        self.login = login
        self.limits = limits
        self.isBehindProxy = isBehindProxy
        self.now = now
        self.log = log
        self.metrics = metrics
        self.audit = audit
        self.gate = gate
        self.origins = origins
    }

    // MARK: Coming and going

    var hooks: ServerHooks {
        ServerHooks(
            accept: { [self] request, connection in
                if let refusal = origins.refusal(ofConnection: request) { return refusal }
                let peer = loginPeer(request, connection)
                guard let slot = ledger.connect(from: peer.address) else {
                    metrics?.quotaReached(.connections)
                    return .reject(status: 429, text: ledger.connectionRefusal)
                }
                return .accept(
                    Visitor(
                        self,
                        request.asksForJSON
                            ? jsonConnection(connection, peer, request, slot)
                            : PeerConnection(
                                connection, peer, ConnectionProtocol(limits: limits, login: login), slot: slot,
                                log: log, audit: audit, carryOut: carryOut)))
            },
            didRefuse: { [log] peer, error in
                log?(.info, "a connection was refused", [("peer", peer), ("reason", error.message)])
            })
    }

    /// A connection in the JSON form. Its one session is of the database that the path names.
    private func jsonConnection(
        _ connection: any MessageConnection, _ peer: LoginPeer, _ request: HTTPRequest, _ slot: QuotaLedger.Slot
    ) -> PeerConnection {
        let features: Features = [.aggregates, .jobs, .light]
        var machine = ConnectionProtocol(limits: limits, offered: features, login: login)
        // What the other side would say is known.
        _ = machine.receive(
            [.hello(.init(features: features, agent: HTTPRequest.jsonSubprotocol))], byteCount: 0, now: now())
        let session = JSONSession(database: String(request.path.dropFirst()), now: now)
        return PeerConnection(
            connection, peer, machine, inJSON: session, slot: slot, log: log, audit: audit, carryOut: carryOut)
    }

    /// Serves one request of HTTP with a session of its own.
    ///
    /// - Parameters:
    ///   - address: of whoever made the request.
    ///   - options: of the session.
    ///   - refuse: told where there is no session.
    ///   - receive: takes messages of the server. It returns what to send, and whether the session is over.
    ///   - didEnd: called once the session has ended, for whatever reason.
    func serve(
        _ request: HTTPRequest, from address: String, in database: String, options: ClientMessage.Open.Options,
        refuse: (WebFailure) -> Void,
        receive: @escaping @Sendable ([ServerMessage]) -> (send: [ClientMessage], isDone: Bool),
        didEnd: @escaping @Sendable () -> Void
    ) {
        let connection = ExchangeConnection(from: address)
        let login = loginPeer(request, connection)
        guard let slot = ledger.connect(from: login.address) else {
            metrics?.quotaReached(.connections)
            return refuse(WebFailure(429, .limitExceeded, ledger.connectionRefusal))
        }
        let features: Features = [.aggregates, .light]
        let peer = PeerConnection(
            connection, login, ConnectionProtocol(limits: limits, offered: features, login: self.login), slot: slot,
            log: log, audit: audit, carryOut: carryOut)
        // Nobody would present a token of a session that is over.
        let open = ClientMessage.Open(
            session: JSONSession.number, path: database, options: options.union(.withoutToken), schema: Schema())
        connection.begin(
            { [self, weak peer] messages in
                guard let peer else { return }
                let (send, isDone) = receive(messages)
                let byteCount = send.reduce(0) { $0 + $1.textByteCount }
                if !send.isEmpty { peer.perform { $0.receive(send, byteCount: byteCount, now: now()) } }
                if isDone { connection.abort() }
            },
            didEnd: { [self] in
                closed(peer, nil)
                didEnd()
            })
        opened(peer)
        peer.perform {
            $0.receive(
                [.hello(.init(features: features, agent: "HTTP")), .open(open)], byteCount: 256, now: now())
        }
    }

    private func loginPeer(_ request: HTTPRequest, _ connection: any MessageConnection) -> LoginPeer {
        // The last address is the one that the proxy has added; a client can make up the others.
        let forwarded = isBehindProxy ? request.headers.elements("X-Forwarded-For").last : nil
        return LoginPeer(
            address: AddressKey(forwarded ?? connection.peerDescription).description,
            requestCredentials: RequestCredentials.of(request.headers))
    }

    /// What the event loop reports of one connection.
    private final class Visitor: MessageConnectionDelegate {
        private let door: WebSocketDoor
        private let peer: PeerConnection

        init(_ door: WebSocketDoor, _ peer: PeerConnection) {
            self.door = door
            self.peer = peer
        }

        func connectionDidOpen(_ connection: any MessageConnection) { door.opened(peer) }

        func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
            let time = door.now()
            door.metrics?.receivedFromClient(byteCount: message.count)
            guard peer.speaksJSON else { return peer.perform { $0.receive(Array(message), now: time) } }
            guard String(validating: message, as: UTF8.self) != nil else {
                return connection.close(code: .invalidPayload, reason: "the text is not UTF-8")
            }
            peer.receive(text: Array(message), now: time)
        }

        func connectionDidDrain(_ connection: any MessageConnection) { peer.didDrain(now: door.now()) }

        func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
            door.closed(peer, error)
        }
    }

    private func opened(_ peer: PeerConnection) {
        connections.insert(peer)
        metrics?.clientConnected()
        // One that opens while sessions are handed over is either among the others or told here.
        if let server = handOver.withLock({ $0.target }) { peer.perform { $0.handOver(to: server) } }
        log?(.debug, "connected", [("peer", peer.name)])
    }

    private func closed(_ peer: PeerConnection, _ error: TransportError?) {
        connections.remove(peer)
        peer.login.wait.end()
        metrics?.clientDisconnected()
        let reason = error?.message ?? "closed normally"
        peer.disconnected(because: reason)
        log?(.debug, "disconnected", [("peer", peer.name), ("reason", reason)])
    }

    /// Hands all sessions over to another server, and those that will be opened.
    ///
    /// - Parameter server: its URL without a database; nil serves sessions here again.
    func handOver(to server: String?) {
        change { $0.server = server }
    }

    /// Sends sessions whose clients know other servers there, or serves them here again.
    func sendElsewhere(_ isCutOff: Bool) { change { $0.isCutOff = isCutOff } }

    private func change(_ body: (inout HandOver) -> Void) {
        let target = handOver.withLock { handOver in
            body(&handOver)
            return handOver.target
        }
        for peer in connections.all { peer.perform { $0.handOver(to: target) } }
    }

    // MARK: What connections want done

    private func carryOut(_ action: ConnectionProtocol.Action, of peer: PeerConnection) {
        switch action {
        case .send(let frame):
            metrics?.sentToClient(byteCount: frame.count)
            peer.transmit(OutgoingFrame(frame), now: now())
        case .authenticate(let session, let credentials, let isRenewal, let wantsToken):
            check(credentials, of: session, isRenewal: isRenewal, wantsToken: wantsToken, peer)
        case .open(let session, let database, let open, let user, let byteCount):
            peer.connection.admit()
            if let refusal = gate.refusal(of: database, isOpen: { router.isOpen(database) }) {
                return refuse(session, of: peer, because: refusal.message, isPassing: refusal.isPassing)
            }
            if open.options.contains(.existing),
                let absence = gate.absence(of: database, for: user, isOpen: { router.isOpen(database) })
            {
                return refuse(session, of: peer, because: absence, isPassing: false)
            }
            guard let slot = ledger.open(by: peer.holder(user)) else { return refuse(session, of: peer) }
            peer.keep(OpenSession(open, of: database, user, at: now()), slot, for: session)
            router.open(session, of: peer, in: database, open, user, byteCount: byteCount)
        case .renewed(let session, let database, let user):
            router.post(.renewed(peer.id(of: session), user), to: database, of: peer.holder(user))
        case .deliver(let session, let database, let user, let messages, let byteCount):
            let holder = peer.holder(user)
            let wait = ledger.charge(messages.reduce(0) { $0 + $1.operationCount }, to: holder, now: now())
            if wait > 0 { metrics?.quotaReached(.operations) }
            peer.pause(forQuota: wait)
            router.post(
                .messages(peer.id(of: session), messages), to: database, byteCount: byteCount, of: holder,
                from: peer.connection)
            if case .close? = messages.last {
                peer.end(session, because: SessionEnding("its client closed it"), now: now())
            }
        case .forget(let session, let database, let user, let reason):
            peer.end(session, because: reason, now: now())
            router.post(.closed(peer.id(of: session)), to: database, of: peer.holder(user))
        case .expel(let frame, let reason):
            log?(.info, "closing a connection", [("peer", peer.name), ("reason", reason)])
            // What waits was meant for the user that is no longer to get it.
            guard peer.connection.queuedBytes == 0 else { return peer.connection.abort() }
            peer.transmit(OutgoingFrame(frame), now: now())
            peer.connection.close(code: .policyViolation, reason: reason)
        case .close(let reason):
            log?(.info, "closing a connection", [("peer", peer.name), ("reason", reason)])
            peer.connection.close(code: .policyViolation, reason: reason)
        }
    }

    private func check(
        _ credentials: [WireCredentials], of session: UInt64, isRenewal: Bool, wantsToken: Bool, _ peer: PeerConnection
    ) {
        var login = peer.login
        login.wantsToken = wantsToken
        // A client has nothing to say before it is known.
        if !isRenewal { peer.connection.pauseReceiving(for: .login) }
        logins.check(credentials, of: login, at: peer.name) { result, isCurrent in
            if !isRenewal { peer.connection.resumeReceiving(after: .login) }
            var isTaken = true
            peer.perform { machine in
                isTaken = isCurrent()
                return isTaken ? machine.decided(session, result) : []
            }
            return isTaken
        }
    }

    /// Refuses a session of a database that clients may not open.
    private func refuse(_ session: UInt64, of peer: PeerConnection, because message: String, isPassing: Bool) {
        log?(.info, "a session was refused", [("peer", peer.name), ("reason", message)])
        peer.forget(session)
        let failure = ServerMessage.Failure(
            session: session, code: .unknownDatabase, message: message, action: isPassing ? .retry : .stop,
            retryAfter: isPassing ? 1_000 : 0)
        peer.transmit(OutgoingFrame(Frame.encode(ServerMessage.error(failure))), now: now())
    }

    private func refuse(_ session: UInt64, of peer: PeerConnection) {
        metrics?.quotaReached(.sessions)
        log?(.info, "a session was refused", [("peer", peer.name), ("reason", "a quota")])
        peer.forget(session)
        let failure = ServerMessage.Failure(
            session: session, code: .limitExceeded, message: ledger.sessionRefusal, action: .retry, retryAfter: 60_000)
        peer.transmit(OutgoingFrame(Frame.encode(ServerMessage.error(failure))), now: now())
    }
}

extension ClientMessage {
    /// The memory that a message takes beside its own, about, in bytes.
    fileprivate var textByteCount: Int {
        switch self {
        case .write(let write): write.operations.utf8.count
        case .subscribe(let subscribe): subscribe.query.utf8.count
        case .hello, .open, .authenticate, .unsubscribe, .upload, .credit, .members, .reportRequest, .declare, .remove,
            .cached, .deploy, .variables, .listen, .message, .job, .close:
            0
        }
    }
}
