import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

extension ExtremeNumberTests {
    @Test func `of each message that a client may send the numbers are tried`() throws {
        #expect(Set(try NumberedServer.messages().compactMap(\.code)) == Set(ClientMessage.Code.allCases))
    }

    @Test func aServerAnswersWhateverNumbersAClientNames() throws {
        var handledCount = 0
        for message in try NumberedServer.messages() {
            let server = try NumberedServer()
            try MessageVariants(message).forEachReadable(as: ClientMessage.self, pairCount: 40) { frame, name in
                LastCase.note("message \(message.type) of a client: \(name)")
                try server.handle(frame, before: message)
                handledCount += 1
            }
        }
        #expect(handledCount > 1_000)
    }
}

/// A server's engine with clients that say whatever a test wants, driven by hand.
private final class NumberedServer {
    private let engine: DatabaseEngine
    private var protocols: [UInt64: ConnectionProtocol] = [:]
    private var lastConnection: UInt64 = 0
    /// The connection that says what the test wants, and how many frames it has had.
    private var current: UInt64 = 0
    private var frameCount = 0
    /// The client that changes objects all the time.
    private var other: UInt64 = 0
    private var otherSequence: UInt64 = 0
    private var identity: ClientIdentity?
    private static let now = Timestamp(microseconds: 1_000_000)

    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("age", .scalar(.int)),
                    Property("names", PropertyType(.scalar(.string), container: .list)),
                    Property("best", .link("User")), Property("seen", .scalar(.date, isOptional: true)),
                    Property("limit", .scalar(.int), default: .int(7)),
                ]),
            ClassSchema("Note", properties: [Property("text", .scalar(.string))]),
        ])
    }

    init() throws {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        var limits = DatabaseLimits()
        limits.pageRowCount = 2
        limits.server.pageCreditMax = 2
        var number: UInt64 = 0
        engine = DatabaseEngine(name: "test", storage: storage, limits: limits) {
            number += 1
            return number
        }
        try engine.beginEpoch()
        other = try connect()
        try touch()
        say([.subscribe(.init(session: 1, subscription: 1, query: "User SORT(age) LIMIT(3)"))], on: other)
    }

    // MARK: What is said

    private static func changeset(_ sequence: UInt64) -> Changeset {
        let user = ObjectRef(0, .int(1))
        let author = ListEdits.Author(origin: 5, time: 9, ids: ObjectIDGenerator(origin: 5))
        let edits =
            ListEdits.inserting([.string("b"), .string("c")], at: 1, in: ElementList([.string("a")]), by: author)
            ?? ListEdits()
        return Changeset(
            sequence: sequence, baseVersion: 1, timestamp: HybridTimestamp(microseconds: 1_000),
            operations: [
                ObjectOperation(
                    user,
                    .create([
                        FieldOperation(1, .set(.int(3))), FieldOperation(2, .set(.list([.string("a")]))),
                        FieldOperation(5, .setDefault(.int(7))),
                    ])),
                ObjectOperation(
                    user, .update([FieldOperation(1, .add(.int(2))), FieldOperation(2, .editList(edits))])),
                ObjectOperation(
                    ObjectRef(0, .int(2)),
                    .create([
                        FieldOperation(3, .set(.link(.int(1)))),
                        FieldOperation(4, .set(.date(Timestamp(microseconds: 8)))),
                    ])),
                ObjectOperation(ObjectRef(0, .int(3)), .delete),
                ObjectOperation(ObjectRef(1, .id(ObjectID(high: 3, low: 4))), .create([])),
            ])
    }

    private static func kept() -> ObjectBlock {
        var content = ObjectBlock()
        for id in 1...3 as ClosedRange<Int64> {
            content.append(
                BlockRow(object: ObjectRef(0, .int(id)), version: 2, role: .root, properties: [], values: []))
        }
        return content
    }

    /// A message of each type, all of whose fields are there.
    static func messages() throws -> [ClientMessage] {
        let identity = ClientIdentity(
            databaseID: ObjectID(high: 7, low: 7), epoch: 2, clientID: 2, nonce: ObjectID(high: 1, low: 2))
        let resume = ClientMessage.Resume(
            version: 1, queryHash: ObjectID(high: 1, low: 1), memberCount: 3, isWhole: true,
            digest: ObjectID(high: 1, low: 1))
        let runs = Changeset(
            sequence: 2, baseVersion: 1, timestamp: HybridTimestamp(microseconds: 1_000),
            operations: (0..<16).map {
                ObjectOperation(
                    ObjectRef(0, .int(Int64($0) * $0)),
                    .create([
                        FieldOperation(1, .set(.int(Int64($0 % 5)))), FieldOperation(5, .setDefault(.int(7))),
                    ]))
            })
        return [
            .hello(.init(features: .all, agent: "a")),
            .open(
                .init(
                    session: 1, path: "test", credentials: [WireCredentials(.anonymous)], identity: identity,
                    version: 1,
                    acknowledged: 1, options: .shortLived, variables: ValueMap([(key: "n", value: .int(4))]),
                    schema: try schema())),
            .authenticate(session: 1, credentials: [WireCredentials(.anonymous)]),
            .subscribe(.init(session: 1, subscription: 4, query: "User", resume: resume)),
            .unsubscribe(session: 1, subscription: 1), .upload(session: 1, changesets: [changeset(2)]),
            .upload(session: 1, changesets: [runs, changeset(3)]), .credit(session: 1, pages: 1),
            .reportRequest(.init(session: 1, request: 1, topic: .status)), .close(session: 1),
            .declare(session: 1, schema: try schema()),
            .members(.init(session: 1, subscription: 3, isContinued: false, content: kept())),
            .remove(.init(session: 1, request: 1, className: "Note", property: nil)),
            .cached(.init(session: 1, request: 1, content: kept())),
            .deploy(.init(session: 1, request: 1, isTrial: true, file: Array("{}".utf8))),
            .variables(session: 1, values: ValueMap([(key: "n", value: .int(4))])),
            .listen(.init(session: 1, request: 1, topics: ["t"])),
            .message(.init(session: 1, request: 1, topic: "t", payload: [1])),
        ] + questions().map { .job(.init(session: 1, request: 1, question: $0)) }
    }

    /// What jobs ask, as far as it has numbers.
    private static func questions() -> [ClientMessage.JobCall.Question] {
        func checkpoint(_ place: Checkpoint.Place) -> Checkpoint {
            Checkpoint(
                databaseID: ObjectID(high: 7, low: 7), epoch: 1,
                query: SHA256.truncatedID(of: Array("User".utf8)), place: place)
        }
        let read = [Checkpoint.Stretch(through: .int(2), version: 1), .init(through: nil, version: 2)]
        let row = DeadLetterRecord.name(of: "User", .int(1))
        return [
            .chunk(query: "User", after: checkpoint(.reading(read)), rowCountMax: 2),
            .chunk(
                query: "User", after: checkpoint(.changes(after: 1, until: 2, key: .int(1), read: read)),
                rowCountMax: 2),
            .queue(name: "q", query: "User", after: .int(1), rowCountMax: 2, withPartitions: true),
            .rows(query: "User", keys: [.int(1), .int(2)]),
            .apply([
                JobWrite(
                    .init(space: QueueClaim.space("q"), name: row),
                    .set(.after(5), value: QueueClaim(holder: 3, attemptCount: 1, partition: "p").wireBytes())),
                JobWrite(
                    .init(space: QueueClaim.space("q"), name: row), .remove, if: .absent,
                    .unchanged(Identity(className: "User", key: .int(1)), version: 2)),
            ]),
            .wait(after: 3),
            .settle(space: QueueClaim.deadSpace("q"), Identity(className: "User", key: .int(1)), isRetried: true),
        ]
    }

    /// Delivers a frame in a session that may receive such a message, and then changes objects.
    func handle(_ frame: [UInt8], before message: ClientMessage) throws {
        var isFirst = false
        switch message {
        case .hello: (isFirst, current) = (true, begin())
        case .open:
            (isFirst, current) = (true, begin())
            say([.hello(.init(features: .all, agent: "a"))], on: current)
        default:
            if frameCount % 20 == 0 || protocols[current]?.sessions[1] == nil { try renew() }
        }
        frameCount += 1
        receive(frame, on: current)
        if frameCount % 3 == 0 { try touch() }
        work()
        if isFirst { leave(current) }
    }

    /// Opens another session: with nothing done in it, or with a subscription that is complete, or with one that waits
    /// for credit, and for the list of its members.
    private func renew() throws {
        leave(current)
        let stage = frameCount / 20 % 3
        current = try connect(identity: frameCount / 20 % 2 == 0 ? nil : identity)
        guard stage > 0 else { return }
        say([.subscribe(.init(session: 1, subscription: 1, query: "User WHERE age >= 0"))], on: current)
        say([.upload(session: 1, changesets: [Self.changeset(1)])], on: current)
        guard stage > 1 else { return }
        say([.subscribe(.init(session: 1, subscription: 2, query: "User SORT(age)"))], on: current)
        let query = "User WHERE age < 100"
        let resume = ClientMessage.Resume(
            version: 1, queryHash: SHA256.truncatedID(of: Array(query.utf8)), memberCount: 3, isWhole: false)
        say([.subscribe(.init(session: 1, subscription: 3, query: query, resume: resume))], on: current)
    }

    /// Has the other client change some objects.
    private func touch() throws {
        if protocols[other]?.sessions[1] == nil { (other, otherSequence) = (try connect(), 0) }
        otherSequence += 1
        let operations = (1...6 as ClosedRange<Int64>).map { id in
            ObjectOperation(
                ObjectRef(0, .int(id)), .create([FieldOperation(1, .set(.int(Int64(otherSequence % 7) + id)))]))
        }
        let changeset = Changeset(
            sequence: otherSequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 2_000),
            operations: operations)
        say([.upload(session: 1, changesets: [changeset]), .credit(session: 1, pages: 1)], on: other)
    }

    // MARK: Connections

    private func begin() -> UInt64 {
        lastConnection += 1
        protocols[lastConnection] = ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin())
        return lastConnection
    }

    private func connect(identity: ClientIdentity? = nil) throws -> UInt64 {
        let connection = begin()
        let open = ClientMessage.Open(session: 1, path: "test", identity: identity, schema: try Self.schema())
        say([.hello(.init(features: .all, agent: "a")), .open(open)], on: connection)
        return connection
    }

    private func leave(_ connection: UInt64) {
        for session in protocols[connection]?.sessions.keys.sorted() ?? [] {
            perform(engine.handle([.closed(SessionID(connection: connection, session: session))], now: Self.now))
        }
        protocols[connection] = nil
    }

    private func say(_ messages: [ClientMessage], on connection: UInt64) {
        for message in messages { receive(Frame.encode(message), on: connection) }
        work()
    }

    private func receive(_ frame: [UInt8], on connection: UInt64) {
        for action in protocols[connection]?.receive(frame, now: Self.now) ?? [] {
            switch action {
            case .open(let session, _, let open, let user, _):
                let id = SessionID(connection: connection, session: session)
                perform(engine.handle([.open(id, open, user)], now: Self.now))
            case .deliver(let session, _, _, let messages, _):
                let id = SessionID(connection: connection, session: session)
                perform(engine.handle([.messages(id, messages)], now: Self.now))
            case .close: leave(connection)
            case .send, .authenticate, .renewed, .forget, .expel: break
            }
        }
    }

    /// Has the engine do what it has to do.
    private func work() {
        for _ in 0..<50 {
            if let reading = engine.takeReading() ?? engine.takePreparation() {
                reading.run()
                perform(engine.handle([.prepared(reading)], now: Self.now))
            } else if engine.hasWork {
                perform(engine.step(now: Self.now))
            } else {
                return
            }
        }
    }

    private func perform(_ actions: [DatabaseAction]) {
        for action in actions {
            switch action {
            case .send(let frame, let connection):
                guard connection == current, let messages = try? Frame.decode(frame, as: ServerMessage.self) else {
                    continue
                }
                for case .opened(let opened) in messages { identity = opened.identity }
            case .consult: break
            case .end(let id, _): protocols[id.connection]?.ended(session: id.session)
            case .broadcast, .offer: break
            }
        }
    }
}
