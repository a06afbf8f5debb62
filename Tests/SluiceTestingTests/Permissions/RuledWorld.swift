import Foundation
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
    private(set) var engine: DatabaseEngine
    private let makeServer: () throws -> DatabaseEngine
    /// What users may read where the rules are others than ``rules``: user, object and its row.
    let oracle: ((RuledWorld, String, ObjectRef, Row) throws -> Bool)?
    /// The lines that the server has logged.
    let log = ServerLog()
    private(set) var clients: [String: Client] = [:]
    private var time: Int64 = 1_000_000
    private var connectionCount: UInt64 = 0
    private var number: UInt64 = 0
    var problems: [String] = []
    private var options = ClientOptions()
    /// The properties that a user may not read, by class, read naively.
    var hidden: (Client) throws -> [Int: PropertySet] = { _ in [:] }
    /// The classes of which nobody is told a key of an object that they may not read.
    var veiled: Set<Int> = []
    /// Whether the server sends pages; if not, bootstraps stay where they are.
    var sendsPages = true
    /// Whether what is read beside the writer waits.
    var delaysReadings = false
    private let folder: String?
    /// Whether the rules are others than those that the oracle reads.
    var skipsOracle = false

    init(
        rules: String = RuledWorld.rules, users: [String], limits: DatabaseLimits = DatabaseLimits(),
        variables: ValueMap = ValueMap(), isFile: Bool = false,
        oracle: ((RuledWorld, String, ObjectRef, Row) throws -> Bool)? = nil,
        configure: (inout ClientOptions) -> Void = { _ in }
    ) throws {
        configure(&options)
        self.oracle = oracle
        folder = isFile ? NSTemporaryDirectory() + "/sluice-ruled-" + UUID().uuidString : nil
        if let folder { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        let storage = try SQLiteServerStorage.open(
            folder.map { .file($0 + "/documents") } ?? .memory, databaseID: ObjectID(high: 1, low: 1))
        _ = try storage.transaction { try storage.merge(Self.schema(), sides: ("the server", "the test")) }
        server = storage
        var state: UInt64 = 0
        let file = try RulesFile(rules)
        makeServer = { [log] in
            DatabaseEngine(
                name: "documents", storage: storage, limits: limits, log: log.sink, rules: AccessRules(file)
            ) {
                state += 1
                return state
            }
        }
        engine = try makeServer()
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

    deinit {
        guard let folder else { return }
        server.close()
        try? FileManager.default.removeItem(atPath: folder)
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
        client.engine.handle(.closed(reason: "lost"))
    }

    /// Kills the server, which comes back with what it has stored. Clients come again.
    func crashServer() throws {
        let connected = clients.values.filter { $0.connection != nil }.map(\.user).sorted()
        for client in clients.values { client.connection = nil }
        engine = try makeServer()
        for user in connected {
            self[user].engine.handle(.closed(reason: "lost"))
            connect(user)
        }
    }

    /// Kills a user's program, which comes back with what it has stored, without observing anything, and away.
    func crash(_ user: String) throws {
        disconnect(user)
        self[user].results = [:]
        self[user].ready = []
        self[user].observations = [:]
        self[user].engine = try makeEngine(self[user].storage)
        self[user].engine.onRejection = { [unowned client = self[user]] in client.rejections.append($0) }
    }

    /// Has the server send a digest that is due.
    func checkSessions() {
        deliver(engine.checkSessions(now: now))
        settle()
    }

    /// Has the server send the digests that are due.
    func sendDigests() {
        for _ in 0..<50 {
            time += 120_000_000
            deliver(engine.checkSessions(now: now))
        }
        settle()
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

    /// Kills a user's program, which comes back and connects.
    func restart(_ user: String) throws {
        try crash(user)
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
    func inject(_ message: ClientMessage, from session: SessionID) { inject([message], from: session) }

    /// Handles several messages in one turn.
    func inject(_ messages: [ClientMessage], from session: SessionID) {
        deliver(engine.handle([.messages(session, messages)], now: now))
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
            }
            while sendsPages, !delaysReadings,
                let preparation = engine.takeReading() ?? engine.takePreparation()
            {
                isBusy = true
                preparation.run()
                deliver(engine.handle([.prepared(preparation)], now: now))
            }
        }
        check()
    }

    /// Gives back what was read beside the writer.
    func finish(_ reading: QueryPreparation) {
        deliver(engine.handle([.prepared(reading)], now: now))
        settle()
    }

    /// Lets what waits be read.
    func readBeside() {
        delaysReadings = false
        settle()
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
            guard client.isReachable else { return client.engine.handle(.closed(reason: "away")) }
            connectionCount += 1
            client.number = connectionCount
            client.connection = ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin())
            client.engine.handle(.opened())
        case .disconnect:
            guard client.connection != nil else { return }
            let sessions = client.connection?.sessions.keys.sorted() ?? []
            client.connection = nil
            for session in sessions {
                deliver(engine.handle([.closed(SessionID(connection: client.number, session: session))], now: now))
            }
        case .reconnect: if client.isReachable { client.engine.handle(.reconnect) }
        case .renew, .probe: break
        case .settle: client.engine.handle(.settle)
        case .send(let frame):
            let number = client.number
            for action in client.connection?.receive(frame, now: now) ?? [] {
                switch action {
                case .send(let frame): receive(frame, number)
                case .open(let session, _, let open, _, _):
                    let id = SessionID(connection: number, session: session)
                    deliver(engine.handle([.open(id, open, identity(client))], now: now))
                case .deliver(let session, _, _, let messages, _):
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
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                for connection in connections { receive(frame, connection) }
            case .end(let id, _):
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
}
