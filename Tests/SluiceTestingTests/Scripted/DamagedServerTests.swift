import Sluice
import SluiceModel
import SluiceWire
import Testing

/// A server with a damaged database: requests that meet the damage end for good, and all others go on.
@Suite struct DamagedServerTests {
    private final class Seen {
        var errors: [SyncError] = []
    }

    private let server: ScriptedSession
    private let seen = Seen()

    init() throws {
        server = try ScriptedSession()
        _ = try server.engine.observe(server.query("User")) { _ in }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
    }

    private func awaitUpload() {
        _ = server.engine.whenUploaded { [seen] result in
            guard case .failure(let error) = result else { return false }
            seen.errors.append(error)
            return true
        }
    }

    private func refuseUploads() {
        server.receive([.error(.init(session: 1, code: .databaseDamaged, message: "damaged", action: .report))])
    }

    @Test func aQueryThatMeetsDamageEndsWithItsErrorAndTheConnectionStays() throws {
        let query = try server.query("User WHERE age > 3")
        _ = try server.engine.awaitStatus(query) { [seen] status in
            guard let error = status.error else { return false }
            seen.errors.append(error)
            return true
        }
        _ = server.actions()
        server.receive([
            .subscriptionError(
                .init(session: 1, subscription: 2, code: .databaseDamaged, message: "damaged", position: nil))
        ])
        #expect(seen.errors.map(\.code) == [.databaseDamaged])
        #expect(server.actions().isEmpty)
        server.commit(4, to: 1, [ScriptedSession.user(1, age: 41, version: 4)])
        #expect(try server.age(of: 1) == .int(41))
        // The next session asks again: the database may have been restored.
        server.loseConnection()
        server.open(.resumed)
        let queries = server.sent().compactMap { message in
            if case .subscribe(let request) = message { request.query } else { nil }
        }
        #expect(queries.contains(query.canonicalText))
    }

    @Test func writesThatAreNotTakenStayInTheOutboxAndAreSentInTheNextSession() throws {
        try server.setAge(of: 1, to: 50)
        awaitUpload()
        refuseUploads()
        #expect(seen.errors.map(\.code) == [.databaseDamaged])
        // Later waits fail at once, and nothing more is uploaded in this session.
        _ = server.sent()
        try server.setAge(of: 1, to: 51)
        awaitUpload()
        #expect(seen.errors.count == 2)
        #expect(server.sent().isEmpty)
        server.commit(4, to: 1, [ScriptedSession.user(2, age: 7, version: 4)])
        #expect(try server.age(of: 2) == .int(7))
        server.loseConnection()
        server.open(.resumed)
        let sequences = server.sent().flatMap { message in
            if case .upload(_, let changesets) = message { changesets.map(\.sequence) } else { [UInt64]() }
        }
        #expect(sequences == [1, 2])
    }
}
