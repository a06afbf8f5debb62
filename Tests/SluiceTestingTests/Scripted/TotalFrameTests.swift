import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

/// What a client makes of the totals in the frames of a server.
@Suite struct TotalFrameTests {
    private static let text = "User WHERE age > 30 SORT(age DESC) LIMIT(1) TOTAL"

    /// A session with a complete subscription whose total is 7.
    private func complete() throws -> (session: ScriptedSession, log: EventLog) {
        let session = try ScriptedSession()
        session.open()
        let log = EventLog()
        let id = try session.engine.observe(session.query(Self.text)) { log.events.append($0) }
        session.engine.observerIsReady(id)
        var block = ViewBlock()
        block.objects.append(
            ScriptedSession.user(1, age: 40), classIndex: 0, role: .root, properties: [0, 1])
        session.receive([
            .page(.init(session: 1, subscriptions: [1], version: 3, progress: 1, content: block)),
            .complete(
                .init(
                    session: 1, subscription: 1, version: 3, acceptedAt: ScriptedSession.now, kind: .bootstrap,
                    figures: [.int(7)])),
        ])
        session.engine.observerIsReady(id)
        #expect(log.events.last?.total?.count == 7)
        return (session, log)
    }

    private func commit(
        _ version: UInt64, figures: [Value], acknowledged: UInt64? = nil, isContinued: Bool = false
    ) -> ServerMessage {
        let author = CommitAuthor(
            version: version, userID: "ann", clientID: 9, kinds: [.create], acceptedAt: ScriptedSession.now)
        return .commit(
            .init(
                CommitHeader(
                    session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: acknowledged,
                    isContinued: isContinued),
                blocks: [.init(subscriptions: [1], content: ViewBlock(authors: [author]))],
                figures: isContinued ? [] : [.init(subscriptions: [1], values: figures)]))
    }

    @Test func aTotalAloneIsAnEventOfItsAuthors() throws {
        let (session, log) = try complete()
        session.receive([commit(4, figures: [.int(8)])])
        let event = try #require(log.events.last)
        #expect(event.total?.count == 8 && event.changesFigures && event.change.isEmpty)
        #expect(event.remote?.authors.map(\.userID) == ["ann"])
        #expect(session.storage.subscriptions.first?.figures == [.int(8)])
    }

    @Test func theSameTotalAgainIsNoEvent() throws {
        let (session, log) = try complete()
        let count = log.events.count
        session.receive([commit(4, figures: [.int(7)])])
        #expect(log.events.count == count)
    }

    @Test func aBusyConsumerIsToldTheTotalThatBelongsToTheResults() throws {
        let (session, log) = try complete()
        session.receive([commit(4, figures: [.int(8)])])
        // The consumer has not handled that event when two more come, of which this store makes one.
        try session.engine.write { writer in
            try writer.insert(ScriptedSession.user(2, age: 50, version: 0), ofClass: 0)
        }
        session.receive([commit(5, figures: [.int(12)])])
        let count = log.events.count
        session.engine.observerIsReady(1)
        #expect(log.events.count == count + 1)
        #expect(log.events.last?.total?.count == 9 && log.events.last?.remote == nil)
        session.engine.observerIsReady(1)
        #expect(log.events.last?.total?.count == 13 && log.events.last?.remote != nil)
    }

    @Test func aWriteIsCountedUntilTheTotalHasIt() throws {
        let (session, log) = try complete()
        session.engine.observerIsReady(1)
        try session.engine.write { writer in
            try writer.insert(ScriptedSession.user(2, age: 50, version: 0), ofClass: 0)
            try writer.insert(ScriptedSession.user(3, age: 20, version: 0), ofClass: 0)
        }
        session.engine.observerIsReady(1)
        #expect(log.events.last?.total?.count == 8)
        try session.setAge(of: 1, to: 10)
        session.engine.observerIsReady(1)
        #expect(log.events.last?.total?.count == 7)
        session.receive([commit(4, figures: [.int(7)], acknowledged: 2)])
        session.engine.observerIsReady(1)
        #expect(log.events.last?.total?.count == 7)
        #expect(try session.storage.total(of: session.query(Self.text))?.count == 7)
    }

    @Test(arguments: [[], [.int(-1)], [.string("7")], [.int(7), .int(8)]] as [[Value]])
    func figuresThatNobodyAskedForEndTheConnection(figures: [Value]) throws {
        let (session, log) = try complete()
        session.receive([commit(4, figures: figures)])
        #expect(!session.engine.isSessionOpen)
        #expect(log.events.last?.total?.count == 7)
        #expect(session.storage.subscriptions.first?.figures == [.int(7)])
    }

    @Test func aCompletionWithoutTheTotalThatWasAskedForEndsTheConnection() throws {
        let session = try ScriptedSession()
        session.open()
        _ = try session.engine.observe(session.query(Self.text)) { _ in }
        session.bootstrap(1, [])
        #expect(!session.engine.isSessionOpen)
    }

    @Test func aServerThatDoesNotKnowTotalsIsNotAskedForOne() throws {
        let session = try ScriptedSession()
        let log = EventLog()
        _ = try session.engine.observe(session.query(Self.text)) { log.events.append($0) }
        let other = EventLog()
        _ = try session.engine.observe(session.query("User WHERE age > 30")) { other.events.append($0) }
        session.greet(features: [])
        _ = session.sent()
        session.opened(.created)
        let asked = session.sent().compactMap { message in
            if case .subscribe(let subscribe) = message { subscribe.query } else { nil }
        }
        #expect(asked == ["User WHERE age > 30"])
        session.engine.observerIsReady(1)
        #expect(log.events.last?.status.error?.message.contains("TOTAL") == true)
        _ = try session.engine.observe(session.query("User LIMIT(3) TOTAL")) { log.events.append($0) }
        #expect(session.sent().isEmpty)
    }

    /// What was told is kept with the subscription, and goes with it.
    @Test func totalsLeaveNothingBehind() throws {
        let (session, _) = try complete()
        try session.engine.endObservation(1, keeping: false, purging: true)
        #expect(session.storage.subscriptions.isEmpty)
        #expect(try session.storage.total(of: session.query(Self.text)) == nil)
    }

    /// The leader of the team is not here, so what is pending of the team itself would make the total uncertain.
    @Test func aWriteThatOnlyTheOrderReadsLeavesTheTotalCertain() throws {
        let key = Property("id", .scalar(.int))
        let city = try ClassSchema("City", primaryKey: "id", properties: [key, Property("size", .scalar(.int))])
        let team = try ClassSchema(
            "Team", primaryKey: "id",
            properties: [key, Property("leader", .link("User")), Property("city", .link("City"))])
        let session = try ScriptedSession(classes: [team, city])
        session.open()
        let query = try session.query("Team WHERE leader.age > 10 SORT(city.size ASC) TOTAL")
        let log = EventLog()
        let id = try session.engine.observe(query) { log.events.append($0) }
        var block = ViewBlock()
        block.objects.append(
            Row(key: .int(1), version: 2, values: [.int(1), .link(.int(7)), .link(.int(8))]), classIndex: 1,
            role: .root, properties: [0, 1, 2])
        block.objects.append(
            Row(key: .int(8), version: 2, values: [.int(8), .int(40)]), classIndex: 2, role: .linked,
            properties: [0, 1])
        session.receive([
            .page(.init(session: 1, subscriptions: [1], version: 3, progress: 1, content: block)),
            session.complete(1, .bootstrap),
        ])
        session.engine.observerIsReady(id)
        session.engine.observerIsReady(id)
        #expect(log.events.last?.total?.isExact == true)
        try session.engine.write { try $0.update(ObjectRef(2, .int(8)), [FieldOperation(1, .set(.int(50)))]) }
        session.engine.observerIsReady(id)
        #expect(try session.storage.pendingObjects == [ObjectRef(2, .int(8))])
        #expect(log.events.last?.total?.isExact == true)
        #expect(try session.storage.total(of: query)?.isExact == true)
    }

    /// It was shown until the server had answered, and is of a context in which other properties may be read.
    @Test func aTotalOfAnotherQueryIsForgottenWithTheContext() throws {
        let (session, _) = try complete()
        let query = try session.query("User WHERE age > 30 SORT(age ASC) LIMIT(1) TOTAL")
        let log = EventLog()
        let id = try session.engine.observe(query) { log.events.append($0) }
        #expect(log.events.last?.total?.count == 7)
        session.loseConnection()
        for _ in 0..<3 { session.engine.observerIsReady(id) }
        session.greet()
        session.receive([
            .context(
                .init(session: 1, context: ObjectID(high: 1, low: 9), fields: ObjectID(high: 1, low: 9)))
        ])
        session.opened(.resumed)
        for _ in 0..<3 { session.engine.observerIsReady(id) }
        #expect(try session.storage.total(of: query) == nil)
        #expect(log.events.last?.total == nil)
    }
}
