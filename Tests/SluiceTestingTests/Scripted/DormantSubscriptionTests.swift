import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// What remains of a subscription that nobody holds any more.
@Suite struct DormantSubscriptionTests {
    private let server: ScriptedSession

    init() throws {
        server = try ScriptedSession { $0.dormantSubscriptionCountMax = 2 }
        server.open()
    }

    private func objectQuery(_ id: Int64) throws -> Query {
        try server.query("OBJECT(\(Identity(className: "User", key: .int(id)).objectID))")
    }

    private var texts: [String] { server.storage.subscriptions.map(\.canonicalText) }

    @Test func anObjectThatWasOnlyWaitedForStaysAndItsSubscriptionGoes() throws {
        for id in 1...5 as ClosedRange<Int64> {
            let query = try objectQuery(id)
            let waiter = try server.engine.awaitStatus(query) { $0.state == .complete }
            server.bootstrap(UInt64(id), [ScriptedSession.user(id, age: 40)])
            try server.engine.releaseStatus(query, waiter: waiter)
        }
        #expect(texts.isEmpty)
        #expect(try (1...5).map { try server.age(of: $0) } == Array(repeating: .int(40), count: 5))
    }

    @Test func anObjectThatIsObservedMeanwhileGoesOnAndLeavesItsSubscription() throws {
        let query = try objectQuery(1)
        let waiter = try server.engine.awaitStatus(query) { $0.state == .complete }
        let observation = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        try server.engine.releaseStatus(query, waiter: waiter)
        #expect(server.storage.subscriptions.map(\.isDormant) == [false])
        try server.engine.endObservation(observation, keeping: false, purging: false)
        #expect(server.storage.subscriptions.map(\.isDormant) == [true])
        // Waiting again resumes the subscription, and makes it dormant again.
        let again = try server.engine.awaitStatus(query) { $0.state == .complete }
        try server.engine.releaseStatus(query, waiter: again)
        #expect(server.storage.subscriptions.map(\.isDormant) == [true])
    }

    @Test func theOldestAreForgottenBeyondALimitAndTheirObjectsStay() throws {
        for id in 1...4 as ClosedRange<Int64> {
            let observation = try server.engine.observe(try server.query("User WHERE id == \(id)")) { _ in }
            server.bootstrap(UInt64(id), [ScriptedSession.user(id, age: 40)])
            try server.engine.endObservation(observation, keeping: false, purging: false)
        }
        #expect(try texts == ["User WHERE id == 3", "User WHERE id == 4"].map { try server.query($0).canonicalText })
        #expect(try (1...4).map { try server.age(of: $0) } == Array(repeating: .int(40), count: 4))
    }

    @Test func whatIsObservedDoesNotCount() throws {
        for id in 1...4 as ClosedRange<Int64> {
            _ = try server.engine.observe(try server.query("User WHERE id == \(id)")) { _ in }
        }
        let last = try server.engine.observe(try server.query("User WHERE id == 5")) { _ in }
        try server.engine.endObservation(last, keeping: false, purging: false)
        #expect(texts.count == 5)
    }

    enum Waiting: CaseIterable { case nothing, update, deletion, acceptedDeletion, deletionAndCreation }

    /// The user that comes is another one, of which the dormant query has brought nothing.
    @Test(arguments: Waiting.allCases) func aMemberThatIsDeletedAndMadeAnewIsNoMemberAnyMore(_ waiting: Waiting) throws
    {
        let user = ObjectRef(0, .int(1))
        let whole = try server.engine.observe(try server.query("User")) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        _ = try server.engine.observe(try server.query("User EXCLUDE(age)")) { _ in }
        func content(_ version: UInt64) -> ViewBlock {
            var content = ViewBlock()
            content.objects.append(
                ScriptedSession.user(1, age: 50, version: version), classIndex: 0, role: .root, properties: [0])
            return content
        }
        server.receive([
            .page(.init(session: 1, subscriptions: [2], version: 3, progress: 1, content: content(2))),
            server.complete(2, .bootstrap),
        ])
        try server.engine.endObservation(whole, keeping: false, purging: false)
        switch waiting {
        case .nothing: break
        case .update: try server.setAge(of: 1, to: 45)
        case .deletion, .acceptedDeletion: try server.engine.write { try $0.delete(user) }
        case .deletionAndCreation:
            try server.engine.write { try $0.delete(user) }
            try server.engine.write { try $0.insert(ScriptedSession.user(1, age: 45), ofClass: 0) }
        }
        func commit(_ version: UInt64, _ content: ViewBlock, acknowledged: UInt64?) {
            server.receive([
                .commit(
                    .init(
                        CommitHeader(
                            session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: acknowledged,
                            isContinued: false), blocks: [.init(subscriptions: [2], content: content)]))
            ])
        }
        let departure = ViewBlock(departures: [.init(user, role: .root, reason: .deleted)])
        commit(4, departure, acknowledged: waiting == .acceptedDeletion ? 1 : nil)
        let all: UInt64? =
            switch waiting {
            case .nothing, .acceptedDeletion: nil
            case .update, .deletion: 1
            case .deletionAndCreation: 2
            }
        commit(5, content(5), acknowledged: all)
        let row = try #require(try server.storage.row(user))
        #expect(row.absent.contains(1) && row.version == 5)
        let holders = try server.storage.subscriptions(having: user, role: nil)
        #expect(server.storage.subscriptions.filter { holders.contains($0.id) }.map(\.isDormant) == [false])
        // It is listed, and not resumed by its version, when it is observed again.
        #expect(server.storage.subscriptions.filter(\.isDormant).map(\.hasHoles) == [true])
    }
}
