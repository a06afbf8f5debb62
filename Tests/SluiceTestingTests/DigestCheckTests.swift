import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// A client's engine that comes back to a server that says what the test wants.
@Suite struct DigestCheckTests {
    private let storage: SQLiteClientStorage
    private let engine: ClientEngine
    private let query: Query
    private let schema: Schema
    private let rows = [Row(key: .int(1), version: 2, values: [.int(1), .int(40)])]

    init() throws {
        schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
        ])
        storage = try SQLiteClientStorage.open(.memory)
        try storage.begin()
        _ = try storage.merge(schema, sides: ("the store", "the models"))
        try storage.commit()
        var options = ClientEngine.Options()
        options.databaseName = "test"
        engine = try ClientEngine(
            storage: storage, options: options, now: { Timestamp(microseconds: 1) }, random: { 1 })
        query = try Query.parse("User SORT(age ASC) LIMIT(3)", schema: schema)
        _ = try engine.observe(query) { _ in }
        engine.handle(.start)
        open(.created)
        bootstrap(1)
        engine.handle(.closed(reason: "cut", isTransient: true))
        engine.handle(.reconnect)
        _ = sent()
        open(.resumed)
    }

    private func open(_ outcome: ServerMessage.OpenOutcome) {
        engine.handle(.opened)
        let identity = ClientIdentity(
            databaseID: ObjectID(high: 1, low: 1), epoch: 1, clientID: 1, nonce: ObjectID(high: 2, low: 2))
        receive([
            .opened(.init(session: 1, identity: identity, outcome: outcome, version: 3, schema: schema))
        ])
    }

    private func bootstrap(_ subscription: UInt64) {
        var content = ViewBlock()
        for row in rows { content.objects.append(row, classIndex: 0, role: .root, properties: [0, 1]) }
        receive([
            .page(.init(session: 1, subscriptions: [subscription], version: 3, progress: 1, content: content)),
            complete(subscription, .bootstrap, nil),
        ])
    }

    private func complete(
        _ subscription: UInt64, _ kind: ServerMessage.Complete.Kind, _ digest: ObjectID?
    ) -> ServerMessage {
        .complete(
            .init(
                session: 1, subscription: subscription, version: 3, acceptedAt: Timestamp(microseconds: 1), kind: kind,
                digest: digest))
    }

    private func receive(_ messages: [ServerMessage]) {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        engine.handle(.received(frame.finish()))
    }

    /// What the client has said since the last call.
    private func sent() -> [ClientMessage] {
        var messages: [ClientMessage] = []
        for case .send(let frame) in engine.takeActions() {
            messages += (try? Frame.decode(frame, as: ClientMessage.self)) ?? []
        }
        return messages
    }

    private func subscribe(_ messages: [ClientMessage]) -> ClientMessage.Subscribe? {
        messages.compactMap { if case .subscribe(let subscribe) = $0 { subscribe } else { nil } }.last
    }

    private var digest: ObjectID {
        get throws {
            var digest = try #require(ViewDigest(query, schema: schema))
            for row in rows { digest.add(row, of: 0, isRoot: true) }
            return digest.digest
        }
    }

    private var state: SubscriptionRecord.State? { storage.subscriptions.first?.state }

    @Test func aClientThatComesBack_tellsTheDigestOfWhatItHas() throws {
        let resume = try #require(subscribe(sent())?.resume)
        #expect(resume.version == 3 && resume.memberCount == 1 && resume.isWhole)
        #expect(try resume.digest == digest)
    }

    @Test func pendingWritesDoNotCount() throws {
        try engine.write { try $0.update(ObjectRef(0, .int(1)), [FieldOperation(1, .set(.int(99)))]) }
        _ = sent()
        receive([complete(1, .resumed, try digest)])
        #expect(state == .complete && engine.mismatchCount == 0)
        #expect(subscribe(sent()) == nil)
    }

    @Test func whatDiffersFromTheServersDigest_isFetchedAnew() throws {
        _ = sent()
        receive([complete(1, .resumed, ObjectID(high: 1, low: 2))])
        #expect(engine.mismatchCount == 1 && state == .pending)
        let messages = sent()
        #expect(messages.contains(.unsubscribe(session: 1, subscription: 1)))
        let again = try #require(subscribe(messages))
        #expect(again.resume == nil && again.subscription == 2)
        bootstrap(again.subscription)
        #expect(state == .complete && engine.mismatchCount == 1)
        #expect(try storage.results(of: query).visible.map(\.row.values) == rows.map(\.values))
    }

    @Test func aRowThatWasDamaged_isHealedByTheNextSession() throws {
        try storage.begin()
        try storage.put(Row(key: .int(1), version: 2, values: [.int(1), .int(41)]), ofClass: 0)
        try storage.commit()
        _ = sent()
        receive([complete(1, .resumed, try digest)])
        bootstrap(try #require(subscribe(sent())).subscription)
        #expect(try storage.row(ObjectRef(0, .int(1)))?.values == [.int(1), .int(40)])
        #expect(state == .complete)
    }
}
