import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
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
}
