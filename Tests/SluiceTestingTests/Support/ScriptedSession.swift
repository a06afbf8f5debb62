import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Synchronization

/// A client's engine and a server whose answers the test decides. The objects are users with an age.
final class ScriptedSession {
    static let identity = ClientIdentity(
        databaseID: ObjectID(high: 1, low: 1), epoch: 1, clientID: 1, nonce: ObjectID(high: 2, low: 2))
    static let now = Timestamp(microseconds: 1)

    let schema: Schema
    let storage: SQLiteClientStorage
    let engine: ClientEngine

    /// - Parameter classes: classes beside the users.
    init(
        at location: StorageLocation = .memory, classes: [ClassSchema] = [], log: LogSink? = nil,
        _ configure: (inout ClientOptions) -> Void = { _ in }
    ) throws {
        let user = try ClassSchema(
            "User", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
        let schema = try Schema([user] + classes)
        let storage = try SQLiteClientStorage.open(location)
        self.schema = schema
        self.storage = storage
        _ = try storage.transaction { try storage.merge(schema, sides: ("the store", "the models")) }
        var options = ClientOptions()
        options.databaseName = "test"
        configure(&options)
        engine = try ClientEngine(storage: storage, options: options, now: { Self.now }, random: { 1 }, log: log)
    }

    /// Teams that link to users, beside the users.
    static func team() throws -> ClassSchema {
        try ClassSchema(
            "Team", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("leader", .link("User")), Property("deputy", .link("User")),
            ])
    }

    /// The same store after a restart of its process.
    init(_ earlier: ScriptedSession, engine: ClientEngine) {
        schema = earlier.schema
        storage = earlier.storage
        self.engine = engine
    }

    func query(_ text: String) throws -> Query { try Query.parse(text, schema: schema) }

    // MARK: What the server says

    /// Connects the client, and sends the server's hello.
    func greet(
        version: UInt64 = 1, features: Features = .all, limits: ServerLimits = ServerLimits()
    ) {
        engine.handle(.start)
        engine.handle(.reconnect)
        engine.handle(.opened())
        receive([
            .hello(.init(version: version, features: features, time: Self.now, limits: limits, agent: "script"))
        ])
    }

    /// Connects and opens the session at version 3.
    func open(_ outcome: ServerMessage.OpenOutcome = .created, acknowledged: UInt64 = 0) {
        greet()
        opened(outcome, acknowledged: acknowledged)
    }

    func opened(
        _ outcome: ServerMessage.OpenOutcome, acknowledged: UInt64 = 0, rejections: [ServerMessage.Rejection] = [],
        epoch: UInt64 = 1
    ) {
        var identity = Self.identity
        identity.epoch = epoch
        receive([
            .opened(
                .init(
                    session: 1, identity: identity, outcome: outcome, version: 3, acknowledged: acknowledged,
                    rejections: rejections, schema: schema))
        ])
    }

    func loseConnection() { engine.handle(.closed(reason: "cut")) }

    func receive(_ messages: [ServerMessage]) {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        engine.handle(.received(frame.finish()))
    }

    /// Sends all results of a subscription and completes it.
    func bootstrap(_ subscription: UInt64, _ rows: [Row]) {
        receive([
            .page(.init(session: 1, subscriptions: [subscription], version: 3, progress: 1, content: block(rows))),
            complete(subscription, .bootstrap),
        ])
    }

    func complete(
        _ subscription: UInt64, _ kind: ServerMessage.Complete.Kind, digest: ObjectID? = nil
    ) -> ServerMessage {
        .complete(
            .init(
                session: 1, subscription: subscription, version: 3, acceptedAt: Self.now, kind: kind, digest: digest))
    }

    /// Sends a commit of some objects.
    func commit(_ version: UInt64, to subscription: UInt64, _ rows: [Row], acknowledged: UInt64? = nil) {
        var content = block(rows)
        content.authors = [
            CommitAuthor(version: version, userID: nil, clientID: 9, kinds: [.set], acceptedAt: Self.now)
        ]
        receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: version, acceptedAt: Self.now, acknowledged: acknowledged,
                        isContinued: false), blocks: [.init(subscriptions: [subscription], content: content)]))
        ])
    }

    /// A user's row.
    static func user(_ id: Int64, age: Int64, version: UInt64 = 2) -> Row {
        Row(key: .int(id), version: version, values: [.int(id), .int(age)])
    }

    private func block(_ rows: [Row]) -> ViewBlock {
        var content = ViewBlock()
        for row in rows { content.objects.append(row, classIndex: 0, role: .root, properties: [0, 1]) }
        return content
    }

    // MARK: What the client does

    /// The actions of the client since the last call.
    func actions() -> [ClientAction] { engine.takeActions() }

    /// The messages of the client since the last call.
    func sent() -> [ClientMessage] {
        var messages: [ClientMessage] = []
        for case .send(let frame) in engine.takeActions() {
            messages += (try? Frame.decode(frame, as: ClientMessage.self)) ?? []
        }
        return messages
    }

    func setAge(of id: Int64, to age: Int64) throws {
        try engine.write { try $0.update(ObjectRef(0, .int(id)), [FieldOperation(1, .set(.int(age)))]) }
    }

    func age(of id: Int64) throws -> Value? { try storage.row(ObjectRef(0, .int(id)))?.values[1] }
}

/// Records the events of an observer.
final class EventLog {
    var events: [ResultEvent] = []

    /// The ages in the results of each event.
    var ages: [[Value]] { events.map { $0.list.visible.map { $0.row.values[1] } } }
}

/// Records the lines of a log.
final class LogLines: Sendable {
    private let lines = Mutex<[LogLine]>([])

    var all: [LogLine] { lines.withLock { $0 } }

    var sink: LogSink { LogSink(level: .verbose) { [self] line in lines.withLock { $0.append(line) } } }
}
