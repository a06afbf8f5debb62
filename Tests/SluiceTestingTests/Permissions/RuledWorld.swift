import Sluice
import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// A server with rules and one client for each of some users, driven by hand. Everything that the server sends is
/// compared with what its receiver may read at that moment, by a reading of the rules of its own.
final class RuledWorld {
    static let rules = """
        {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
         "roles": {"admin": "$user.claims.role == 'admin'"},
         "database": {"schema": "$role.admin", "reports": "$role.admin"},
         "classes": {
          "User": {"read": "TRUEPREDICATE", "create": "$role.admin", "update": "$role.admin", "delete": "$role.admin"},
          "Team": {"read": "$role.admin OR ANY members.id == $user.id", "create": "$role.admin",
                   "update": "$role.admin OR ANY members.id == $user.id", "updateAfter": "TRUEPREDICATE",
                   "delete": "$role.admin"},
          "Document": {"read": "isPublic == TRUE OR owner.id == $user.id OR team IN $user.teams OR $role.admin",
                       "create": "owner.id == $user.id OR $role.admin",
                       "update": "owner.id == $user.id OR team IN $user.teams OR $role.admin",
                       "updateAfter": "TRUEPREDICATE", "delete": "owner.id == $user.id OR $role.admin",
                       "fields": {"grade": {"write": "$role.admin"}}}}}
        """

    static func schema() throws -> Schema {
        try Schema([
            ClassSchema("User", primaryKey: "id", properties: [Property("id", .scalar(.string))]),
            ClassSchema(
                "Team", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("members", .links("User"))]),
            ClassSchema(
                "Document", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("text", .scalar(.string)),
                    Property("isPublic", .scalar(.bool)), Property("owner", .link("User")),
                    Property("team", .link("Team")), Property("parent", .link("Document")),
                    Property("grade", .scalar(.int)),
                ]),
        ])
    }

    enum ClassIndex { static let (user, team, document) = (0, 1, 2) }
    enum Field { static let (text, isPublic, owner, team, parent, grade) = (1, 2, 3, 4, 5, 6) }

    final class Observation {
        var id: UInt64 = 0
    }

    /// One user's store and connection.
    final class Client {
        let user: String
        var claims: JSONValue
        let storage: SQLiteClientStorage
        var engine: ClientEngine
        var connection: ConnectionProtocol?
        var number: UInt64 = 0
        var isReachable = true
        var rejections: [WriteRejection] = []
        var removals: [ObjectKey: RemovalReason] = [:]
        var results: [String: [ObjectRef]] = [:]
        var errors: [String: SyncError.Code] = [:]
        /// The observations that go on, by query.
        var observations: [String: Observation] = [:]
        /// The observations that have handled their last event.
        var ready: [Observation] = []
        /// Every object of which something was ever sent.
        var sent: Set<ObjectRef> = []
        /// Every object that its user could read at some time.
        var readable: Set<ObjectRef> = []
        var frames: [[ServerMessage]] = []
        /// Every text that was ever sent.
        var texts: Set<String> = []

        init(_ user: String, claims: JSONValue, storage: SQLiteClientStorage, engine: ClientEngine) {
            self.user = user
            self.claims = claims
            self.storage = storage
            self.engine = engine
        }
    }

    let server: SQLiteServerStorage
    let engine: DatabaseEngine
    private(set) var clients: [String: Client] = [:]
    private var time: Int64 = 1_000_000
    private var connectionCount: UInt64 = 0
    private var number: UInt64 = 0
    private(set) var problems: [String] = []
    private var options = ClientOptions()
    /// The properties that a user may not read, by class, read naively.
    var hidden: (Client) throws -> [Int: PropertySet] = { _ in [:] }
    /// The classes of which nobody is told a key of an object that they may not read.
    var veiled: Set<Int> = []
    /// The naive reading of who may read an object; nil for that of ``RuledWorld/rules``.
    var mayReadObject: ((Client, ObjectRef) throws -> Bool)?
    /// Whether the server sends pages; if not, bootstraps stay where they are.
    var sendsPages = true
    /// Whether the rules are others than those that the oracle reads.
    var skipsOracle = false

    init(
        rules: String = RuledWorld.rules, users: [String], limits: DatabaseLimits = DatabaseLimits(),
        variables: ValueMap = ValueMap(), configure: (inout ClientOptions) -> Void = { _ in }
    ) throws {
        configure(&options)
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        _ = try storage.transaction { try storage.merge(Self.schema(), sides: ("the server", "the test")) }
        server = storage
        var state: UInt64 = 0
        engine = DatabaseEngine(
            name: "documents", storage: server, limits: limits, rules: AccessRules(try RulesFile(rules))
        ) {
            state += 1
            return state
        }
        try addClient("root", claims: .object([.init(name: "role", value: .string("admin"))]))
        for user in users { try addClient(user, variables: variables) }
        connect("root")
        try write("root") { writer in
            for user in users + ["root"] {
                try writer.insert(Row(key: .string(user), values: [.string(user)]), ofClass: ClassIndex.user)
            }
        }
        for user in users { connect(user) }
    }

    private func addClient(
        _ user: String, claims: JSONValue = .object([]), variables: ValueMap = ValueMap()
    ) throws {
        let storage = try SQLiteClientStorage.open(.memory)
        _ = try storage.transaction { try storage.merge(Self.schema(), sides: ("the store", "the models")) }
        let client = Client(user, claims: claims, storage: storage, engine: try makeEngine(storage, variables))
        client.engine.onRejection = { [unowned client] in client.rejections.append($0) }
        clients[user] = client
    }

    private func makeEngine(
        _ storage: SQLiteClientStorage, _ variables: ValueMap = ValueMap()
    ) throws -> ClientEngine {
        var options = options
        options.variables = variables
        options.databaseName = "documents"
        return try ClientEngine(
            storage: storage, options: options, now: { [unowned self] in now },
            random: { [unowned self] in
                number += 1
                return number
            })
    }

    var now: Timestamp { Timestamp(microseconds: time) }

    subscript(user: String) -> Client { clients[user]! }

    // MARK: What users do

    func connect(_ user: String) {
        self[user].isReachable = true
        self[user].engine.handle(.start)
        self[user].engine.handle(.reconnect)
        settle()
    }

    func disconnect(_ user: String) {
        self[user].isReachable = false
        lose(self[user])
    }

    private func lose(_ client: Client) {
        let sessions = client.connection?.sessions.keys.sorted() ?? []
        client.connection = nil
        for session in sessions {
            deliver(engine.handle([.closed(SessionID(connection: client.number, session: session))], now: now))
        }
        client.engine.handle(.closed(reason: "lost", isTransient: true))
    }

    func write(_ user: String, _ body: (LocalWriter) throws -> Void) throws {
        try self[user].engine.write(body)
        settle()
    }

    func observe(_ user: String, _ text: String) throws {
        let client = self[user]
        let query = try Query.parse(text, schema: client.engine.schema)
        let observation = Observation()
        observation.id = try client.engine.observe(query) { [unowned client] event in
            for (object, deletion) in zip(event.removed, event.change.deletions) {
                client.removals[object.key] = deletion.reason
            }
            client.results[text] = event.list.visible.map(\.object)
            client.errors[text] = event.status.error?.code
            client.ready.append(observation)
        }
        client.observations[text] = observation
        settle()
    }

    /// The session that a user's client has open.
    func session(of user: String) -> SessionID? {
        self[user].connection?.sessions.keys.first.map { SessionID(connection: self[user].number, session: $0) }
    }

    /// Has the server send the digests that are due.
    func sendDigests() {
        for _ in 0..<50 {
            time += 120_000_000
            deliver(engine.checkSessions(now: now))
        }
        settle()
    }

    /// Stops observing a query, whose objects stay.
    func stop(_ user: String, _ text: String) throws {
        let observation = try #require(self[user].observations[text])
        self[user].observations[text] = nil
        self[user].ready.removeAll { $0 === observation }
        try self[user].engine.endObservation(observation.id, keeping: false, purging: false)
        settle()
    }

    /// Changes how clients work that are made from now on.
    func configure(_ body: (inout ClientOptions) -> Void) { body(&options) }

    /// Ends a user's process, with what it has not stored, and begins another with the same file.
    func restart(_ user: String) throws {
        disconnect(user)
        let client = self[user]
        client.ready = []
        client.observations = [:]
        client.engine = try makeEngine(client.storage)
        client.engine.onRejection = { [unowned client] in client.rejections.append($0) }
        connect(user)
    }

    /// Chooses other values of `$client`.
    func choose(_ user: String, _ variables: ValueMap) {
        self[user].engine.setVariables(variables)
        settle()
    }

    /// Proves other claims of a user in the session that is open.
    func renew(_ user: String, claims: JSONValue) {
        let client = self[user]
        client.claims = claims
        for session in client.connection?.sessions.keys.sorted() ?? [] {
            let id = SessionID(connection: client.number, session: session)
            deliver(engine.handle([.renewed(id, identity(client))], now: now))
        }
        settle()
    }

    private func identity(_ client: Client) -> User {
        User(
            LoginIdentity(userID: client.user, method: .custom, claims: client.claims), mayExtendSchema: false)
    }

    /// Sends a message that the client's engine would not send.
    func inject(_ message: ClientMessage, from session: SessionID) {
        deliver(engine.handle([.messages(session, [message])], now: now))
        settle()
    }

    /// Stores other rules.
    func deploy(_ file: RulesFile) {
        do { _ = try engine.deploy(file) } catch { problems.append("\(error)") }
        deliver(engine.handle([], now: now))
        settle()
    }

    // MARK: Driving

    /// Carries everything out until nobody has anything to do.
    func settle() {
        var isBusy = true
        while isBusy {
            time += 1_000
            isBusy = false
            for client in clients.values.sorted(by: { $0.user < $1.user }) {
                let ready = client.ready
                client.ready = []
                if !ready.isEmpty { isBusy = true }
                for observation in ready { client.engine.observerIsReady(observation.id) }
                for action in client.engine.takeActions() {
                    isBusy = true
                    carryOut(action, of: client)
                }
            }
            if engine.hasWork, sendsPages {
                isBusy = true
                deliver(engine.step(now: now))
                while let preparation = engine.takeReading() ?? engine.takePreparation() {
                    preparation.run()
                    deliver(engine.handle([.prepared(preparation)], now: now))
                }
            }
        }
        check()
    }

    /// Lets the server do what is due by the clock.
    func checkSessions(later delay: Int64) {
        time += delay
        repeat { deliver(engine.checkSessions(now: now)) } while engine.isJudgingCached
        settle()
    }

    /// Lets the server send one round of pages.
    func step() {
        deliver(engine.step(now: now))
        settle()
    }

    private func carryOut(_ action: ClientAction, of client: Client) {
        switch action {
        case .connect:
            guard client.isReachable else { return client.engine.handle(.closed(reason: "away", isTransient: true)) }
            connectionCount += 1
            client.number = connectionCount
            client.connection = ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin())
            client.engine.handle(.opened)
        case .disconnect:
            guard client.connection != nil else { return }
            let sessions = client.connection?.sessions.keys.sorted() ?? []
            client.connection = nil
            for session in sessions {
                deliver(engine.handle([.closed(SessionID(connection: client.number, session: session))], now: now))
            }
        case .reconnect: if client.isReachable { client.engine.handle(.reconnect) }
        case .renew: break
        case .settle: client.engine.handle(.settle)
        case .send(let frame):
            let number = client.number
            for action in client.connection?.receive(frame, now: now) ?? [] {
                switch action {
                case .send(let frame): receive(frame, number)
                case .open(let session, _, let open, _, _):
                    let id = SessionID(connection: number, session: session)
                    deliver(engine.handle([.open(id, open, identity(client))], now: now))
                case .deliver(let session, _, let messages, _):
                    let id = SessionID(connection: number, session: session)
                    deliver(engine.handle([.messages(id, messages)], now: now))
                case .authenticate, .renewed, .forget, .expel: problems.append("a login that takes time")
                case .close(let reason):
                    problems.append(reason)
                    lose(client)
                }
            }
        }
    }

    private func deliver(_ actions: [DatabaseAction]) {
        for action in actions {
            switch action {
            case .send(let frame, let connection): receive(frame, connection)
            case .broadcast(let frame, let connections): for connection in connections { receive(frame, connection) }
            case .end(let id):
                clients.values.first { $0.number == id.connection }?.connection?.ended(session: id.session)
            }
        }
    }

    private func receive(_ frame: [UInt8], _ connection: UInt64) {
        guard let client = clients.values.first(where: { $0.number == connection && $0.connection != nil }) else {
            return
        }
        do {
            let messages = try Frame.decode(frame, as: ServerMessage.self)
            client.frames.append(messages)
            for message in messages { try judge(message, to: client) }
        } catch { problems.append("\(error)") }
        client.engine.handle(.received(frame))
    }

    // MARK: The oracle

    private func judge(_ message: ServerMessage, to client: Client) throws {
        if skipsOracle { return }
        let blocks: [ViewBlock] =
            switch message {
            case .page(let page): [page.content]
            case .commit(let commit): commit.blocks.map(\.content)
            default: []
            }
        if case .withdrawn(let withdrawn) = message {
            for group in withdrawn.content.groups {
                for key in group.keys where try mayRead(client, ObjectRef(group.classIndex, key)) {
                    problems.append("\(client.user) is told that \(key) is not there, and may read it")
                }
            }
        }
        for block in blocks {
            // A linked object that was touched is in the block that says that it is no root.
            let brought = block.objects.groups.flatMap { group in group.keys.map { ObjectRef(group.classIndex, $0) } }
            let known = client.sent.union(brought).union(client.readable)
            for departure in block.departures where !known.contains(departure.object) {
                problems.append("\(client.user) is told that \(departure.object) is gone, and could never read it")
            }
            for group in block.objects.groups {
                if try group.properties.meets(hidden(client)[group.classIndex] ?? []) {
                    problems.append("\(client.user) is sent hidden properties of the class \(group.classIndex)")
                }
                for row in group.keys.indices {
                    for case .string(let text) in group.values(at: row) { client.texts.insert(text) }
                }
                for row in group.keys.indices { try judgeLinks(group, row, to: client) }
                for key in group.keys {
                    let object = ObjectRef(group.classIndex, key)
                    client.sent.insert(object)
                    if try !mayRead(client, object) { problems.append("\(client.user) is sent \(object)") }
                }
            }
        }
    }

    private func judgeLinks(_ group: ObjectGroup, _ row: Int, to client: Client) throws {
        for (value, property) in zip(group.values(at: row), group.properties) {
            let name = server.schema[group.classIndex].properties[property].type.targetClass
            guard let target = name.flatMap(server.schema.index(of:)), veiled.contains(target) else { continue }
            try value.forEachLink { key in
                let object = ObjectRef(target, key)
                if try !mayRead(client, object) { problems.append("\(client.user) is told of a link to \(object)") }
            }
        }
    }

    /// A value as a user is shown it, where the class that it links to hides who its objects are.
    func shown(_ value: Value, _ target: Int, to user: String) throws -> Value {
        guard veiled.contains(target), case .link(let key) = value else { return value }
        return try mayRead(self[user], ObjectRef(target, key)) ? value : .null
    }

    /// What the rules mean, read naively.
    func mayRead(_ client: Client, _ object: ObjectRef) throws -> Bool {
        guard let row = try server.row(object) else { return false }
        if let mayReadObject { return try mayReadObject(client, object) }
        if object.classIndex == ClassIndex.user || client.claims["role"] == .string("admin") { return true }
        if object.classIndex == ClassIndex.team { return try isMember(client, of: object.key) }
        if row.values[Field.isPublic] == .bool(true) { return true }
        if row.values[Field.owner] == .link(.string(client.user)),
            try server.row(ObjectRef(ClassIndex.user, .string(client.user))) != nil
        {
            return true
        }
        if case .link(let team) = row.values[Field.team] { return try isMember(client, of: team) }
        return false
    }

    func isMember(_ client: Client, of key: ObjectKey) throws -> Bool {
        guard let team = try server.row(ObjectRef(ClassIndex.team, key)), case .list(let members) = team.values[1]
        else { return false }
        return try members.contains(.link(.string(client.user)))
            && server.row(ObjectRef(ClassIndex.user, .string(client.user))) != nil
    }

    /// The documents that a user may read, ascending.
    func readable(_ user: String) throws -> [Int64] {
        var keys: [Int64] = []
        try server.forEachRow(ofClass: ClassIndex.document) { row in
            if try mayRead(self[user], ObjectRef(ClassIndex.document, row.key)), case .int(let key) = row.key {
                keys.append(key)
            }
            return true
        }
        return keys.sorted()
    }

    /// The documents in a user's store, ascending.
    func held(_ user: String) throws -> [Int64] {
        var keys: [Int64] = []
        try self[user].storage.forEachRow(ofClass: ClassIndex.document) { row in
            if case .int(let key) = row.key { keys.append(key) }
            return true
        }
        return keys.sorted()
    }

    private func check() {
        do {
            for client in clients.values {
                for classIndex in server.schema.classes.indices {
                    try server.forEachRow(ofClass: classIndex) { row in
                        let object = ObjectRef(classIndex, row.key)
                        if !client.readable.contains(object), try mayRead(client, object) {
                            client.readable.insert(object)
                        }
                        return true
                    }
                }
            }
        } catch { problems.append("\(error)") }
        for problem in problems.prefix(3) { Issue.record("\(problem)") }
    }

    // MARK: Data

    static func document(
        _ key: Int64, _ text: String = "", owner: String = "root", team: Int64? = nil, parent: Int64? = nil,
        isPublic: Bool = false, grade: Int64 = 0
    ) -> Row {
        Row(
            key: .int(key),
            values: [
                .int(key), .string(text), .bool(isPublic), .link(.string(owner)), team.map { .link(.int($0)) } ?? .null,
                parent.map { .link(.int($0)) } ?? .null, .int(grade),
            ])
    }

    static func document(_ key: Int64) -> ObjectRef { ObjectRef(ClassIndex.document, .int(key)) }

    static func team(_ key: Int64) -> ObjectRef { ObjectRef(ClassIndex.team, .int(key)) }

    /// Has the administrator create documents.
    func create(_ documents: Row...) throws {
        try write("root") { for row in documents { try $0.insert(row, ofClass: ClassIndex.document) } }
    }

    /// Has the administrator say who is in a team.
    func setTeam(_ key: Int64, _ members: [String]) throws {
        let value = Value.list(members.map { .link(.string($0)) })
        try write("root") { writer in
            if try writer.row(Self.team(key)) == nil {
                try writer.insert(Row(key: .int(key), values: [.int(key), value]), ofClass: ClassIndex.team)
            } else {
                try writer.update(Self.team(key), [FieldOperation(1, .set(value))])
            }
        }
    }

    func update(_ user: String, _ key: Int64, _ field: Int, _ value: Value) throws {
        try write(user) { try $0.update(Self.document(key), [FieldOperation(field, .set(value))]) }
    }
}
