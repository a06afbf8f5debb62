import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A user was written here and deleted by others. A team links to the user on the server, and a pending write hides that
/// here. No subscription has the user, so only the link can say that the user is gone.
@Suite struct HiddenTargetTests {
    private static let user = ObjectRef(0, .int(1))
    private static let team = ObjectRef(1, .int(7))

    private let server: ScriptedSession

    /// 1 is `Team`, complete at version 3 with a team that 2 leads.
    init() throws {
        server = try ScriptedSession(classes: [ScriptedSession.team()])
        server.open()
        _ = try server.engine.observe(try server.query("Team")) { _ in }
        server.receive([
            .page(
                .init(
                    session: 1, subscriptions: [1], version: 3, progress: 1,
                    content: Self.team(leader: 2, version: 2, users: [2]))),
            server.complete(1, .bootstrap),
        ])
        try server.engine.write {
            try $0.insert(Row(key: Self.user.key, values: [.int(1), .int(40)]), ofClass: Self.user.classIndex)
        }
    }

    private static func team(leader: Int64, version: UInt64, users: [Int64] = []) -> ViewBlock {
        var content = ViewBlock()
        for user in users {
            content.objects.append(
                ScriptedSession.user(user, age: 40), classIndex: 0, role: .linked, properties: [0, 1])
        }
        content.objects.append(
            Row(key: .int(7), version: version, values: [.int(7), .link(.int(leader)), .null]), classIndex: 1,
            role: .root, properties: [0, 1, 2])
        return content
    }

    private func write(_ property: Int, _ user: Int64) throws {
        try server.engine.write {
            try $0.update(Self.team, [FieldOperation(property, .set(.link(.int(user))))])
        }
    }

    private func commit(_ version: UInt64, _ content: ViewBlock?, acknowledged: UInt64?, rejecting: UInt64? = nil) {
        let header = CommitHeader(
            session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: acknowledged,
            isContinued: false)
        let rejections = rejecting.map { ServerMessage.rejected(.init(session: 1, rejection: Self.rejection(of: $0))) }
        let blocks = content.map { [ServerMessage.SubscriptionBlock(subscriptions: [1], content: $0)] } ?? []
        server.receive((rejections.map { [$0] } ?? []) + [.commit(.init(header, blocks: blocks))])
    }

    private static func rejection(of sequence: UInt64) -> ServerMessage.Rejection {
        .init(sequence: sequence, reasons: [.init(object: team, code: .invalidOperation, message: "no")])
    }

    @Test func theUserGoesAsTheWriteThatHidTheLinkIsRejected() throws {
        try write(1, 2)
        commit(4, Self.team(leader: 1, version: 4), acknowledged: 1)
        #expect(try server.age(of: 1) == .int(40))
        commit(5, nil, acknowledged: 2, rejecting: 2)
        #expect(try server.storage.row(Self.team)?.values[1] == .link(.int(1)))
        #expect(try server.age(of: 1) == nil)
    }

    @Test func theUserGoesAsItsCreationAndTheRejectionArriveTogether() throws {
        try write(1, 2)
        commit(4, Self.team(leader: 1, version: 4), acknowledged: 2, rejecting: 2)
        #expect(try server.age(of: 1) == nil)
    }

    @Test func theUserGoesAsItsCreationIsAcknowledgedWhileAnotherPropertyOfTheTeamIsPending() throws {
        try write(2, 2)
        commit(4, Self.team(leader: 1, version: 4), acknowledged: nil)
        #expect(try server.age(of: 1) == .int(40))
        commit(5, nil, acknowledged: 1)
        #expect(try server.storage.row(Self.team)?.values[1] == .link(.int(1)))
        #expect(try server.age(of: 1) == nil)
    }

    @Test func aUserToWhomOnlyThePendingWriteLinksStays() throws {
        try write(2, 1)
        commit(4, Self.team(leader: 2, version: 4), acknowledged: 1)
        #expect(try server.age(of: 1) == .int(40))
    }

    @Test func theUserGoesAsTheQueryIsResumedAfterTheRejectionCameWithTheOpening() throws {
        try write(1, 2)
        commit(4, Self.team(leader: 1, version: 4), acknowledged: nil)
        server.loseConnection()
        server.greet()
        server.opened(.resumed, acknowledged: 2, rejections: [Self.rejection(of: 2)])
        server.receive([server.complete(1, .resumed)])
        #expect(try server.storage.row(Self.team)?.values[1] == .link(.int(1)))
        #expect(try server.age(of: 1) == nil)
    }
}
