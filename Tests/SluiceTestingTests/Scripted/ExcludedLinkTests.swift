import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// Two subscriptions fetch the same teams. One of them does not follow the link to the deputy.
@Suite struct ExcludedLinkTests {
    private static let team = ObjectRef(1, .int(7))

    private let server: ScriptedSession
    private let all: Query

    /// 1 is `Team EXCLUDE(deputy)`, 2 is `Team`; both are bootstrapping.
    init() throws {
        server = try ScriptedSession(classes: [ScriptedSession.team()])
        server.open()
        _ = try server.engine.observe(try server.query("Team EXCLUDE(deputy)")) { _ in }
        all = try server.query("Team")
        _ = try server.engine.observe(all) { _ in }
    }

    private func team(leader: Int64, deputy: Int64?, _ properties: [Int], users: [Int64] = []) -> ViewBlock {
        var content = ViewBlock()
        let values: [Value] = [.int(7), .link(.int(leader)), deputy.map { .link(.int($0)) } ?? .null]
        content.objects.append(
            Row(key: .int(7), version: 2, values: properties.map { values[$0] }), classIndex: 1, role: .root,
            properties: PropertySet(properties))
        for user in users {
            content.objects.append(
                ScriptedSession.user(user, age: 40), classIndex: 0, role: .linked, properties: [0, 1])
        }
        return content
    }

    private func page(_ subscription: UInt64, _ content: ViewBlock) -> ServerMessage {
        .page(.init(session: 1, subscriptions: [subscription], version: 3, progress: 0.5, content: content))
    }

    /// The leader was 1 when the first page of the first subscription was read, and is 2 now.
    @Test func theTargetOfALinkThatIsNotFollowedStaysForWhoFollowsIt() throws {
        server.receive([page(1, team(leader: 1, deputy: nil, [0, 1]))])
        server.receive([page(2, team(leader: 2, deputy: 1, [0, 1, 2], users: [1, 2]))])
        server.receive([page(1, team(leader: 2, deputy: nil, [0, 1], users: [2])), server.complete(1, .bootstrap)])
        server.receive([server.complete(2, .bootstrap)])
        #expect(try server.age(of: 1) == .int(40))
        let id = try #require(server.storage.subscriptions.first { $0.hash == all.hash }).id
        #expect(try server.storage.isMember(ObjectRef(0, .int(1)), of: id, role: .linked))
    }

    /// The subscription that follows the link to the leader is complete and does not have the leader.
    @Test func theTargetOfALinkThatIsFollowedGoesIfItDoesNotArrive() throws {
        server.receive([page(2, team(leader: 1, deputy: nil, [0, 1, 2], users: [1]))])
        server.receive([page(1, team(leader: 1, deputy: nil, [0, 1])), server.complete(1, .bootstrap)])
        #expect(try server.age(of: 1) == nil)
    }
}
