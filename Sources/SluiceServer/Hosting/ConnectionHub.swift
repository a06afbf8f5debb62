internal import Dispatch
internal import SluiceAccess
internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// Connects the connections with the databases: it decodes frames on the event loops, passes messages to the databases'
/// queues, and sends the frames that the databases want sent. It has logins checked, and ends sessions whose logins are
/// over.
final class ConnectionHub: Sendable {
    private let connections = Mutex<[UInt64: PeerConnection]>([:])
    private let databases: DatabaseDirectory
    private let login: any Login
    private let limits: ServerLimits
    private let queueByteCountMax: Int
    /// What users and addresses take.
    let ledger: QuotaLedger
    /// Whether the connections come through a proxy that says where they are from.
    private let isBehindProxy: Bool
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?
    private let metrics: (any ServerMetrics)?
    /// How often something changed about users. A login that was checked before a change is looked at again.
    private let changeCount = Atomic<UInt64>(0)
    private let checking = DispatchQueue(label: "sluice.logins", qos: .utility)
    private let isStopped = Atomic<Bool>(false)
    /// The server to which sessions are handed over; nil while this one serves them.
    private let otherServer = Mutex<String?>(nil)

    /// How often sessions are looked for whose proof is over.
    private static let expiryTime = DispatchTimeInterval.milliseconds(250)

    /// - Parameter queueByteCountMax: a connection with more bytes waiting to be sent is closed; its client reconnects
    ///   and resumes.
    init(
        databases: DatabaseDirectory, login: any Login, limits: ServerLimits, queueByteCountMax: Int,
        quotas: Quotas = Quotas(), isBehindProxy: Bool = false, now: @escaping @Sendable () -> Timestamp, log: LogSink?,
        metrics: (any ServerMetrics)? = nil
    ) {
        self.metrics = metrics
        self.databases = databases
        self.login = login
        self.limits = limits
        self.queueByteCountMax = queueByteCountMax
        ledger = QuotaLedger(quotas)
        self.isBehindProxy = isBehindProxy
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
                let peer = peer(request, connection)
                guard let place = ledger.connect(from: peer.address) else {
                    return .reject(status: 429, text: ledger.connectionRefusal)
                }
                return .accept(
                    PeerConnection(
                        connection, hub: self, peer, ConnectionProtocol(limits: limits, login: login), place: place))
            },
            didRefuse: { [log] peer, error in
                log?(.info, "a connection was refused", [("peer", peer), ("reason", error.message)])
            })
    }

    private func peer(_ request: HTTPRequest, _ connection: any MessageConnection) -> LoginPeer {
        // The last address is the one that the proxy has added; a client can make up the others.
        let forwarded = isBehindProxy ? request.headers.elements("X-Forwarded-For").last : nil
        return LoginPeer(
            address: AddressKey(forwarded ?? connection.peerDescription).description,
            requestCredentials: RequestCredentials.of(request.headers))
    }

    var connectionCount: Int { connections.withLock { $0.count } }

    // MARK: From connections

    func opened(_ peer: PeerConnection) {
        connections.withLock { $0[peer.id] = peer }
        metrics?.clientConnected()
        // One that opens while sessions are handed over is either among the others or told here.
        if let server = otherServer.withLock({ $0 }) { peer.perform { $0.handOver(to: server) } }
        log?(.debug, "connected", [("peer", peer.name)])
    }

    func receive(_ frame: UnsafeRawBufferPointer, from peer: PeerConnection) {
        let time = now()
        metrics?.receivedFromClient(byteCount: frame.count)
        peer.perform { $0.receive(Array(frame), now: time) }
    }

    func carryOut(_ action: ConnectionProtocol.Action, of peer: PeerConnection) {
        switch action {
        case .send(let frame):
            metrics?.sentToClient(byteCount: frame.count)
            peer.connection.send(SharedBuffer(frame))
        case .authenticate(let session, let credentials, let isRenewal):
            identify(credentials, of: session, isRenewal: isRenewal, peer)
        case .open(let session, let database, let open, let user, let byteCount):
            peer.connection.admit()
            let holder = peer.holder(user)
            guard let place = ledger.open(by: holder) else { return refuse(session, of: peer) }
            let opened = OpenSession(open, of: database, user, at: now())
            peer.keep(opened, place, for: session)
            opened.noteOpening(by: peer.name, in: log)
            let id = SessionID(connection: peer.id, session: session)
            // A worker retires while nobody uses it; the next one takes the session.
            while !worker(database).post(
                .open(id, open, user, of: holder), byteCount: byteCount, of: holder, from: peer.connection)
            {}
        case .renewed(let session, let database, let user):
            let id = SessionID(connection: peer.id, session: session)
            databases.known(database)?.post(.renewed(id, user), of: peer.holder(user))
        case .deliver(let session, let database, let user, let messages, let byteCount):
            let id = SessionID(connection: peer.id, session: session)
            let holder = peer.holder(user)
            charge(messages, to: holder, peer)
            databases.known(database)?.post(
                .messages(id, messages), byteCount: byteCount, of: holder, from: peer.connection)
            if case .close? = messages.last { noteEnd(of: session, peer, because: "its client closed it") }
        case .forget(let session, let database, let user, let reason):
            noteEnd(of: session, peer, because: reason)
            let id = SessionID(connection: peer.id, session: session)
            databases.known(database)?.post(.closed(id), of: peer.holder(user))
        case .expel(let frame, let reason):
            log?(.info, "closing a connection", [("peer", peer.name), ("reason", reason)])
            // What waits was meant for the user that is no longer to get it.
            guard peer.connection.queuedBytes == 0 else { return peer.connection.abort() }
            peer.connection.send(SharedBuffer(frame))
            peer.connection.close(code: .policyViolation, reason: reason)
        case .close(let reason):
            log?(.info, "closing a connection", [("peer", peer.name), ("reason", reason)])
            peer.connection.close(code: .policyViolation, reason: reason)
        }
    }

    /// Gives back what a session counted as, and logs its end, once.
    private func noteEnd(of session: UInt64, _ peer: PeerConnection, because reason: String) {
        peer.ended(session: session)?.noteEnd(by: peer.name, because: reason, now: now(), in: log)
    }

    // MARK: Quotas

    private func refuse(_ session: UInt64, of peer: PeerConnection) {
        log?(.info, "a session was refused", [("peer", peer.name), ("reason", "a quota")])
        _ = peer.ended(session: session)
        let failure = ServerMessage.Failure(
            session: session, code: .limitExceeded, message: ledger.sessionRefusal, action: .retry, retryAfter: 60_000)
        peer.connection.send(SharedBuffer(Frame.encode(ServerMessage.error(failure))))
    }

    /// Charges the operations of uploads to their user. A sender that is too fast is not read for a while.
    private func charge(_ messages: [ClientMessage], to holder: Holder, _ peer: PeerConnection) {
        let operationCount = messages.reduce(0) { $0 + $1.operationCount }
        guard operationCount > 0 else { return }
        let wait = ledger.charge(operationCount, to: holder, now: now())
        guard wait > 0 else { return }
        let pause = peer.beginPause()
        peer.connection.pauseReceiving(for: .quota)
        checking.asyncAfter(deadline: .now() + .microseconds(Int(wait))) { [weak peer] in
            // A later charge may have begun a longer pause.
            if let peer, peer.isLast(pause: pause) { peer.connection.resumeReceiving(after: .quota) }
        }
    }

    private func worker(_ database: String) -> DatabaseWorker {
        databases.worker(database) { [weak self] in self?.carryOut($0) }
    }

    /// The database with a name, which stays for work of this process.
    func keptWorker(_ database: String) -> DatabaseWorker {
        while true {
            let worker = worker(database)
            if worker.keep() { return worker }
        }
    }

    func closed(_ peer: PeerConnection, _ error: TransportError?) {
        connections.withLock { $0[peer.id] = nil }
        peer.login.wait.end()
        metrics?.clientDisconnected()
        let reason = error?.message ?? "closed normally"
        peer.perform { $0.disconnected(because: reason) }
        log?(.debug, "disconnected", [("peer", peer.name), ("reason", reason)])
    }

    /// Hands all sessions over to another server, and those that will be opened.
    ///
    /// - Parameter server: its URL without a database; nil serves sessions here again.
    func handOver(to server: String?) {
        otherServer.withLock { $0 = server }
        for peer in connections.withLock({ Array($0.values) }) { peer.perform { $0.handOver(to: server) } }
    }

    // MARK: Logins

    private func identify(
        _ credentials: [Credentials], of session: UInt64, isRenewal: Bool, _ peer: PeerConnection
    ) {
        let count = changeCount.load(ordering: .sequentiallyConsistent)
        // A client has nothing to say before it is known.
        if !isRenewal { peer.connection.pauseReceiving(for: .login) }
        login.identify(credentials, of: peer.login) { [self] result in
            if !isRenewal { peer.connection.resumeReceiving(after: .login) }
            if case .failure(let error) = result {
                metrics?.loginRefused()
                log?.about(.login)(.info, "a login was refused", [("peer", peer.name), ("reason", error.message)])
            }
            decide(session, result, checkedAt: count, peer)
        }
    }

    /// Hands the outcome of a login to its connection, unless something changed about users since it was checked.
    private func decide(
        _ session: UInt64, _ result: Result<LoginOutcome, LoginError>, checkedAt count: UInt64, _ peer: PeerConnection
    ) {
        var isStale = false
        peer.perform { machine in
            if case .success = result, changeCount.load(ordering: .sequentiallyConsistent) != count {
                isStale = true
                return []
            }
            return machine.decided(session, result)
        }
        guard isStale, case .success(let outcome) = result else { return }
        checking.async { [self] in
            let count = changeCount.load(ordering: .sequentiallyConsistent)
            let user = outcome.user.after(login.standing(of: outcome.user))
            let verdict: Result<LoginOutcome, LoginError> =
                user.map { .success(LoginOutcome($0, credential: outcome.credential)) }
                ?? .failure(LoginError(message: LoginError.revoked))
            decide(session, verdict, checkedAt: count, peer)
        }
    }

    /// Brings all sessions to what is known about their users now, soon: ends the connections of those whose logins no
    /// longer hold, and gives the others the rights that they have now. Any thread may call it.
    func checkLogins() {
        changeCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
        checking.async { [self] in
            let peers = connections.withLock { Array($0.values) }
            var standings: [User: LoginStanding] = [:]
            for user in peers.flatMap(\.users) where standings[user] == nil {
                standings[user] = login.standing(of: user)
            }
            for peer in peers { peer.perform { $0.adopt(standings) } }
        }
    }

    /// Begins to end sessions when their proofs are over, and to look now and then whether the others hold.
    func startWatchingLogins() { watchLogins(round: 1) }

    /// After how many rounds of ``expiryTime`` logins are looked at again: an hour.
    private static let roundCount = 14_400

    private func watchLogins(round: Int) {
        checking.asyncAfter(deadline: .now() + Self.expiryTime) { [weak self] in
            guard let self, !isStopped.load(ordering: .relaxed) else { return }
            expireSessions()
            if round % Self.roundCount == 0 { checkLogins() }
            watchLogins(round: round + 1)
        }
    }

    /// Ends the sessions whose proofs are over.
    func expireSessions() {
        let time = now()
        for peer in connections.withLock({ Array($0.values) }) { peer.perform { $0.expire(now: time) } }
    }

    /// Waits until the logins are checked that were to be.
    func flush() async {
        await withCheckedContinuation { continuation in checking.async { continuation.resume() } }
    }

    func stopWatchingLogins() { isStopped.store(true, ordering: .relaxed) }

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
            case .offer(let frame, let ids):
                let buffer = SharedBuffer(frame)
                let peers = connections.withLock { connections in ids.compactMap { connections[$0] } }
                for peer in peers where peer.connection.queuedBytes <= Self.offerQueueMax {
                    peer.connection.send(buffer)
                }
            case .end(let id, let reason):
                let peer = connections.withLock { $0[id.connection] }
                if let peer { noteEnd(of: id.session, peer, because: reason) }
            }
        }
    }

    /// With more bytes waiting for a connection, messages that may be lost are not added.
    private static let offerQueueMax = 1 << 20

    /// The bytes that may wait for a connection; of several sessions on it the smallest share counts.
    private func queueMax(of peer: PeerConnection) -> Int {
        guard ledger.limitsQueues else { return queueByteCountMax }
        return peer.users.compactMap { ledger.queueByteCountMax(of: peer.holder($0)) }
            .reduce(queueByteCountMax, min)
    }

    private func send(_ buffer: SharedBuffer, to peer: PeerConnection) {
        guard peer.connection.queuedBytes + buffer.count <= queueMax(of: peer) else {
            log?(.warning, "a connection is too slow and is closed", [("peer", peer.name)])
            return peer.connection.abort()
        }
        metrics?.sentToClient(byteCount: buffer.count)
        peer.connection.send(buffer)
    }
}
