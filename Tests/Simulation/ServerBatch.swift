import SluiceModel
import SluiceServer
import SluiceWire

/// What connections want done, gathered for the engine.
struct ServerBatch {
    let server: SimulatedServer
    let now: Timestamp
    var events: [DatabaseEvent] = []
    var outputs: [SimulatedServer.Output] = []

    init(server: SimulatedServer, now: Timestamp) {
        self.server = server
        self.now = now
    }

    mutating func finish() throws -> [SimulatedServer.Output] {
        try flush()
        return outputs
    }

    private mutating func flush() throws {
        outputs += try server.handle(events, now: now)
        events = []
        server.uploads = []
    }

    mutating func expire() throws {
        guard server.options.isRuled else { return }
        for connection in server.connections {
            try perform(server.protocols[connection]?.expire(now: now) ?? [], of: connection)
        }
    }

    mutating func decide(_ login: PendingLogin) throws {
        let verdict = server.issuer.judge(login.credentials, now: now)
        if case .success(let (_, identity)) = verdict {
            server.identities[SessionID(connection: login.connection, session: login.session)] = identity
        } else {
            server.watch.counts.refusedLogins += 1
        }
        let actions =
            server.protocols[login.connection]?.decided(login.session, verdict.map { $0.0 }) ?? []
        try perform(actions, of: login.connection)
    }

    mutating func perform(_ actions: [ConnectionProtocol.Action], of connection: UInt64) throws {
        let client = server.clients[connection] ?? 0
        for action in actions {
            switch action {
            case .send(let frame): outputs.append(.send(frame, to: connection))
            case .open(let session, _, let open, var user, _):
                let id = SessionID(connection: connection, session: session)
                if !server.conditions[client].isEmpty { user.id = "\(client)" }
                if let identity = server.identities[id] {
                    // What was sent to another session before is judged by what held for its user.
                    try flush()
                    server.watch.opened(id, client: client, at: server.node(of: connection).number, identity)
                }
                events.append(.open(id, open, user))
            case .deliver(let session, _, _, let messages, _):
                server.note(messages, of: client, on: connection)
                events.append(.messages(SessionID(connection: connection, session: session), messages))
            case .forget(let session, _, _, _):
                events.append(.closed(SessionID(connection: connection, session: session)))
            case .authenticate(let session, let credentials, _, _) where server.options.isRuled:
                server.logins.append(
                    PendingLogin(connection: connection, session: session, credentials: credentials))
            case .renewed(let session, _, let user):
                let id = SessionID(connection: connection, session: session)
                try flush()
                if let identity = server.identities[id] { server.watch.renewed(id, identity) }
                events.append(.renewed(id, user))
                try flush()
            case .expel(let frame, _):
                try flush()
                outputs.append(.expel(frame, connection))
                server.protocols[connection] = nil
                server.watch.counts.endedSessions += 1
            case .authenticate: throw SimulationFailure("a login that takes time")
            case .close(let reason): throw SimulationFailure("a client broke the protocol: \(reason)")
            }
        }
    }
}

/// A login that is being checked.
struct PendingLogin {
    let connection: UInt64
    let session: UInt64
    let credentials: [WireCredentials]
}
