package import SluiceModel
package import SluiceWire

/// The part of the protocol that concerns a connection and not a database: greeting, login, and the database of each
/// session. It is a state machine without input or output.
package struct ConnectionProtocol: Sendable {
    package enum Action: Sendable {
        /// Sends a frame.
        case send([UInt8])
        /// Passes an authenticated open message to a database. The byte count is its share of the frame's memory.
        case open(session: UInt64, database: String, ClientMessage.Open, User, byteCount: Int)
        /// Has the login check credentials; ``ConnectionProtocol/decided(_:_:)`` takes what it says.
        case authenticate(session: UInt64, [WireCredentials], isRenewal: Bool, wantsToken: Bool)
        /// Tells the database that the user of a session has proved again who it is, or that other claims are known
        /// about the user now.
        case renewed(session: UInt64, database: String, User)
        /// Passes messages of a user to the database of a session. The byte count is their share of the frame's memory.
        case deliver(session: UInt64, database: String, User, [ClientMessage], byteCount: Int)
        /// Tells the database that a session of a user has ended, and the log why.
        case forget(session: UInt64, database: String, User, reason: SessionEnding)
        /// Closes the connection after this frame, or at once where other frames wait before it: they are no longer the
        /// peer's to have.
        case expel([UInt8], reason: String)
        /// Closes the connection after the frames so far, because the peer broke the protocol.
        case close(reason: String)
    }

    private let limits: ServerLimits
    private let dataLimits: DataLimits
    /// What this side knows.
    private let offered: Features
    let login: any Login
    private var isGreeted = false
    /// What both sides know.
    private var features: Features = []
    /// The sessions that are open or log in.
    var sessionLogins: [UInt64: SessionLogin] = [:]
    private var lastSession: UInt64 = 0
    /// The server to which sessions are handed over, as in ``handOver(to:)``; nil while this one serves them.
    private var otherServer: String?

    /// - Parameter offered: the features that this side names.
    package init(
        limits: ServerLimits, dataLimits: DataLimits = .standard, offered: Features = .all, login: any Login
    ) {
        self.offered = offered
        self.dataLimits = dataLimits
        self.limits = limits
        self.login = login
    }

    /// The open sessions and their databases.
    package var sessions: [UInt64: String] { sessionLogins.filter(\.value.isOpen).mapValues(\.database) }

    /// Handles a frame from the peer. Messages of one open session that follow each other are delivered together.
    package mutating func receive(_ frame: [UInt8], now: Timestamp) -> [Action] {
        let messages: [ClientMessage]
        let byteCount: Int
        do {
            (messages, byteCount) = try Frame.decodeMeasured(frame, limits: WireLimits(limits, dataLimits))
        } catch {
            return violation("this frame cannot be read: \(error.message)")
        }
        return receive(messages, byteCount: byteCount, now: now)
    }

    /// Handles messages from the peer that came in another form than frames.
    ///
    /// - Parameter byteCount: the approximate memory that they take.
    package mutating func receive(_ messages: [ClientMessage], byteCount: Int, now: Timestamp) -> [Action] {
        let byteCountOfMessage = byteCount / max(1, messages.count)
        var actions: [Action] = []
        var pending: (session: UInt64, messages: [ClientMessage])?
        func flush() {
            if let batch = pending, let login = sessionLogins[batch.session], let user = login.user {
                actions.append(
                    .deliver(
                        session: batch.session, database: login.database, user, batch.messages,
                        byteCount: batch.messages.count * byteCountOfMessage))
            }
            pending = nil
        }
        for message in messages {
            switch message {
            case .hello(let hello):
                actions += greet(hello, now: now)
            case .open(let open):
                flush()
                actions += self.open(open, byteCount: byteCountOfMessage)
            case .authenticate(let session, let credentials):
                guard isGreeted else { return violation("the first message of a connection is hello") }
                flush()
                actions += renew(session, credentials)
            case .subscribe, .unsubscribe, .upload, .credit, .members, .reportRequest, .declare, .remove, .cached,
                .deploy, .variables, .listen, .message, .job, .write, .close:
                let session = message.session
                // Messages that were in flight when the server ended their session are dropped.
                guard isGreeted else { return violation("the first message of a connection is hello") }
                guard let current = sessionLogins[session] else {
                    guard message.isWhole || session <= lastSession else {
                        return violation("an upload that cannot be read, in session \(session), which was never opened")
                    }
                    continue
                }
                guard !isOver(session, now: now) else { return actions + expire(now: now) }
                if !current.isOpen {
                    if case .close = message {
                        sessionLogins[session] = nil
                    } else if sessionLogins[session]?.hold(message, byteCount: byteCountOfMessage) == false {
                        return actions + violation("session \(session) is not open yet: wait for opened")
                    }
                    continue
                }
                if pending?.session != session {
                    flush()
                    pending = (session, [])
                }
                pending?.messages.append(message)
                if case .close = message {
                    flush()
                    sessionLogins[session] = nil
                }
            }
            if case .close? = actions.last { return actions }
        }
        flush()
        return actions
    }

    // MARK: Handing over

    /// Hands the sessions over to another server, and those that will be opened.
    ///
    /// - Parameter server: its URL without a database; empty for any that a client knows, of which those that know none
    ///   stay; nil serves sessions here again.
    package mutating func handOver(to server: String?) -> [Action] {
        otherServer = server
        guard let server else { return [] }
        let sessions = sessionLogins.filter { !server.isEmpty || $1.hasOthers }.sorted { $0.key < $1.key }
        for (number, _) in sessions { sessionLogins[number] = nil }
        return sessions.flatMap { number, login -> [Action] in
            let moved = self.moved(number, login.database, to: server)
            guard let user = login.user else { return [moved] }
            let reason = SessionEnding("it was handed over to another server")
            return [.forget(session: number, database: login.database, user, reason: reason), moved]
        }
    }

    private func moved(_ session: UInt64, _ database: String, to server: String) -> Action {
        let url = server.isEmpty ? "" : "\(server)/\(database)"
        return .send(Frame.encode(ServerMessage.moved(.init(session: session, url: url))))
    }

    /// Counts a session until it has ended, in whatever way. One that has ended does not count.
    package mutating func keep(_ slot: QuotaLedger.Slot, for session: UInt64) {
        sessionLogins[session]?.slot = slot
    }

    /// Records that the database has ended a session.
    package mutating func ended(session: UInt64) { sessionLogins[session] = nil }

    private mutating func greet(_ hello: ClientMessage.Hello, now: Timestamp) -> [Action] {
        guard !isGreeted else { return violation("hello is said once") }
        guard let version = ProtocolVersion.negotiate(minimum: hello.versionMin, maximum: hello.versionMax) else {
            let own = "\(ProtocolVersion.minimum) to \(ProtocolVersion.maximum)"
            return fail(
                .unsupportedVersion,
                "the client speaks protocol versions \(hello.versionMin) to \(hello.versionMax), the server \(own)")
        }
        isGreeted = true
        features = hello.features.intersection(offered)
        let reply = ServerMessage.HelloReply(
            version: version, features: features, time: now, limits: limits,
            agent: "sluice")
        return [.send(Frame.encode(ServerMessage.hello(reply)))]
    }

    private mutating func open(_ open: ClientMessage.Open, byteCount: Int) -> [Action] {
        guard isGreeted else { return violation("the first message of a connection is hello") }
        guard open.session > lastSession else {
            return violation(
                "session \(open.session) cannot be opened: numbers ascend, and the next one is above \(lastSession)")
        }
        lastSession = open.session
        guard sessionLogins.count < Int(limits.sessionCountMax) else {
            return refuse(open, .limitExceeded, "a connection has at most \(limits.sessionCountMax) sessions")
        }
        guard DatabaseName.isValid(open.path) else {
            return refuse(
                open, .unknownDatabase,
                "'\(open.path.prefix(80))' is no database name: use 1 to 64 letters, digits, '_' and '-'")
        }
        if let otherServer, !otherServer.isEmpty || open.options.contains(.hasOthers) {
            return [moved(open.session, open.path, to: otherServer)]
        }
        var open = open
        open.features = features
        return logIn(open, byteCount: byteCount)
    }

    private func refuse(_ open: ClientMessage.Open, _ code: ErrorCode, _ message: String) -> [Action] {
        let failure = ServerMessage.Failure(session: open.session, code: code, message: message, action: .stop)
        return [.send(Frame.encode(ServerMessage.error(failure)))]
    }

    func violation(_ message: String) -> [Action] { fail(.protocolViolation, message) }

    private func fail(_ code: ErrorCode, _ message: String) -> [Action] {
        let failure = ServerMessage.Failure(code: code, message: message, action: .stop)
        return [.send(Frame.encode(ServerMessage.error(failure))), .close(reason: message)]
    }
}

extension WireLimits {
    init(_ limits: ServerLimits, _ dataLimits: DataLimits) {
        self.init(uploadsOf: dataLimits)
        frameLengthMax = Int(limits.frameLengthMax)
        expandedLengthMax = Int(limits.expandedLengthMax)
    }
}
