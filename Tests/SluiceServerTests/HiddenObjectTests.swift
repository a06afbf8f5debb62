import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

@testable import SluiceServer

/// What a reader may not read reaches it in no message: no row, no key, no digest.
@Suite struct HiddenObjectTests {
    private static func query(_ key: Int64) -> String {
        "OBJECT(\(Identity(className: "Plane", key: .int(key)).objectID))"
    }

    /// What the server sends to somebody who asks a query, until it has sent digests too.
    private func answers(to query: String, on bench: Bench) throws -> [ServerMessage] {
        let reader = try bench.open(options: .readOnly, user: "reader").id
        let subscribe = ClientMessage.Subscribe(session: 1, subscription: 1, query: query)
        var sent = try bench.handle([.messages(reader, [.subscribe(subscribe), .credit(session: 1, pages: 8)])])
        sent += try bench.work()
        for _ in 0..<5 {
            bench.advance(microseconds: 61_000_000)
            sent += try bench.checkDigests()
        }
        return sent
    }

    private func objects(in messages: [ServerMessage]) -> [ObjectKey] {
        messages.flatMap { message -> [ObjectKey] in
            guard case .page(let page) = message else { return [] }
            return page.content.objects.groups.flatMap(\.keys) + page.content.departures.map(\.object.key)
        }
    }

    private func digests(in messages: [ServerMessage]) -> Set<ObjectID> {
        Set(
            messages.compactMap { message in
                switch message {
                case .digest(let check): check.digest
                case .complete(let complete): complete.digest
                default: nil
                }
            })
    }

    @Test(arguments: [
        "OBJECT", "Plane", "Plane SORT(id ASC) LIMIT(5)", "Plane DISTINCT(id) LIMIT(5)", "Plane WHERE id == 3",
    ])
    func nothingIsSentOfAnObjectThatMayNotBeRead(query: String) throws {
        let text = query == "OBJECT" ? Self.query(3) : query
        let bench = try Bench(conditions: ["Plane WHERE id > 5"])
        _ = try bench.upload(bench.open().id, [bench.planes(3)])
        let sent = try answers(to: text, on: bench)
        #expect(objects(in: sent).isEmpty)

        let empty = try Bench(conditions: ["Plane WHERE id > 5"])
        _ = try empty.upload(empty.open().id, [empty.planes(1)])
        let right = digests(in: try answers(to: query == "OBJECT" ? Self.query(4) : query, on: empty))
        #expect(!right.isEmpty && digests(in: sent) == right)
    }

    @Test func whoListsMembersDoesNotLearnWhichKeysHiddenObjectsHave() throws {
        let bench = try Bench(conditions: ["Plane WHERE id > 5"])
        let writer = try bench.open().id
        _ = try bench.upload(writer, [bench.planes(3)])
        for _ in 0..<3 { _ = try bench.upload(writer, [bench.planes(6)]) }
        _ = try bench.storage.trimLog(keepingVersions: 0, keepingBytes: 0, entriesMax: .max)
        let reader = try bench.open(options: .readOnly, user: "reader").id
        let hash = try Query.parse("Plane", schema: bench.storage.schema).hash
        let request = ClientMessage.Subscribe(
            session: 1, subscription: 1, query: "Plane",
            resume: .init(version: 1, queryHash: hash, memberCount: 2, isWhole: false))
        var sent = try bench.handle([.messages(reader, [.subscribe(request), .credit(session: 1, pages: 8)])])
        sent += try bench.work()
        #expect(sent.contains { if case .listMembers = $0 { true } else { false } })
        var content = ObjectBlock()
        // One is hidden, and one is not there.
        for key in [3, 4] as [Int64] { content.append(ObjectRef(0, .int(key)), version: 1, role: .root) }
        let members = ClientMessage.members(
            .init(session: 1, subscription: 1, isContinued: false, content: content))
        sent = try bench.handle([.messages(reader, [members])]) + bench.work()
        let departures = sent.flatMap { message -> [ViewBlock.Departure] in
            if case .page(let page) = message { page.content.departures } else { [] }
        }
        #expect(Set(departures.map(\.object.key)) == [.int(3), .int(4)])
        #expect(Set(departures.map(\.reason)).count == 1, "\(departures)")
    }

    @Test func anObjectByItsIDIsSentWhileItMayBeRead() throws {
        let bench = try Bench(conditions: ["Plane WHERE id > 5"])
        _ = try bench.upload(bench.open().id, [bench.planes(7)])
        #expect(objects(in: try answers(to: Self.query(7), on: bench)) == [.int(7)])
        #expect(objects(in: try answers(to: Self.query(3), on: bench)).isEmpty)
    }

    @Test func whatIsKeptIsJudgedInTheNextRoundWhereACommitCouldNotBeFollowed() throws {
        let bench = try Bench(conditions: ["Plane WHERE id > 5"])
        _ = try bench.upload(bench.open().id, [bench.planes(7)])
        let reader = try bench.open(options: .readOnly, user: "reader").id
        var kept = ObjectBlock()
        kept.append(ObjectRef(0, .int(7)), version: 0, role: .member)
        func withdrawn(_ request: UInt64, _ content: ObjectBlock) -> [ServerMessage] {
            [.withdrawn(.init(session: 1, request: request, content: content))]
        }
        let offer = ClientMessage.cached(.init(session: 1, request: 1, content: kept))
        #expect(try bench.handle([.messages(reader, [offer])]) == withdrawn(1, ObjectBlock()))
        // Behind the back of the engine, as a commit that it could not follow.
        try bench.storage.transaction { try bench.storage.delete(ObjectRef(0, .int(7)), version: 9) }
        bench.advance(microseconds: 2_000_000)
        #expect(try bench.checkDigests().isEmpty)
        bench.engine.kept.checks.judgeAllAgain()
        #expect(try bench.checkDigests() == withdrawn(0, kept))
        #expect(bench.engine.cachedObjectCount == 0)
    }
}
