import Sluice
import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// Acknowledgements that bring nothing else, of writes that concern no subscription.
struct PostponedAcknowledgementTests {
    /// A server of users and of notes, which link to their authors. The client has all results of a query.
    private func observing(_ text: String) throws -> ScriptedSession {
        let note = try ClassSchema(
            "Note", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("author", .link("User"))])
        let server = try ScriptedSession(classes: [note])
        server.open()
        _ = try server.engine.observe(try server.query(text)) { _ in }
        server.receive([server.complete(1, .bootstrap)])
        _ = server.actions()
        return server
    }

    private func acknowledge(_ sequence: UInt64, _ server: ScriptedSession) {
        server.receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 3 + sequence, acceptedAt: ScriptedSession.now, acknowledged: sequence,
                        isContinued: false), blocks: []))
        ])
    }

    private func write(_ id: Int64, _ server: ScriptedSession) throws {
        try server.engine.write {
            try $0.insert(Row(key: .int(id), values: [.int(id), .int(0)]), ofClass: 0)
        }
    }

    private func isAskedToStore(_ server: ScriptedSession) -> Bool {
        server.actions().contains { if case .storePostponed = $0 { true } else { false } }
    }

    /// Counts the commits of the store.
    private func commitCount(_ server: ScriptedSession, _ body: () throws -> Void) throws -> Int {
        let before = server.storage.generationOfState
        try body()
        return Int(server.storage.generationOfState - before)
    }

    @Test func anAcknowledgementIsStoredWithTheNextWrite() throws {
        let server = try ScriptedSession()
        server.open()
        try write(1, server)
        _ = server.actions()
        #expect(try commitCount(server) { acknowledge(1, server) } == 0)
        #expect(server.storage.outboxCount == 1 && server.engine.acknowledgedSequence == 1)
        #expect(isAskedToStore(server))
        #expect(try commitCount(server) { try write(2, server) } == 1)
        #expect(server.storage.outboxCount == 1 && server.storage.lastSequence == 2)
        #expect(server.storage.syncState?.version == 4)
        acknowledge(2, server)
        #expect(!isAskedToStore(server), "one timer is running")
        server.engine.handle(.storePostponed)
        #expect(server.storage.outboxCount == 0 && server.storage.syncState?.version == 5)
        acknowledge(2, server)
        #expect(isAskedToStore(server))
    }

    @Test func whatNoSubscriptionReadsIsAcknowledgedWithTheNextFrame() throws {
        let server = try observing("Note EXCLUDE(author)")
        try write(1, server)
        #expect(try commitCount(server) { acknowledge(1, server) } == 0)
        #expect(server.storage.outboxCount == 1 && isAskedToStore(server))
        let count = try commitCount(server) { server.commit(7, to: 1, []) }
        #expect(count == 1 && server.storage.outboxCount == 0 && server.storage.syncState?.version == 7)
        #expect(try server.age(of: 1) == .int(0))
    }

    @Test(arguments: ["Note", "Note WHERE author.age > 5 EXCLUDE(author)", "Note WHERE author == NULL EXCLUDE(author)"])
    func whatASubscriptionMayReadIsAcknowledgedAtOnce(text: String) throws {
        let server = try observing(text)
        try write(1, server)
        #expect(try commitCount(server) { acknowledge(1, server) } == 1)
        #expect(server.storage.outboxCount == 0)
    }

    @Test func theClassesThatAreReadFollowTheSubscriptions() throws {
        let server = try observing("Note EXCLUDE(author)")
        let users = try server.engine.observe(try server.query("User")) { _ in }
        server.receive([server.complete(2, .bootstrap)])
        try write(1, server)
        acknowledge(1, server)
        #expect(server.storage.outboxCount == 0)
        try server.engine.endObservation(users, keeping: false, purging: false)
        try write(2, server)
        acknowledge(2, server)
        #expect(server.storage.outboxCount == 1)
    }

    @Test func aSubscriptionThatBeginsStoresIt() throws {
        let server = try observing("Note EXCLUDE(author)")
        try write(1, server)
        acknowledge(1, server)
        let log = EventLog()
        _ = try server.engine.observe(try server.query("User")) { log.events.append($0) }
        #expect(server.storage.outboxCount == 0)
        server.receive([server.complete(2, .bootstrap)])
        #expect(log.ages == [[.int(0)]])
    }

    @Test func theTimerFollowsTheClockOfTheStore() async throws {
        let server = try TestServer()
        let schema = try Schema([ClassSchema("Car", properties: [Property("name", .scalar(.string))])])
        let store = try await server.open(schema: schema)
        try await store.connected()
        let car = try Record(schema[0], ["name": .string("Beetle")])
        try await store.write { try $0.insert(car) }
        while try store.core.performAndWait(\.acknowledgedSequence) < 1 { await Task.yield() }
        #expect(store.core.storage.outboxCount == 1)
        server.clock.advance(by: .milliseconds(49))
        #expect(try store.core.performAndWait { _ in store.core.storage.outboxCount } == 1)
        server.clock.advance(by: .milliseconds(1))
        #expect(try store.core.performAndWait { _ in store.core.storage.outboxCount } == 0)
        await store.close()
    }

    @Test func aWriteThatFailsLeavesTheAcknowledgementToTheNext() throws {
        struct Refusal: Error {}
        let server = try ScriptedSession()
        server.open()
        try write(1, server)
        acknowledge(1, server)
        #expect(throws: Refusal.self) { try server.engine.write { _ in throw Refusal() } }
        #expect(server.storage.outboxCount == 1)
        try write(2, server)
        #expect(server.storage.outboxCount == 1 && server.storage.lastSequence == 2)
    }

    @Test func whoWaitsForUploadsIsToldAtOnce() throws {
        let server = try ScriptedSession()
        server.open()
        try write(1, server)
        acknowledge(1, server)
        var isDone = false
        func wait() -> UInt64? {
            server.engine.whenUploaded { result in
                isDone = (try? result.get()) ?? false
                return isDone
            }
        }
        #expect(wait() == nil)
        #expect(isDone && server.storage.outboxCount == 0)
        try write(2, server)
        isDone = false
        #expect(wait() != nil)
        acknowledge(2, server)
        #expect(isDone && server.storage.outboxCount == 0)
    }

    @Test func theEndOfASessionStoresIt() throws {
        let server = try ScriptedSession()
        server.open()
        try write(1, server)
        acknowledge(1, server)
        server.loseConnection()
        #expect(server.storage.outboxCount == 0)
    }

    @Test func afterACrashTheServerSaysItAgain() throws {
        let server = try ScriptedSession()
        server.open()
        try write(1, server)
        acknowledge(1, server)
        var options = ClientOptions()
        options.databaseName = "test"
        let engine = try ClientEngine(
            storage: server.storage, options: options, now: { ScriptedSession.now }, random: { 1 })
        let again = ScriptedSession(server, engine: engine)
        #expect(again.storage.outboxCount == 1)
        again.open(.resumed, acknowledged: 1)
        #expect(again.storage.outboxCount == 0)
        #expect(!again.sent().contains { if case .upload = $0 { true } else { false } })
    }

    @Test func tooManyAreStoredWithoutAWrite() throws {
        let server = try ScriptedSession()
        server.open()
        for id in 1...300 as ClosedRange<Int64> { try write(id, server) }
        acknowledge(200, server)
        #expect(server.storage.outboxCount == 300)
        acknowledge(290, server)
        #expect(server.storage.outboxCount == 10)
    }

    @Test func aRejectionIsReportedAtOnce() throws {
        let server = try ScriptedSession()
        var reports: [WriteRejection] = []
        server.engine.onRejection = { reports.append($0) }
        server.open()
        try write(1, server)
        let reason = ServerMessage.Rejection.Reason(
            object: ObjectRef(0, .int(1)), code: .invalidOperation, message: "no")
        server.receive([
            .rejected(.init(session: 1, rejection: .init(sequence: 1, reasons: [reason]))),
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 4, acceptedAt: ScriptedSession.now, acknowledged: 1, isContinued: false),
                    blocks: [])),
        ])
        #expect(reports.count == 1 && server.storage.outboxCount == 0)
        #expect(try server.age(of: 1) == nil)
    }
}
