import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceWire

/// A database of documents, with rules and users, that the A rows drive without a network. What the database sends is
/// counted and thrown away.
final class AccessWorld {
    static let team = 0
    static let membership = 1
    static let editor = 2
    static let document = 3
    static let note = 4

    /// The properties of a document, by position.
    enum Field {
        static let text = 1
        static let owner = 2
        static let group = 3
        static let team = 4
    }

    let engine: DatabaseEngine
    private let writer = SessionID(connection: 1, session: 1)
    private var sequence: UInt64 = 0
    private var connectionCount: UInt64 = 1
    private let now = Timestamp(microseconds: 1)

    static func schema() throws -> Schema {
        try Schema([
            ClassSchema("Team", primaryKey: "id", properties: [Property("id", .scalar(.int))]),
            ClassSchema(
                "Membership", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("user", .scalar(.string), isIndexed: true),
                    Property("team", .link("Team")),
                ]),
            ClassSchema("Editor", primaryKey: "user", properties: [Property("user", .scalar(.string))]),
            ClassSchema(
                "Document", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("text", .scalar(.string)),
                    Property("owner", .scalar(.string), isIndexed: true),
                    Property("group", .scalar(.int), isIndexed: true), Property("team", .link("Team")),
                ]),
            ClassSchema(
                "Note", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("text", .scalar(.string))]
            ),
        ])
    }

    /// What is in a rules file besides what documents say.
    static func rules(reading document: String) -> String {
        let all =
            #"{"read": "TRUEPREDICATE", "create": "$role.admin", "update": "$role.admin", "delete": "$role.admin"}"#
        return #"""
            {"user": {"teams": "Team WHERE ANY @links.Membership.team.user == $user.id"},
             "roles": {"admin": "$user.claims.role == 'admin'", "editor": "ANY Editor.user == $user.id"},
             "database": {"schema": "$role.admin"},
             "classes": {
              "Team": \#(all), "Membership": \#(all), "Editor": \#(all), "Note": \#(all),
              "Document": {"read": "\#(document) OR $role.admin", "create": "$role.admin", "update": "$role.admin",
                           "delete": "$role.admin"}}}
            """#
    }

    /// - Parameters:
    ///   - rules: the file of rules; nil for none.
    ///   - path: the database's file; nil for one in memory.
    ///   - limits: the limits of the database.
    ///   - fill: stores the objects that there are in the beginning.
    init(
        rules: String?, path: String? = nil, limits: DatabaseLimits = DatabaseLimits(),
        _ fill: (AccessWorld.Filler) throws -> Void
    ) throws {
        let storage = try SQLiteServerStorage.open(
            path.map { .file($0) } ?? .memory, databaseID: ObjectID(high: 7, low: 7))
        try storage.transaction {
            _ = try storage.merge(Self.schema(), sides: ("the server", "the benchmark"))
            try fill(Filler(storage: storage))
        }
        engine = DatabaseEngine(
            name: "documents", storage: storage, limits: limits, rules: try rules.map { AccessRules(try RulesFile($0)) }
        ) { 1 }
        try open(writer, "root", claims: ["role": .string("admin")])
    }

    struct Filler {
        fileprivate let storage: SQLiteServerStorage

        func insert(_ classIndex: Int, _ key: ObjectKey, _ values: [Value]) throws {
            try storage.insert(SluiceModel.Row(key: key, values: values), ofClass: classIndex)
        }

        func insertDocument(_ number: Int, owner: String, group: Int, team: Int? = nil) throws {
            try insert(
                document, .int(Int64(number)),
                [
                    .int(Int64(number)), .string("a text"), .string(owner), .int(Int64(group)),
                    team.map { .link(.int(Int64($0))) } ?? .null,
                ])
        }
    }

    deinit { engine.close() }

    // MARK: Users

    private func open(_ id: SessionID, _ user: String, claims: [String: JSONValue]) throws {
        let members = claims.sorted { $0.key < $1.key }.map { JSONValue.Member(name: $0.key, value: $0.value) }
        let identity = LoginIdentity(userID: user, method: .custom, claims: .object(members))
        let open = ClientMessage.Open(
            session: 1, path: "documents", schema: try Self.schema())
        let actions = engine.handle([.open(id, open, User(identity, mayExtendSchema: true))], now: now)
        for action in actions {
            if case .end = action { throw BenchmarkError("the session of \(user) was not opened") }
        }
    }

    /// Opens a session of a user.
    func open(_ user: String, claims: [String: JSONValue] = [:]) throws -> SessionID {
        connectionCount += 1
        let id = SessionID(connection: connectionCount, session: 1)
        try open(id, user, claims: claims)
        return id
    }

    /// Subscribes, and takes all pages.
    ///
    /// - Returns: how many roots the pages had.
    @discardableResult
    func subscribe(_ id: SessionID, _ query: String) throws -> Int {
        var count = 0
        var isComplete = false
        func take(_ actions: [DatabaseAction]) throws {
            for message in try Self.messages(of: actions, to: id) {
                switch message {
                case .page(let page):
                    count += page.content.objects.count
                    try take(engine.handle([.messages(id, [.credit(session: 1, pages: 1)])], now: now))
                case .complete: isComplete = true
                case .subscriptionError(let error): throw BenchmarkError("\(query): \(error.message)")
                default: break
                }
            }
        }
        let request = ClientMessage.Subscribe(session: 1, subscription: 1, query: query)
        try take(engine.handle([.messages(id, [.subscribe(request), .credit(session: 1, pages: 8)])], now: now))
        while true {
            while let work = engine.takePreparation() ?? engine.takeReading() {
                work.run()
                try take(engine.handle([.prepared(work)], now: now))
            }
            guard engine.hasWork else { break }
            try take(engine.step(now: now))
        }
        try check(isComplete, is: true, "whether '\(query)' is complete")
        return count
    }

    /// Lets the database do all that waits, while sessions take their pages, and list their members when asked.
    ///
    /// - Parameters:
    ///   - earlier: what was sent before.
    ///   - documents: the documents that each of them has.
    /// - Returns: the longest that the database's queue was held, in seconds, and what was sent.
    func finish(
        _ sessions: [SessionID], asked earlier: [DatabaseAction], having documents: Range<Int>
    ) throws -> (longestTurn: Double, actions: [DatabaseAction]) {
        var longestTurn = 0.0
        var actions: [DatabaseAction] = []
        func turn(_ body: () -> [DatabaseAction]) {
            let start = ContinuousClock.now
            actions += body()
            longestTurn = max(longestTurn, (ContinuousClock.now - start) / .seconds(1))
        }
        let parts = stride(from: documents.lowerBound, to: documents.upperBound, by: 10_000).map { start in
            var part = ObjectBlock()
            for number in start..<min(start + 10_000, documents.upperBound) {
                part.append(ObjectRef(Self.document, .int(Int64(number))), version: sequence, role: .root)
            }
            return part
        }
        var asking = sessions
        func list(_ sent: [DatabaseAction]) throws {
            for id in asking {
                for case .listMembers(let session, let subscription) in try Self.messages(of: sent, to: id) {
                    asking.removeAll { $0 == id }
                    for (position, part) in parts.enumerated() {
                        let members = ClientMessage.Members(
                            session: session, subscription: subscription, isContinued: position < parts.count - 1,
                            content: part)
                        turn { engine.handle([.messages(id, [.members(members)])], now: now) }
                    }
                }
            }
        }
        try list(earlier)
        while true {
            let sentCount = actions.count
            while let work = engine.takePreparation() ?? engine.takeReading() {
                // On a thread of its own in a server.
                work.run()
                turn { engine.handle([.prepared(work)], now: now) }
            }
            guard engine.hasWork else { return (longestTurn, actions) }
            turn { engine.step(now: now) }
            try list(Array(actions[sentCount...]))
            for id in sessions {
                turn { engine.handle([.messages(id, [.credit(session: 1, pages: 8)])], now: now) }
            }
        }
    }

    /// The messages to one session.
    static func messages(of actions: [DatabaseAction], to id: SessionID) throws -> [ServerMessage] {
        try actions.flatMap { action -> [ServerMessage] in
            switch action {
            case .send(let frame, id.connection): try Frame.decode(frame, as: ServerMessage.self)
            case .broadcast(let frame, let connections) where connections.contains(id.connection):
                try Frame.decode(frame, as: ServerMessage.self)
            default: []
            }
        }
    }

    // MARK: Commits

    /// What one commit took and sent.
    struct Commit {
        let seconds: Double
        let actions: [DatabaseAction]
        /// How many changes of views were encoded.
        let encodedCount: Int
        /// How many views the commit may have changed.
        let foundCount: Int

        /// The connections that were sent something.
        var receiverCount: Int {
            var connections: Set<UInt64> = []
            for action in actions {
                switch action {
                case .send(_, let connection): connections.insert(connection)
                case .broadcast(_, let all), .offer(_, let all): connections.formUnion(all)
                case .consult: break
                case .end: break
                }
            }
            return connections.count
        }
    }

    func commit(_ operations: [ObjectOperation]) -> Commit {
        sequence += 1
        let changeset = Changeset(
            sequence: sequence, baseVersion: sequence, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: operations)
        let before = engine.statistics
        let start = ContinuousClock.now
        let actions = engine.handle([.messages(writer, [.upload(session: 1, changesets: [changeset])])], now: now)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let after = engine.statistics
        return Commit(
            seconds: seconds, actions: actions, encodedCount: Int(after.sentBlockCount - before.sentBlockCount),
            foundCount: Int(after.concernedViewCount - before.concernedViewCount))
    }

    /// Changes one property of a document.
    func change(_ number: Int, _ property: Int, to value: Value) -> Commit {
        commit([
            ObjectOperation(
                ObjectRef(Self.document, .int(Int64(number))), .update([FieldOperation(property, .set(value))]))
        ])
    }

    func delete(_ classIndex: Int, _ keys: [ObjectKey]) -> Commit {
        commit(keys.map { ObjectOperation(ObjectRef(classIndex, $0), .delete) })
    }
}
