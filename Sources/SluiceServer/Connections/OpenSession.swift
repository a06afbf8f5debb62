internal import SluiceAccess
internal import SluiceModel
internal import SluiceWire

/// Why a session ends, as the log says it.
package struct SessionEnding: Sendable {
    package let text: String
    /// What the audit log says of it; nil for an end that somebody else has brought about, such as the client.
    let cause: AuditEvent.SessionEnd?
    /// Who wanted it, as the audit log names somebody; nil for nobody, and for somebody without a name.
    let asker: String?

    init(_ text: String, _ cause: AuditEvent.SessionEnd? = nil, by asker: String? = nil) {
        self.text = text
        self.cause = cause
        self.asker = asker
    }
}

/// What the log says about an open session of a connection.
struct OpenSession: Sendable {
    let database: String
    let user: User
    let isReadOnly: Bool
    let openedAt: Timestamp

    /// - Parameter request: what the client has asked for.
    init(_ request: ClientMessage.Open, of database: String, _ user: User, at now: Timestamp) {
        self.database = database
        self.user = user
        isReadOnly = request.options.contains(.readOnly)
        openedAt = now
    }

    /// Logs that the session was opened.
    ///
    /// - Parameter peer: the address of the client.
    func noteOpening(by peer: String, in log: LogSink?) {
        let (login, mode) = (user.identity.method.rawValue, isReadOnly ? "read" : "read and write")
        log?(.info, "a session was opened", names(peer) + [("login", login), ("mode", mode)])
    }

    /// Logs that the session has ended.
    ///
    /// - Parameters:
    ///   - peer: the address of the client.
    ///   - reason: why it has.
    ///   - now: when.
    func noteEnd(by peer: String, because reason: String, now: Timestamp, in log: LogSink?) {
        let milliseconds = max(0, (now.microseconds - openedAt.microseconds) / 1000)
        log?(.info, "a session ended", names(peer) + [("reason", reason), ("milliseconds", "\(milliseconds)")])
    }

    /// The database, the user by id, and the address. Who logged in as nobody has no id.
    private func names(_ peer: String) -> [(String, String)] {
        [("database", database)] + (user.id.map { [("user", $0)] } ?? []) + [("peer", peer)]
    }
}
