import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

/// A client that returns to a server that has forgotten it.
struct ForgottenClientTests {
    private func sequences(_ messages: [ClientMessage]) -> [UInt64] {
        messages.flatMap { message -> [UInt64] in
            if case .upload(_, let changesets) = message { changesets.map(\.sequence) } else { [] }
        }
    }

    /// A client with one write that was sent and one that was not; neither is acknowledged.
    private func client() throws -> ScriptedSession {
        let server = try ScriptedSession()
        _ = try server.engine.observe(try server.query("User")) { _ in }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(2, age: 50)])
        try server.setAge(of: 1, to: 41)
        #expect(sequences(server.sent()) == [1])
        server.loseConnection()
        try server.setAge(of: 2, to: 51)
        _ = server.sent()
        return server
    }

    @Test func whatMayHaveBeenSentIsRejectedAndReportedAndTheRestIsUploaded() throws {
        let server = try client()
        var rejections: [WriteRejection] = []
        server.engine.onRejection = { rejections.append($0) }
        server.open(.forgotten)
        #expect(rejections.map(\.object?.key) == [.int(1)] && rejections.map(\.rejectedValues) == [["age": .int(41)]])
        #expect(sequences(server.sent()) == [2])
        #expect(try server.age(of: 1) == nil && server.age(of: 2) == .int(51))
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(2, age: 50)])
        #expect(try server.age(of: 1) == .int(40) && server.age(of: 2) == .int(51))
    }

    @Test func aServerThatResetsIsGivenAllOfTheOutbox() throws {
        let server = try client()
        server.open(.reset)
        #expect(sequences(server.sent()) == [1, 2])
    }

    @Test func aProcessThatEndedWithASessionOpenMayHaveSentEverythingItLeft() throws {
        let server = try client()
        server.open(.resumed)
        try server.setAge(of: 2, to: 52)
        let engine = try ClientEngine(
            storage: server.storage, options: server.engine.options, now: { ScriptedSession.now }, random: { 1 })
        try engine.write { try $0.update(ObjectRef(0, .int(1)), [FieldOperation(1, .set(.int(43)))]) }
        let again = ScriptedSession(server, engine: engine)
        again.open(.forgotten)
        #expect(sequences(again.sent()) == [4])
    }

    @Test func aStoreInMemorySaysGoodbyeWhenItClosesWithEverythingAcknowledged() throws {
        let server = try ScriptedSession { $0.isShortLived = true }
        server.open()
        try server.engine.write { try $0.insert(ScriptedSession.user(1, age: 1), ofClass: 0) }
        #expect(!server.sent().contains(.close(session: 1)))
        server.commit(4, to: 1, [], acknowledged: 1)
        server.engine.close()
        #expect(server.sent().contains(.close(session: 1)))
    }

    @Test func aStoreInMemoryThatClosesWithWritesUnderWaySaysNothing() throws {
        let server = try ScriptedSession { $0.isShortLived = true }
        server.open()
        try server.engine.write { try $0.insert(ScriptedSession.user(1, age: 1), ofClass: 0) }
        server.engine.close()
        #expect(!server.sent().contains(.close(session: 1)))
    }
}
