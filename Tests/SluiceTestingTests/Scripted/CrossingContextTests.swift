import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A subscription asks to resume, and the user reads in another context before the server answers.
@Suite struct CrossingContextTests {
    private let server: ScriptedSession
    private let query: Query

    init() throws {
        server = try ScriptedSession()
        server.greet()
        server.receive([Self.context(1)])
        server.opened(.created)
        query = try server.query("User")
    }

    private static func context(_ number: UInt64) -> ServerMessage {
        .context(.init(session: 1, context: ObjectID(high: 0, low: number), fields: ObjectID(high: 0, low: 9)))
    }

    private func requests() -> [ClientMessage.Subscribe] {
        server.sent().compactMap { message in
            guard case .subscribe(let request) = message else { return nil }
            return request
        }
    }

    private var record: SubscriptionRecord? { server.storage.subscriptions.first { $0.hash == query.hash } }

    /// The query is observed, complete, and observed again after a pause.
    private func observeAgain() throws {
        let observation = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        try server.engine.endObservation(observation, keeping: false, purging: false)
        _ = try server.engine.observe(query) { _ in }
        #expect(requests().last?.resume?.isWhole == true)
    }

    @Test func whatIsResumedFromTheOldContextIsFetchedAnew() throws {
        try observeAgain()
        server.receive([Self.context(2)])
        server.receive([server.complete(2, .resumed)])
        #expect(record?.state != .complete)
        let anew = requests()
        #expect(anew.map(\.subscription) == [3] && anew.allSatisfy { $0.resume == nil })
        server.bootstrap(3, [])
        #expect(record?.state == .complete)
        let id = try #require(record).id
        #expect(try !server.storage.isMember(ObjectRef(0, .int(1)), of: id, role: .root))
    }

    @Test func theSameContextAgainLetsItResume() throws {
        try observeAgain()
        server.receive([Self.context(1)])
        server.receive([server.complete(2, .resumed)])
        #expect(record?.state == .complete && requests().isEmpty)
    }

    /// The server's first frame after a reconnection brings the context and completes the subscription.
    @Test func aCompleteSubscriptionThatWasNotCaughtUpYetIsFetchedAnew() throws {
        _ = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        server.loseConnection()
        server.greet()
        server.receive([Self.context(1)])
        server.opened(.resumed)
        #expect(requests().last?.resume?.isWhole == true)
        server.receive([Self.context(2), server.complete(1, .resumed)])
        #expect(record?.state != .complete)
        #expect(requests().map(\.subscription) == [2])
    }

    @Test func whoListsItsMembersIsNotAskedTwice() throws {
        try observeAgain()
        server.receive([.listMembers(session: 1, subscription: 2)])
        server.receive([Self.context(2)])
        let content = ViewBlock(departures: [.init(ObjectRef(0, .int(1)), role: .root, reason: .permission)])
        server.receive([
            .page(.init(session: 1, subscriptions: [2], version: 3, progress: 1, kind: .resumed, content: content)),
            server.complete(2, .resumed),
        ])
        #expect(record?.state == .complete && requests().isEmpty)
    }

    /// The commit that moves two subscriptions to another context comes behind the pages that say so, and brings them
    /// nothing: what it has changed is in later pages.
    @Test func whatMovesIsResumedFromBeforeTheCommitThatMovesIt() throws {
        for text in ["User", "User WHERE age > 1"] { _ = try server.engine.observe(server.query(text)) { _ in } }
        for number in [1, 2] as [UInt64] { server.bootstrap(number, [ScriptedSession.user(1, age: 40)]) }
        _ = server.sent()
        let pages = ([1, 2] as [UInt64]).map { number in
            ServerMessage.page(
                .init(
                    session: 1, subscriptions: [number], version: 4, progress: 0, kind: .resumed, content: ViewBlock()))
        }
        let header = CommitHeader(
            session: 1, version: 4, acceptedAt: ScriptedSession.now, acknowledged: nil, isContinued: false)
        server.receive([Self.context(2)] + pages + [.commit(.init(header, blocks: []))])
        #expect(server.storage.syncState?.version == 4)
        server.loseConnection()
        server.greet()
        server.receive([Self.context(2)])
        server.opened(.resumed)
        #expect(requests().map(\.resume?.version) == [3, 3])
    }
}
