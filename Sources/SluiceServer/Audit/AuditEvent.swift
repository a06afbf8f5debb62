public import SluiceModel

/// Something that happened at a server and for which somebody may have to answer later: who did what, when, and from
/// where. It has no contents of objects, no claims and no secrets.
public struct AuditEvent: Sendable, Hashable {
    /// Why the server has ended a session.
    public enum SessionEnd: String, Sendable, Hashable, CaseIterable {
        /// The login was revoked, or its user was removed or has another password.
        case revoked
        /// The proof of the login was over.
        case expired
        /// Somebody who runs the server has ended it.
        case administrator
    }

    /// What was done to a user of the server.
    public enum UserChange: String, Sendable, Hashable, CaseIterable {
        /// The user is new.
        case added
        /// The user is there no more, and what proved the user is refused.
        case removed
        /// All that proved the user so far is refused.
        case revoked
        /// Revocations of the user are undone.
        case restored
        /// The user's password is looked at again at once, after too many wrong ones.
        case unlocked
        /// The user has another password, and the logins of the old one are ended.
        case passwordChanged = "password changed"
        /// What rules may know about the user is something else.
        case claimsChanged = "claims changed"
        /// One login of the user was ended, which a session token proves.
        case loginEnded = "login ended"
    }

    /// What happened.
    public enum Action: Sendable, Hashable {
        /// Rules were stored in a database in place of others; 0 stands for none.
        case rulesDeployed(version: Int, former: Int)
        /// A client could not log in. ``AuditEvent/user`` is the name that it gave with a password, proved by nothing.
        case loginRefused(method: ServerLoginMethod)
        /// A client has logged in, and opened a session.
        case sessionOpened(method: ServerLoginMethod, isReadOnly: Bool)
        /// The server has ended a session of ``AuditEvent/user``. Where somebody wanted it: who that was, written as
        /// ``AuditEvent/user`` is; nil for somebody without an id, and where it is not known.
        case sessionEnded(SessionEnd, by: String?)
        /// Writes were rejected: an error code, a class, and how many objects of it.
        case writesRejected(code: String, className: String?, keyCount: Int)
        /// Something was done to a user of the server.
        case userChanged(UserChange, user: String?)
        /// A database was deleted.
        case databaseDeleted
        /// Which databases clients may open was changed: their names, or what stands for them.
        case databasesRestricted(to: String)
        /// Events could not be written; how many is ``AuditEvent/count``.
        case eventsLost

        /// Whether it happens because somebody runs the server, and not because of what clients send.
        var isOfOperator: Bool {
            switch self {
            case .rulesDeployed, .userChanged, .databaseDeleted, .databasesRestricted, .eventsLost: true
            case .loginRefused, .sessionOpened, .sessionEnded, .writesRejected: false
            }
        }
    }

    /// Whether it was done.
    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        /// It was done.
        case done
        /// The server did not do it.
        case refused
    }

    /// When it happened; of an event that stands for several, when the last of them did.
    public var time: Timestamp
    /// What happened.
    public var action: Action
    /// Who did it: a user's id; `operator NAME` for an account of the machine; nil for nobody in particular.
    public var user: String?
    /// The database that it concerns.
    public var database: String?
    /// The address that it came from, without its port; of IPv6, the network.
    public var address: String?
    /// Whether it was done.
    public var outcome: Outcome
    /// Why, in words for people.
    public var reason: String?
    /// How many further events of the same kind it stands for; 1 for a single one.
    public var count: Int

    package init(
        _ action: Action, at time: Timestamp, user: String? = nil, database: String? = nil, address: String? = nil,
        outcome: Outcome = .done, reason: String? = nil, count: Int = 1
    ) {
        self.action = action
        self.time = time
        self.user = user
        self.database = database
        self.address = address
        self.outcome = outcome
        self.reason = reason
        self.count = count
    }
}

extension AuditEvent {
    /// The name of what happened, in the same words each time.
    public var name: String {
        switch action {
        case .rulesDeployed: "rules deployed"
        case .loginRefused: "login refused"
        case .sessionOpened: "session opened"
        case .sessionEnded: "session ended"
        case .writesRejected: "writes rejected"
        case .userChanged: "user changed"
        case .databaseDeleted: "database deleted"
        case .databasesRestricted: "databases restricted"
        case .eventsLost: "events lost"
        }
    }

    /// The event as a JSON object on one line, without the end of the line. Members without a value are left out.
    public var json: String {
        func text(_ value: String?) -> JSONText? { value.map { .string($0) } }
        func number(_ value: Int) -> JSONText { .number(UInt64(max(0, value))) }
        var members: [(String, JSONText?)] = [
            ("time", .string(time.description)), ("event", .string(name)), ("who", text(user)),
            ("database", text(database)), ("from", text(address)), ("outcome", .string(outcome.rawValue)),
            ("reason", text(reason)),
        ]
        switch action {
        case .rulesDeployed(let version, let former):
            members += [("version", number(version)), ("former", number(former))]
        case .loginRefused(let method): members.append(("login", .string(method.rawValue)))
        case .sessionOpened(let method, let isReadOnly):
            members += [("login", .string(method.rawValue)), ("mode", .string(isReadOnly ? "read" : "read and write"))]
        case .sessionEnded(let end, let asker):
            members += [("cause", .string(end.rawValue)), ("by", text(asker))]
        case .writesRejected(let code, let className, let keyCount):
            members += [("code", .string(code)), ("class", text(className)), ("keys", number(keyCount))]
        case .userChanged(let change, let user):
            members += [("user", text(user)), ("change", .string(change.rawValue))]
        case .databasesRestricted(let names): members.append(("databases", .string(names)))
        case .databaseDeleted, .eventsLost: break
        }
        if count != 1 { members.append(("count", number(count))) }
        return JSONText.object(members.compactMap { name, value in value.map { (name, $0) } }).text
    }
}

/// Somebody who keeps the events of a server, such as ``AuditFile``.
public protocol AuditReceiver: Sendable {
    /// Takes an event, from any thread, and possibly from several at once; it must not block.
    func receive(_ event: AuditEvent)
    /// Begins with another file of the same name, where the events are in one that was renamed. Does nothing unless you
    /// write it.
    func reopen()
    /// Returns once the events so far are kept, or lost; it may block. Does nothing unless you write it.
    func flush()
    /// How many events could not be kept so far; 0 unless you write it.
    var lostCount: UInt64 { get }
}

extension AuditReceiver {
    public func reopen() {}
    public func flush() {}
    public var lostCount: UInt64 { 0 }
}
