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
