package import SluiceAccess
package import SluiceModel
package import SluiceWire

/// How sessions log in, renew their login, and end with it.
extension ConnectionProtocol {
    /// The users of the open sessions.
    package var users: [User] { sessionLogins.values.compactMap(\.user) }

    /// Begins the login of a session that asks to be opened.
    mutating func logIn(_ open: ClientMessage.Open, byteCount: Int) -> [Action] {
        sessionLogins[open.session] = SessionLogin(database: open.path, opening: open, byteCount: byteCount)
        if let decision = login.decide(open.credentials) { return decided(open.session, decision) }
        return [
            .authenticate(
                session: open.session, open.credentials, isRenewal: false,
                wantsToken: !open.options.contains(.withoutToken))
        ]
    }

    /// Checks new credentials for an open session. If they are rejected, the session ends.
    mutating func renew(_ session: UInt64, _ credentials: [WireCredentials]) -> [Action] {
        switch sessionLogins[session]?.renew(credentials) {
        case nil, .waits?: return []
        case .tooEarly?: return violation("session \(session) sends further credentials before it is open")
        case .checked?: break
        }
        if let decision = login.decide(credentials) { return decided(session, decision) }
        let wantsToken = sessionLogins[session]?.wantsToken ?? true
        return [
            .authenticate(session: session, credentials, isRenewal: true, wantsToken: wantsToken)
        ]
    }

    /// Continues with what the login has decided about a session's credentials.
    package mutating func decided(_ session: UInt64, _ decision: Result<LoginOutcome, LoginError>) -> [Action] {
        guard let current = sessionLogins[session] else { return [] }
        switch (current.phase, decision) {
        case (_, .success(let outcome)): return accepted(session, outcome)
        case (.opening, .failure(let error)):
            sessionLogins[session] = nil
            return [.send(refusal(session, error))]
        case (.renewing, .failure(let error)):
            guard error.retryAfter == nil else {
                let next = sessionLogins[session]?.putOff()
                let failure = ServerMessage.Failure(
                    session: session, code: .overloaded, message: error.message, action: .report)
                return [.send(Frame.encode(ServerMessage.error(failure)))] + (next.map { renew(session, $0) } ?? [])
            }
            return end(session, .authenticationFailed, error.message)
        case (.open, .failure): return []
        }
    }

    private mutating func accepted(_ session: UInt64, _ outcome: LoginOutcome) -> [Action] {
        guard var login = sessionLogins[session] else { return [] }
        if case .renewing(let user, _) = login.phase, user.id != outcome.user.id {
            return end(session, .authenticationFailed, "the new credentials are of another user than the session")
        }
        let database = login.database
        let acceptance = login.accept(outcome.user)
        sessionLogins[session] = login
        switch acceptance {
        case .unasked: return []
        case .opened(let open, let byteCount, let held, let heldByteCount):
            var actions = news(of: outcome, for: session)
            actions.append(.open(session: session, database: database, open, outcome.user, byteCount: byteCount))
            if !held.isEmpty {
                actions.append(
                    .deliver(session: session, database: database, outcome.user, held, byteCount: heldByteCount))
            }
            return actions
        case .renewed(let next):
            return news(of: outcome, for: session)
                + [.renewed(session: session, database: database, outcome.user)]
                + (next.map { renew(session, $0) } ?? [])
        }
    }

    /// Ends the sessions whose proof is over.
    package mutating func expire(now: Timestamp) -> [Action] {
        expel(because: "the credentials of the session have expired", .credentialsExpired, as: .expired) {
            $0.identity.endsAt.map { $0 <= now } ?? false
        }
    }

    /// Brings the sessions to what has become of their users: ends the connection if a login on it is over, and tells
    /// databases who has other claims now.
    ///
    /// - Parameter standings: what has become of each; a user who is not among them logged in later.
    package mutating func adopt(_ standings: [User: LoginStanding]) -> [Action] {
        let expulsion = expel(because: LoginError.revoked, .authenticationFailed, as: .revoked) {
            standings[$0] == .over
        }
        guard expulsion.isEmpty else { return expulsion }
        return sessionLogins.keys.sorted().flatMap { session -> [Action] in
            guard let login = sessionLogins[session], let known = login.user,
                let user = standings[known].flatMap(known.after), user != known
            else { return [] }
            sessionLogins[session]?.replace(user)
            return [.renewed(session: session, database: login.database, user)]
        }
    }

    /// Ends the connection if users for whom a condition holds are on it. What waits to be sent to them is not sent.
    package mutating func expel(
        because message: String, _ code: ErrorCode, as cause: AuditEvent.SessionEnd = .administrator,
        _ condition: (User) -> Bool
    ) -> [Action] {
        let concerned = sessionLogins.filter { $0.value.user.map(condition) ?? false }.keys.sorted()
        guard !concerned.isEmpty else { return [] }
        var frame = FrameBuilder()
        for session in concerned {
            frame.append(
                ServerMessage.error(.init(session: session, code: code, message: message, action: .stop)))
        }
        return disconnected(because: SessionEnding(message, cause)) + [.expel(frame.finish(), reason: message)]
    }

    /// Ends all sessions, since the connection has ended or will.
    package mutating func disconnected(because reason: String) -> [Action] {
        disconnected(because: SessionEnding(reason))
    }

    private mutating func disconnected(because reason: SessionEnding) -> [Action] {
        defer { sessionLogins = [:] }
        return sessionLogins.sorted { $0.key < $1.key }.compactMap { session, login in
            login.user.map { .forget(session: session, database: login.database, $0, reason: reason) }
        }
    }

    /// Whether a session's proof is over.
    func isOver(_ session: UInt64, now: Timestamp) -> Bool {
        sessionLogins[session]?.user?.identity.endsAt.map { $0 <= now } ?? false
    }

    /// Ends a session because the server's operator wants it. Its client may open another one a second later.
    ///
    /// - Parameter asker: who wants it, as the audit log names somebody.
    mutating func endForOperator(_ session: UInt64, by asker: String?) -> [Action] {
        end(
            session, .overloaded, "the server's operator has ended the session", because: .administrator, by: asker,
            action: .retry, retryAfter: 1_000)
    }

    private mutating func end(
        _ session: UInt64, _ code: ErrorCode, _ message: String, because cause: AuditEvent.SessionEnd? = nil,
        by asker: String? = nil, action: ErrorAction = .stop, retryAfter: UInt64 = 0
    ) -> [Action] {
        guard let current = sessionLogins.removeValue(forKey: session), let user = current.user else { return [] }
        let failure = ServerMessage.Failure(
            session: session, code: code, message: message, action: action, retryAfter: retryAfter)
        return [
            .forget(
                session: session, database: current.database, user, reason: SessionEnding(message, cause, by: asker)),
            .send(Frame.encode(ServerMessage.error(failure))),
        ]
    }

    /// What a client is told about a login that succeeded, where there is anything to tell.
    private func news(of outcome: LoginOutcome, for session: UInt64) -> [Action] {
        let expiresAt = outcome.user.identity.expiresAt
        guard expiresAt != nil || outcome.credential != nil else { return [] }
        let message = ServerMessage.login(
            .init(session: session, expiresAt: expiresAt, credential: outcome.credential))
        return [.send(Frame.encode(message))]
    }

    private func refusal(_ session: UInt64, _ error: LoginError) -> [UInt8] {
        let failure = ServerMessage.Failure(
            session: session, code: error.retryAfter == nil ? .authenticationFailed : .overloaded,
            message: error.message, action: error.retryAfter == nil ? .stop : .retry,
            retryAfter: error.retryAfter ?? 0)
        return Frame.encode(ServerMessage.error(failure))
    }
}
