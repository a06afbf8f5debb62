import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// What a client makes of figures and groups in the frames of a server.
@Suite struct AggregateFrameTests {
    private static let text = "User GROUP(age) AGGREGATE(@count, @avg.id)"

    private static func group(_ age: Int64, _ count: Int64, sum: Int64) -> Value {
        .list([.list([.int(age)]), .int(count), .int(count), .list([.int(count), .int(sum)])])
    }

    /// A session with a complete subscription that has two groups.
    private func complete(_ text: String = text, _ figures: [Value]? = nil) throws -> (ScriptedSession, EventLog) {
        let session = try ScriptedSession()
        session.open()
        let log = EventLog()
        let id = try session.engine.observe(session.query(text)) { log.events.append($0) }
        session.engine.observerIsReady(id)
        session.receive([
            .complete(
                .init(
                    session: 1, subscription: 1, version: 3, acceptedAt: ScriptedSession.now, kind: .bootstrap,
                    figures: figures ?? [Self.group(10, 2, sum: 30), Self.group(20, 1, sum: 50)]))
        ])
        session.engine.observerIsReady(id)
        return (session, log)
    }

    private func commit(_ version: UInt64, _ figures: [Value]) -> ServerMessage {
        .commit(
            .init(
                CommitHeader(
                    session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: nil,
                    isContinued: false),
                blocks: [.init(subscriptions: [1], content: ViewBlock())],
                figures: [.init(subscriptions: [1], values: figures)]))
    }

    private func columns(_ session: ScriptedSession, _ log: EventLog) throws -> [[Value]] {
        let aggregates = try #require(try session.query(Self.text).aggregates)
        return try #require(log.events.last?.groups).groups.map(aggregates.columns)
    }

    @Test func aCommitHasTheGroupsThatChange() throws {
        let (session, log) = try complete()
        #expect(
            try columns(session, log) == [[.int(10), .int(2), .double(15)], [.int(20), .int(1), .double(50)]])
        session.receive([commit(4, [Self.group(5, 1, sum: 7), .list([.list([.int(20)])])])])
        session.engine.observerIsReady(1)
        #expect(
            try columns(session, log) == [[.int(5), .int(1), .double(7)], [.int(10), .int(2), .double(15)]])
        #expect(log.events.last?.changesFigures == true && log.events.last?.groups?.isExact == true)
        #expect(session.storage.subscriptions.first?.figures?.count == 2)
    }

    @Test(
        arguments: [
            [.int(1)], [.list([])], [.list([.list([.int(99)])])],
            [.list([.list([.string("a")]), .int(1), .int(1), .list([.int(1)])])],
            [.list([.list([.int(1)]), .int(1), .int(1)])],
            [.list([.list([.int(1)]), .int(-1), .int(1), .list([.int(1)])])],
            [.list([.list([.int(1)]), .int(1), .double(1), .list([.int(1)])])],
            [.list([.list([.int(1)]), .int(1), .int(1), .list([.string("1")])])],
        ] as [[Value]])
    func figuresThatCannotBeEndTheConnection(figures: [Value]) throws {
        let (session, _) = try complete()
        session.receive([commit(4, figures)])
        #expect(!session.engine.isSessionOpen)
        #expect(session.storage.subscriptions.first?.figures?.count == 2)
    }

    @Test func aCompletionWithMoreGroupsThanThereMayBeEndsTheConnection() throws {
        let (session, _) = try complete(
            "User GROUP(age) AGGREGATE(@count) LIMIT(1)",
            [10, 20].map { .list([.list([.int($0)]), .int(1), .int(1)]) })
        #expect(!session.engine.isSessionOpen)
    }

    @Test func pendingWritesAreAddedToWhatTheServerHasSaidUntilItHasThem() throws {
        let (session, log) = try complete()
        try session.engine.write { writer in
            try writer.insert(ScriptedSession.user(2, age: 70, version: 0), ofClass: 0)
        }
        session.engine.observerIsReady(1)
        let event = try #require(log.events.last)
        #expect(
            event.remote == nil && event.groups?.isExact == false
                && event.groups?.groups.reduce(0) { $0 + $1.count } == 4)
    }
}
