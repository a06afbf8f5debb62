import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// What the server had sent before it heard that a subscription has ended, and what it does not know yet.
@Suite struct StoppedSubscriptionTests {
    private static func team(_ properties: Property...) throws -> ClassSchema {
        try ClassSchema(
            "Team", primaryKey: "id",
            properties: [Property("id", .scalar(.int)), Property("leader", .link("User"))] + properties)
    }

    private static func row(_ leader: Int64) -> Row {
        Row(key: .int(7), version: 4, values: [.int(7), .link(.int(leader))])
    }

    @Test func aLinkInACommitForAStoppedSubscriptionRemovesNothingThatAnotherIsBringing() throws {
        let server = try ScriptedSession(classes: [Self.team()])
        server.open()
        let stopped = try server.engine.observe(try server.query("Team")) { _ in }
        server.bootstrap(1, [])
        let query = try server.query("User")
        _ = try server.engine.observe(query) { _ in }
        var page = ViewBlock()
        page.objects.append(ScriptedSession.user(1, age: 40), classIndex: 0, role: .root, properties: [0, 1])
        server.receive([
            .page(.init(session: 1, subscriptions: [2], version: 3, progress: 0.5, content: page))
        ])
        try server.engine.endObservation(stopped, keeping: false, purging: false)
        var content = ViewBlock()
        content.objects.append(Self.row(1), classIndex: 1, role: .root, properties: [0, 1])
        server.receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 4, acceptedAt: ScriptedSession.now, acknowledged: nil, isContinued: false),
                    blocks: [.init(subscriptions: [1], content: content)]))
        ])
        server.receive([server.complete(2, .bootstrap)])
        let id = try #require(server.storage.subscriptions.first { $0.hash == query.hash && $0.state == .complete }).id
        #expect(try server.storage.isMember(ObjectRef(0, .int(1)), of: id, role: .root))
        #expect(try server.age(of: 1) == .int(40))
    }

    @Test func aPropertyThatTheServerLacksHasItsDefaultAndIsNotLeftOut() throws {
        let server = try ScriptedSession(classes: [Self.team(Property("mark", .scalar(.string)))])
        server.greet()
        let known = try Schema([server.schema[0], Self.team()])
        server.receive([
            .opened(
                .init(
                    session: 1, identity: ScriptedSession.identity, outcome: .created, version: 3, acknowledged: 0,
                    rejections: [], schema: known))
        ])
        _ = try server.engine.observe(try server.query("Team")) { _ in }
        var page = ViewBlock()
        page.objects.append(Self.row(1), classIndex: 1, role: .root, properties: [0, 1])
        server.receive([
            .page(.init(session: 1, subscriptions: [1], version: 3, progress: 1, content: page)),
            server.complete(1, .bootstrap),
        ])
        let team = try #require(try server.storage.row(ObjectRef(1, .int(7))))
        #expect(team.absent.isEmpty && team.values == [.int(7), .link(.int(1)), .string("")])
    }
}

/// Content for subscriptions that have ended, and for those that have not what it changes.
@Suite struct ContentForNobodyTests {
    private let server: ScriptedSession
    private let query: Query

    init() throws {
        server = try ScriptedSession()
        server.open()
        query = try server.query("User")
    }

    private func page(_ subscriptions: [UInt64], _ ids: Int64..., role: RowRole = .root) -> ServerMessage {
        var content = ViewBlock()
        for id in ids {
            content.objects.append(
                ScriptedSession.user(id, age: 40), classIndex: 0, role: role,
                properties: role == .member ? [1] : [0, 1])
        }
        return .page(.init(session: 1, subscriptions: subscriptions, version: 3, progress: 0.5, content: content))
    }

    private func commit(_ version: UInt64, to subscriptions: [UInt64], _ content: ViewBlock) -> ServerMessage {
        .commit(
            .init(
                CommitHeader(
                    session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: nil,
                    isContinued: false), blocks: [.init(subscriptions: subscriptions, content: content)]))
    }

    private func count() throws -> Int { try server.storage.count(ofClass: 0) }

    @Test func aPageForAnEndedSubscriptionIsTakenAndStoresNothing() throws {
        let id = try server.engine.observe(query) { _ in }
        try server.engine.endObservation(id, keeping: false, purging: true)
        _ = server.sent()
        server.receive([page([1], 1, 2)])
        #expect(try count() == 0)
        #expect(server.sent() == [.credit(session: 1, pages: 1)])
    }

    @Test func aPageForTwoIsStoredForTheOneThatIsLeft() throws {
        let id = try server.engine.observe(query) { _ in }
        _ = try server.engine.observe(try server.query("User WHERE age > 10")) { _ in }
        try server.engine.endObservation(id, keeping: false, purging: true)
        server.receive([page([1, 2], 1, 2), server.complete(2, .bootstrap)])
        #expect(try count() == 2)
        #expect(try server.storage.unheldObjects(ofClass: 0).isEmpty)
    }

    /// The server counts on an object that this store has lost; its changes make no object, and the query begins anew.
    @Test(arguments: [1, .max])
    func changesOfAnObjectThatIsNotHereMakeNoneAndTheQueryBeginsAnew(bulkRowCountMin: Int) throws {
        let server = try ScriptedSession { $0.bulkRowCountMin = bulkRowCountMin }
        server.open()
        _ = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [])
        _ = server.sent()
        var content = ViewBlock()
        content.objects.append(ScriptedSession.user(1, age: 41), classIndex: 0, role: .member, properties: [1])
        server.receive([commit(4, to: [1], content)])
        #expect(try server.storage.count(ofClass: 0) == 0)
        let sent = server.sent()
        #expect(sent.contains(.unsubscribe(session: 1, subscription: 1)))
        server.bootstrap(2, [ScriptedSession.user(1, age: 41)])
        #expect(try server.age(of: 1) == .int(41))
        #expect(server.storage.subscriptions.map(\.state) == [.complete])
    }

    // MARK: Bootstraps that do not come to their end

    @Test func whatABootstrapHadBroughtStaysAndGoesWithTheNext() throws {
        _ = try server.engine.observe(query) { _ in }
        server.receive([page([1], 1, 2)])
        server.loseConnection()
        #expect(try count() == 2)
        #expect(try server.storage.unheldObjects(ofClass: 0).isEmpty)
        server.open(.resumed)
        server.bootstrap(1, [ScriptedSession.user(2, age: 40), ScriptedSession.user(3, age: 40)])
        #expect(try server.age(of: 1) == nil)
        #expect(try count() == 2)
    }

    @Test func whatAComparisonHadBroughtIsListedTheNextTime() throws {
        _ = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        server.loseConnection()
        server.open(.resumed)
        server.receive([.listMembers(session: 1, subscription: 1)])
        var content = ViewBlock()
        content.objects.append(ScriptedSession.user(2, age: 40), classIndex: 0, role: .root, properties: [0, 1])
        server.receive([
            .page(
                .init(session: 1, subscriptions: [1], version: 5, progress: 0.5, kind: .resumed, content: content))
        ])
        server.loseConnection()
        _ = server.sent()
        server.open(.resumed)
        let requests = server.sent().compactMap { message in
            if case .subscribe(let request) = message { request.resume } else { nil }
        }
        #expect(requests.map(\.isWhole) == [false] && requests.map(\.memberCount) == [2])
        server.receive([.listMembers(session: 1, subscription: 1)])
        let listed = server.sent().compactMap { message in
            if case .members(let members) = message { members.content.groups.flatMap(\.keys) } else { nil }
        }
        #expect(listed == [[.int(1), .int(2)]])
        let departures = ViewBlock(departures: [.init(ObjectRef(0, .int(2)), role: .root, reason: .filter)])
        server.receive([
            .page(
                .init(session: 1, subscriptions: [1], version: 5, progress: 1, kind: .resumed, content: departures)),
            server.complete(1, .resumed),
        ])
        #expect(try count() == 1)
    }

    /// What it has brought, the user may not have any more.
    @Test func whatABootstrapHadBroughtGoesWhenItsQueryIsRefused() throws {
        _ = try server.engine.observe(query) { _ in }
        server.receive([page([1], 1, 2)])
        server.receive([
            .subscriptionError(.init(session: 1, subscription: 1, code: .permissionDenied, message: "no"))
        ])
        #expect(try count() == 0)
    }

    @Test func whatABootstrapHadBroughtGoesWithAQueryThatIsObservedAgain() throws {
        let first = try server.engine.observe(query) { _ in }
        server.receive([page([1], 1, 2)])
        try server.engine.endObservation(first, keeping: false, purging: false)
        #expect(try count() == 2)
        let second = try server.engine.observe(query) { _ in }
        try server.engine.endObservation(second, keeping: false, purging: true)
        #expect(try count() == 0)
        #expect(server.storage.subscriptions.isEmpty)
    }

    // MARK: Together

    /// The store keeps what its user may not read any more. That it may be read again comes at once.
    @Test func whatIsKeptAndComesAgainIsAMember() throws {
        let server = try ScriptedSession { $0.purgesRevokedObjects = false }
        server.open()
        _ = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        var content = ViewBlock()
        content.objects.append(
            ScriptedSession.user(1, age: 50, version: 5), classIndex: 0, role: .root, properties: [0, 1])
        server.receive([
            commit(4, to: [1], ViewBlock(departures: [.init(ObjectRef(0, .int(1)), role: .root, reason: .permission)])),
            commit(5, to: [1], content),
        ])
        #expect(try server.age(of: 1) == .int(50))
        let id = try #require(server.storage.subscriptions.first).id
        #expect(try server.storage.isMember(ObjectRef(0, .int(1)), of: id, role: .root))
    }

    /// In the pages behind a bootstrap, an object that was deleted comes again.
    @Test func whatAPageDeletesAndTheNextBringsIsThatOfTheNext() throws {
        _ = try server.engine.observe(query) { _ in }
        server.receive([page([1], 1, 2)])
        let gone = ViewBlock(departures: [.init(ObjectRef(0, .int(1)), role: .root, reason: .deleted)])
        server.receive([
            .page(.init(session: 1, subscriptions: [1], version: 3, progress: 0.8, content: gone)), page([1], 1),
            server.complete(1, .bootstrap),
        ])
        #expect(try count() == 2)
        #expect(try server.storage.unheldObjects(ofClass: 0).isEmpty)
        let event = EventLog()
        _ = try server.engine.observe(query) { event.events.append($0) }
        #expect(event.ages.last?.count == 2)
    }
}
