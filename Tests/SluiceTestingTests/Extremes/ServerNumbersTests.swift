import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

extension ExtremeNumberTests {
    @Test func `of each message that a server may send the numbers are tried`() throws {
        #expect(Set(try NumberedStore.messages().map(\.message.code)) == Set(ServerMessage.Code.allCases))
    }

    @Test func aStoreTakesOrRefusesWhateverNumbersAServerSays() throws {
        var handledCount = 0
        for (message, block) in try NumberedStore.messages() {
            var store: NumberedStore?
            var count = 0
            try MessageVariants(message, block: block).forEachReadable(as: ServerMessage.self, pairCount: 40) {
                frame, name in
                LastCase.note("message \(message.type) of a server: \(name)")
                if count % 12 == 0 || store?.isUsable != true {
                    store?.close()
                    store = try NumberedStore(stage: count / 12)
                }
                store?.receive(frame, like: message)
                count += 1
            }
            store?.close()
            handledCount += count
        }
        #expect(handledCount > 1_000)
    }
}

/// A store whose server says whatever a test wants.
private final class NumberedStore {
    private let session: ScriptedSession
    private var count: UInt64 = 0

    private static func classes() throws -> [ClassSchema] {
        [
            try ClassSchema(
                "Note",
                properties: [
                    Property("lines", PropertyType(.scalar(.string), container: .list)),
                    Property("at", .scalar(.date, isOptional: true)), Property("author", .link("User")),
                ])
        ]
    }

    /// - Parameter stage: how much has happened before: a multiple of 3 for nothing but the greeting; else results,
    ///   or results, commits and writes.
    init(stage: Int) throws {
        session = try ScriptedSession(classes: Self.classes()) {
            $0.cacheLimits = CacheLimits(byteCountMax: 100, ageMax: .seconds(10))
        }
        let engine = session.engine
        _ = try engine.observe(session.query("User SORT(age) LIMIT(5)")) { [unowned engine] _ in
            _ = engine.sessionStatus
        }
        _ = try engine.observe(session.query("Note")) { _ in }
        engine.reportTransfers(while: { true }) { _ in }
        session.greet()
        guard stage % 3 > 0 else { return }
        session.opened(.created)
        session.bootstrap(1, [ScriptedSession.user(1, age: 4), ScriptedSession.user(2, age: 5)])
        guard stage % 3 > 1 else { return }
        session.receive([session.complete(2, .bootstrap)])
        try session.setAge(of: 1, to: 9)
        session.commit(4, to: 1, [ScriptedSession.user(2, age: 6, version: 4)])
        try session.setAge(of: 2, to: 9)
        _ = session.actions()
    }

    var isUsable: Bool { session.engine.syncFailure == nil }

    /// Delivers a frame, and then uses the store.
    func receive(_ frame: [UInt8], like message: ServerMessage) {
        let engine = session.engine
        switch message {
        case .hello:
            engine.handle(.closed(reason: "cut"))
            engine.handle(.reconnect)
            engine.handle(.opened())
        case .opened:
            engine.handle(.closed(reason: "cut"))
            session.greet()
        default:
            if engine.sessionStatus.connection == .disconnected { session.open(.resumed) }
        }
        engine.handle(.received(frame))
        count += 1
        try? session.setAge(of: 1, to: Int64(count))
        let row = ScriptedSession.user(2, age: Int64(count), version: 5 + count)
        session.commit(5 + count, to: 1, [row], acknowledged: 1)
        engine.handle(.storePostponed)
        engine.reportProgress()
        _ = try? engine.sweepCache()
        _ = (engine.sessionStatus, engine.serverClockOffset, engine.takeActions())
    }

    func close() {
        session.engine.close()
        session.storage.close()
    }

    // MARK: What the server says

    /// A message of each type, all of whose fields are there, with its block if it has one.
    static func messages() throws -> [(message: ServerMessage, block: ViewBlock?)] {
        let now = ScriptedSession.now
        let schema = try Schema(
            [
                ClassSchema(
                    "User", primaryKey: "id",
                    properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
            ] + classes())
        let id = ObjectID(high: 1, low: 2)
        let user = ObjectRef(0, .int(1))
        let rejection = ServerMessage.Rejection(
            sequence: 1, reasons: [.init(object: user, code: .invalidOperation, message: "no")])
        let opened = ServerMessage.Opened(
            session: 1, identity: ScriptedSession.identity, outcome: .resumed, version: 3, acknowledged: 1,
            rejections: [rejection], userID: "ann", schema: schema)
        let roots = block(.root), changes = block(.member, version: 4)
        let header = CommitHeader(session: 1, version: 4, acceptedAt: now, acknowledged: 1, isContinued: false)
        var kept = ObjectBlock()
        kept.append(BlockRow(object: user, version: 0, role: .root, properties: [], values: []))
        let plain: [ServerMessage] = [
            .hello(.init(version: 1, features: .all, time: now, limits: ServerLimits(), agent: "a")),
            .opened(opened), .schema(session: 1, schema: schema),
            .complete(
                .init(session: 1, subscription: 1, version: 4, acceptedAt: now, kind: .bootstrap, digest: id)),
            .subscriptionError(
                .init(session: 1, subscription: 2, code: .invalidQuery, message: "no", position: 1)),
            .rejected(.init(session: 1, rejection: rejection)),
            .error(.init(session: 1, code: .overloaded, message: "later", action: .retry, retryAfter: 5)),
            .report(session: 1, request: 1, json: Array("{}".utf8)),
            .reportError(.init(session: 1, request: 1, code: .invalidQuery, message: "no", position: 1)),
            .listMembers(session: 1, subscription: 1),
            .digest(.init(session: 1, subscription: 1, version: 4, digest: id)),
            .login(.init(session: 1, expiresAt: now, credential: WireCredentials(.session, [1]))),
            .context(
                .init(session: 1, context: id, fields: id, hidden: [.init(classIndex: 0, properties: [1])])),
            .withdrawn(.init(session: 1, request: 1, content: kept)),
            .moved(.init(session: 1, url: "ws://a/test")),
            .message(.init(session: 1, topic: "t", userID: "ann", sentAt: now, payload: [1])),
            .places(.init(session: 1, subscriptions: [1], rows: [.init(user, "k")])),
        ]
        return plain.map { ($0, nil) } + [
            (.page(.init(session: 1, subscriptions: [1, 2], version: 4, progress: 0.5, content: roots)), roots),
            (.commit(.init(header, blocks: [.init(subscriptions: [1, 2], content: changes)])), changes),
            (.commit(.init(header, blocks: [.init(subscriptions: [2], content: roots)])), roots),
        ]
    }

    private static func block(_ role: RowRole, version: UInt64 = 2) -> ViewBlock {
        var block = ViewBlock()
        block.authors = [
            CommitAuthor(
                version: version, userID: "ann", clientID: 1, kinds: [.set, .create], acceptedAt: ScriptedSession.now,
                workerID: "w")
        ]
        block.append(.init(ObjectRef(0, .int(7)), role: .root, reason: .filter))
        for id in 1...3 as ClosedRange<Int64> {
            block.objects.append(
                ScriptedSession.user(id, age: id * id, version: version), classIndex: 0, role: role,
                properties: role == .member ? [1] : [0, 1])
        }
        let author = ListEdits.Author(origin: 5, time: 9, ids: ObjectIDGenerator(origin: 5))
        let id = ObjectID(high: 8, low: 8)
        let lines = Value.list([.string("a")])
        let edits = ListEdits.inserting([.string("b")], at: 1, in: ElementList([.string("a")]), by: author)
        var row = Row(
            key: .id(id), version: version, values: [lines, .date(ScriptedSession.now), .link(.int(1))])
        if let edits { row.apply(FieldOperation(0, .editList(edits))) }
        block.objects.append(
            row, classIndex: 1, role: role, properties: role == .member ? [0] : [0, 1, 2],
            edits: role == .member ? edits.map { [0: $0] } ?? [:] : [:])
        return block
    }
}
