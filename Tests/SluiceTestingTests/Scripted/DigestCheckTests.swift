import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// A client's engine that returns to a server whose answers the test decides.
@Suite struct DigestCheckTests {
    private let server: ScriptedSession
    private let query: Query
    private let rows = [ScriptedSession.user(1, age: 40)]
    private var engine: ClientEngine { server.engine }
    private var storage: SQLiteClientStorage { server.storage }

    init() throws {
        server = try ScriptedSession()
        query = try server.query("User SORT(age ASC) LIMIT(3)")
        _ = try server.engine.observe(query) { _ in }
        server.open()
        server.bootstrap(1, rows)
        server.loseConnection()
        _ = server.sent()
        server.open(.resumed)
    }

    private func subscribe(_ messages: [ClientMessage]) -> ClientMessage.Subscribe? {
        messages.compactMap { if case .subscribe(let subscribe) = $0 { subscribe } else { nil } }.last
    }

    private var digest: ObjectID {
        get throws {
            var digest = try #require(ViewDigest(query, schema: server.schema))
            for row in rows { digest.add(row, of: 0, isRoot: true) }
            return digest.digest
        }
    }

    private var state: SubscriptionRecord.State? { storage.subscriptions.first?.state }

    @Test func aClientThatComesBackTellsTheDigestOfWhatItHas() throws {
        let resume = try #require(subscribe(server.sent())?.resume)
        #expect(resume.version == 3 && resume.memberCount == 1 && resume.isWhole)
        #expect(try resume.digest == digest)
    }

    @Test func pendingWritesDoNotCount() throws {
        try engine.write { try $0.update(ObjectRef(0, .int(1)), [FieldOperation(1, .set(.int(99)))]) }
        _ = server.sent()
        server.receive([server.complete(1, .resumed, digest: try digest)])
        #expect(state == .complete && engine.mismatchCount == 0)
        #expect(subscribe(server.sent()) == nil)
    }

    @Test func whatDiffersFromTheServersDigestIsFetchedAnew() throws {
        _ = server.sent()
        server.receive([server.complete(1, .resumed, digest: ObjectID(high: 1, low: 2))])
        #expect(engine.mismatchCount == 1 && state == .pending)
        let messages = server.sent()
        #expect(messages.contains(.unsubscribe(session: 1, subscription: 1)))
        let again = try #require(subscribe(messages))
        #expect(again.resume == nil && again.subscription == 2)
        server.bootstrap(again.subscription, rows)
        #expect(state == .complete && engine.mismatchCount == 1)
        #expect(try storage.results(of: query).visible.map(\.row.values) == rows.map(\.values))
    }

    @Test func aRowThatWasDamagedIsHealedByTheNextSession() throws {
        try storage.transaction {
            try storage.put(Row(key: .int(1), version: 2, values: [.int(1), .int(41)]), ofClass: 0)
        }
        _ = server.sent()
        server.receive([server.complete(1, .resumed, digest: try digest)])
        server.bootstrap(try #require(subscribe(server.sent())).subscription, rows)
        #expect(try storage.row(ObjectRef(0, .int(1)))?.values == [.int(1), .int(40)])
        #expect(state == .complete)
    }
}
