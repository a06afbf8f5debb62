internal import SluiceAccess
internal import SluiceModel

/// Finds out what sessions a server has, for its operator.
struct SessionSurvey: Sendable {
    let connections: OpenConnections
    let databases: DatabaseDirectory
    let now: @Sendable () -> Timestamp

    /// All sessions, the oldest first, each with its subscriptions. What a database knows that is too busy to say it is
    /// null.
    ///
    /// - Parameter name: of which database; nil for all.
    func sessions(ofDatabase name: String? = nil) async -> JSONText {
        let found = await databases.ask { ($0.subscriptionCounts, $0.version) }
        let silent = Set(found.silent)
        let open = connections.all.flatMap { peer in
            peer.openSessions.filter { name == nil || $0.value.database == name }
                .map { (peer: peer, id: peer.id(of: $0.key), session: $0.value) }
        }
        let ordered = open.sorted { ($0.session.openedAt, $0.id) < ($1.session.openedAt, $1.id) }
        return .array(
            ordered.map { entry in
                let database = entry.session.database
                let answer = found.answers[database]
                let known = silent.contains(database) ? nil : answer?.0[entry.id] ?? SubscriptionCounts()
                let sent = entry.peer.sentVersion(of: database)
                let version = silent.contains(database) ? nil : answer?.1 ?? 0
                return entry.session.json(
                    entry.id, at: entry.peer.name, known,
                    versionLag: sent.map { sent in version.map { $0 > sent ? $0 - sent : 0 } } ?? 0,
                    waitingByteCount: entry.peer.connection.queuedBytes, now: now())
            })
    }

    /// Ends a session. Its client opens another one, unless its user was revoked.
    ///
    /// - Parameters:
    ///   - name: as ``sessions(ofDatabase:)`` calls it.
    ///   - database: of which database; nil for any.
    ///   - asker: who wants it, as the audit log names somebody; nil for somebody without an id.
    /// - Returns: false if there is none.
    func end(_ name: String, ofDatabase database: String? = nil, by asker: String?) -> Bool {
        guard let id = SessionID(name: name), let peer = connections[id.connection],
            let session = peer.openSessions[id.session], database == nil || session.database == database
        else { return false }
        peer.perform { $0.endForOperator(id.session, by: asker) }
        return true
    }
}

/// How many subscriptions a session has.
struct SubscriptionCounts: Sendable {
    var all = 0
    /// Those whose pages have not all been sent.
    var incomplete = 0
}

extension SessionID {
    /// What operators call the session: `7.1` is the first session of the seventh connection.
    var name: String { "\(connection).\(session)" }

    init?(name: String) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let connection = UInt64(parts[0]), let session = UInt64(parts[1]) else { return nil }
        self.init(connection: connection, session: session)
    }
}

extension OpenSession {
    fileprivate func json(
        _ id: SessionID, at address: String, _ subscriptions: SubscriptionCounts?, versionLag: UInt64?,
        waitingByteCount: Int, now: Timestamp
    ) -> JSONText {
        .object([
            ("session", .string(id.name)), ("database", .string(database)),
            ("user", user.id.map { .string($0) } ?? .null), ("login", .string(user.identity.method.rawValue)),
            ("address", .string(address)), ("mode", .string(isReadOnly ? "read" : "read and write")),
            ("since", .string(openedAt.description)),
            ("seconds", .number(UInt64(max(0, now.microseconds - openedAt.microseconds) / 1_000_000))),
            ("subscriptions", subscriptions.map { .number(UInt64($0.all)) } ?? .null),
            ("incomplete", subscriptions.map { .number(UInt64($0.incomplete)) } ?? .null),
            ("versionLag", versionLag.map { .number($0) } ?? .null),
            ("waitingBytes", .number(UInt64(waitingByteCount))),
        ])
    }
}
