import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A complete subscription to teams without their users, of whom this store has what it wrote itself once: what others
/// have made of them since only the server knows. Fetches and observers agree on when pending writes of users decide.
@Suite struct LinkedDecisionTests {
    private static let team = ObjectRef(1, .int(7))

    private let server: ScriptedSession
    private let query: Query
    private let log = EventLog()

    /// The store wrote team 7, its leader 1 and its deputy 2, both of age 1.
    ///
    /// - Parameter isNamed: whether the team is a result by what the server knows.
    private func make(isNamed: Bool, observesDeputy: Bool = false) throws {
        server.open()
        try server.engine.write { writer in
            for id in [1, 2] as [Int64] { try writer.insert(ScriptedSession.user(id, age: 1, version: 0), ofClass: 0) }
            try writer.insert(Row(key: .int(7), values: [.int(7), .link(.int(1)), .link(.int(2))]), ofClass: 1)
        }
        acknowledge(1, version: 4)
        _ = try server.engine.observe(query) { [log] in log.events.append($0) }
        var content = ViewBlock()
        if isNamed {
            content.objects.append(
                Row(key: .int(7), version: 4, values: [.int(7)]), classIndex: 1, role: .root, properties: [0])
        }
        server.receive([
            .page(.init(session: 1, subscriptions: [1], version: 4, progress: 1, content: content)),
            server.complete(1, .bootstrap),
        ])
        guard observesDeputy else { return }
        _ = try server.engine.observe(try server.query("User WHERE id == 2")) { _ in }
        server.bootstrap(2, [ScriptedSession.user(2, age: 1, version: 4)])
    }

    init() throws {
        server = try ScriptedSession(classes: [ScriptedSession.team()])
        query = try server.query("Team WHERE leader.age > 6 OR deputy.age > 6 EXCLUDE(leader, deputy)")
    }

    private func acknowledge(_ sequence: UInt64, version: UInt64) {
        server.receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: sequence,
                        isContinued: false), blocks: []))
        ])
    }

    /// Compares what the observer was shown with what a fetch finds.
    private func expect(isShown: Bool, _ location: SourceLocation = #_sourceLocation) throws {
        var count: Int
        repeat {
            count = log.events.count
            server.engine.observerIsReady(1)
        } while log.events.count > count
        let found = try server.storage.results(of: query).visible.map(\.object)
        #expect(found == (isShown ? [Self.team] : []), "a fetch", sourceLocation: location)
        #expect(log.events.last?.list.visible.map(\.object) == found, "the observer", sourceLocation: location)
    }

    /// The server has heard that the leader is older.
    @Test func aPendingWriteThatDecidesNothingLeavesWhatTheServerNamed() throws {
        try make(isNamed: true)
        try expect(isShown: true)
        try server.setAge(of: 2, to: 3)
        try expect(isShown: true)
        acknowledge(2, version: 5)
        try expect(isShown: true)
    }

    @Test func aPendingWriteThatDecidesNothingLeavesOutWhatTheServerHasNotNamed() throws {
        try make(isNamed: false)
        try server.setAge(of: 1, to: 8)
        try expect(isShown: true)
        acknowledge(2, version: 5)
        // Somebody else has made the leader younger at the same time, which does not arrive here.
        try expect(isShown: false)
        try server.setAge(of: 2, to: 3)
        try expect(isShown: false)
    }

    @Test func aPendingWriteThatDecidesOverrulesTheServer() throws {
        try make(isNamed: false)
        try server.setAge(of: 2, to: 9)
        try expect(isShown: true)
        try server.setAge(of: 2, to: 5)
        try expect(isShown: false)
    }

    /// The deputy still shows what was written here. Without that the team would be a result now.
    @Test func aPendingWriteDecidesOnceTheServerSendsWhatItHides() throws {
        try make(isNamed: true, observesDeputy: true)
        try server.setAge(of: 2, to: 3)
        try expect(isShown: true)
        server.commit(5, to: 2, [ScriptedSession.user(2, age: 8, version: 5)])
        #expect(try server.age(of: 2) == .int(3))
        try expect(isShown: false)
        server.commit(6, to: 2, [ScriptedSession.user(2, age: 2, version: 6)])
        try expect(isShown: true)
    }
}
