import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// What the body of a write can do with observations.
@Suite struct WithinWriteTests {
    private struct Refused: Error {}

    private let server: ScriptedSession
    private let query: Query
    private let log = EventLog()
    private let observation: UInt64

    init() throws {
        server = try ScriptedSession()
        query = try server.query("User")
        observation = try server.engine.observe(query) { [log] in log.events.append($0) }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(2, age: 50)])
        _ = server.sent()
    }

    private var isUnsubscribed: Bool { server.sent().contains(.unsubscribe(session: 1, subscription: 1)) }

    @Test func anObservationThatEndsWithPurgePurgesAfterTheWrite() throws {
        try server.engine.write { writer in
            try writer.update(ObjectRef(0, .int(1)), [FieldOperation(1, .set(.int(41)))])
            try server.engine.endObservation(observation, keeping: false, purging: true)
        }
        #expect(server.storage.subscriptions.isEmpty && isUnsubscribed)
        // Writes that are not uploaded stay.
        #expect(try server.age(of: 1) == .int(41) && server.age(of: 2) == nil)
    }

    @Test func anObservationThatEndsInAWriteThatFailsEndsNevertheless() throws {
        #expect(throws: Refused.self) {
            try server.engine.write { _ in
                try server.engine.endObservation(observation, keeping: false, purging: false)
                throw Refused()
            }
        }
        #expect(server.storage.subscriptions.map(\.isDormant) == [true] && isUnsubscribed)
    }

    @Test func aKeptQueryThatIsStoppedInAWriteStopsAfterIt() throws {
        try server.engine.endObservation(observation, keeping: true, purging: false)
        try server.engine.write { _ in try server.engine.stopSyncing(query, purging: true) }
        #expect(server.storage.subscriptions.isEmpty && isUnsubscribed)
        #expect(try server.age(of: 2) == nil)
    }

    @Test(arguments: ["User", "User WHERE age > 1"])
    func observingInAWriteIsRefusedAndTheWriteCanGoOn(_ text: String) throws {
        let query = try server.query(text)
        try server.engine.write { writer in
            let error = #expect(throws: StoreError.self) { _ = try server.engine.observe(query) { _ in } }
            #expect(error?.code == .insideWrite)
            try writer.update(ObjectRef(0, .int(1)), [FieldOperation(1, .set(.int(41)))])
        }
        #expect(try server.age(of: 1) == .int(41))
        #expect(server.storage.subscriptions.count == 1)
    }
}
