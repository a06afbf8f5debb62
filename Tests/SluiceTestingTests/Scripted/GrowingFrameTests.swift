import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

/// What a client says and takes when a window grows from another.
@Suite struct GrowingFrameTests {
    private static func text(_ limit: Int) -> String { "User SORT(age ASC) LIMIT(\(limit))" }

    /// A session with a complete window of two.
    private func complete() throws -> ScriptedSession {
        let session = try ScriptedSession()
        session.open()
        _ = try session.engine.observe(session.query(Self.text(2))) { _ in }
        session.bootstrap(1, [ScriptedSession.user(1, age: 10), ScriptedSession.user(2, age: 20)])
        _ = session.sent()
        return session
    }

    private func subscribes(_ session: ScriptedSession) -> [ClientMessage.Subscribe] {
        session.sent().compactMap { if case .subscribe(let subscribe) = $0 { subscribe } else { nil } }
    }

    private func members(_ session: ScriptedSession, of limit: Int) throws -> Set<ObjectKey> {
        let query = try session.query(Self.text(limit))
        guard let record = session.storage.subscription(toQuery: query.hash) else { return [] }
        var keys: Set<ObjectKey> = []
        try session.storage.forEachMember(of: record.id, role: .root) { object in
            keys.insert(object.key)
            return true
        }
        return keys
    }

    private func page(_ rows: [Row], kind: ServerMessage.Complete.Kind = .resumed) -> ServerMessage {
        var content = ViewBlock()
        for row in rows { content.objects.append(row, classIndex: 0, role: .root, properties: [0, 1]) }
        return .page(
            .init(session: 1, subscriptions: [2], version: 4, progress: 0, kind: kind, content: content))
    }

    private func commit(_ version: UInt64, _ rows: [Row], leaving: [Int64] = []) -> ServerMessage {
        var content = ViewBlock()
        for row in rows { content.objects.append(row, classIndex: 0, role: .root, properties: [0, 1]) }
        for id in leaving { content.append(.init(ObjectRef(0, .int(id)), role: .root, reason: .window)) }
        return .commit(
            .init(
                CommitHeader(session: 1, version: version, acceptedAt: ScriptedSession.now),
                blocks: [.init(subscriptions: [1], content: content)]))
    }

    @Test func aLargerWindowNamesTheCompleteSmallerOneAndNoOther() throws {
        let session = try complete()
        _ = try session.engine.observe(session.query(Self.text(5))) { _ in }
        let first = try #require(subscribes(session).last)
        #expect(first.subscription == 2 && first.basis == 1 && first.resume == nil)
        #expect(try members(session, of: 5) == [.int(1), .int(2)])
        for other in [
            "User SORT(age DESC) LIMIT(5)", "User SORT(age ASC) LIMIT(1)", "User WHERE age > 0 LIMIT(5)", "User",
        ] {
            _ = try session.engine.observe(session.query(other)) { _ in }
        }
        #expect(subscribes(session).allSatisfy { $0.basis == nil })
    }

    @Test func whatCommitsBringBeforeTheAnswerIsBroughtToBothAndNothingAfterIt() throws {
        let session = try complete()
        let id = try session.engine.observe(session.query(Self.text(3))) { _ in }
        session.receive([commit(4, [ScriptedSession.user(3, age: 5, version: 4)], leaving: [2])])
        #expect(try members(session, of: 3) == [.int(1), .int(3)])
        // The server compares as of version 4, and sends what is missing; from then on a commit is for those it names.
        session.receive([page([])])
        session.receive([commit(5, [ScriptedSession.user(4, age: 1, version: 5)], leaving: [1])])
        #expect(try members(session, of: 3) == [.int(1), .int(3)])
        #expect(try members(session, of: 2) == [.int(3), .int(4)])
        session.receive([
            page([ScriptedSession.user(4, age: 1, version: 5)]),
            .complete(
                .init(session: 1, subscription: 2, version: 5, acceptedAt: ScriptedSession.now, kind: .resumed)),
        ])
        #expect(try members(session, of: 3) == [.int(1), .int(3), .int(4)])
        session.engine.observerIsReady(id)
        #expect(session.storage.subscriptions.allSatisfy { $0.state == .complete })
    }

    @Test func aServerThatSendsEverythingIsRight() throws {
        let session = try complete()
        _ = try session.engine.observe(session.query(Self.text(3))) { _ in }
        session.receive([
            page([ScriptedSession.user(2, age: 20), ScriptedSession.user(7, age: 3)], kind: .bootstrap),
            .complete(
                .init(session: 1, subscription: 2, version: 4, acceptedAt: ScriptedSession.now, kind: .bootstrap)),
        ])
        #expect(try members(session, of: 3) == [.int(2), .int(7)])
    }

    @Test func aConnectionThatIsLostMeanwhileBeginsAnewWithoutWhatWasTakenOver() throws {
        let session = try complete()
        _ = try session.engine.observe(session.query(Self.text(3))) { _ in }
        session.loseConnection()
        session.engine.handle(.reconnect)
        session.engine.handle(.opened())
        session.receive([
            .hello(
                .init(version: 1, features: .all, time: ScriptedSession.now, limits: ServerLimits(), agent: "script"))
        ])
        _ = session.sent()
        session.opened(.resumed)
        let again = subscribes(session)
        #expect(again.count == 2 && again.allSatisfy { $0.basis == nil })
        #expect(again.first { $0.query.contains("LIMIT(3)") }?.resume == nil)
    }

    @Test func aServerThatDoesNotKnowItIsNotTold() throws {
        let session = try ScriptedSession()
        session.greet(features: [])
        session.opened(.created)
        _ = try session.engine.observe(session.query(Self.text(2))) { _ in }
        session.bootstrap(1, [ScriptedSession.user(1, age: 10)])
        _ = session.sent()
        _ = try session.engine.observe(session.query(Self.text(5))) { _ in }
        #expect(subscribes(session).map(\.basis) == [nil])
    }
}
