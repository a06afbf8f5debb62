import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// A session that asks for more subscriptions than are started before others are complete.
@Suite struct WaitingStartTests {
    private let bench: Bench
    private let id: SessionID

    init() throws {
        var limits = DatabaseLimits()
        limits.incompleteCountMax = 3
        limits.server.pageCreditMax = 2
        bench = try Bench(limits: limits)
        let writer = try bench.open().id
        _ = try bench.upload(writer, [bench.planes(4)])
        id = try bench.open().id
    }

    private func subscribe(_ numbers: ClosedRange<UInt64>) throws -> [ServerMessage] {
        try bench.handle([
            .messages(
                id,
                numbers.map {
                    .subscribe(.init(session: id.session, subscription: $0, query: "Plane WHERE id < \($0)"))
                })
        ])
    }

    /// Lets the client take pages, until nothing is sent any more.
    ///
    /// - Returns: the subscriptions that were completed, in order.
    private func takeAll() throws -> [UInt64] {
        var completed: [UInt64] = []
        while true {
            let sent = try bench.handle([.messages(id, [.credit(session: id.session, pages: 1)])]) + bench.work()
            if sent.isEmpty { return completed }
            for case .complete(let complete) in sent { completed.append(complete.subscription) }
        }
    }

    private func completed(_ messages: [ServerMessage]) -> [UInt64] {
        messages.compactMap { if case .complete(let complete) = $0 { complete.subscription } else { nil } }
    }

    @Test func allAreStartedAndCompletedInTheEnd() throws {
        let first = try completed(subscribe(1...20) + bench.work())
        #expect(first.count < 20 && bench.engine.liveViewCount < 20)
        #expect(try (first + takeAll()).sorted() == Array(1...20))
        #expect(bench.engine.liveViewCount == 20)
    }

    @Test func whatEndsBeforeItIsCompleteMakesRoom() throws {
        let first = try completed(subscribe(1...20) + bench.work())
        // None of those that were started, nor of those that wait, and the client takes no page.
        let ended = (1...19).filter { !first.contains($0) }
        _ = try bench.handle([
            .messages(id, ended.map { .unsubscribe(session: id.session, subscription: $0) })
        ])
        _ = try bench.work()
        #expect(bench.engine.liveViewCount == first.count + 1)
        #expect(try takeAll() == [20])
    }

    @Test func aSessionThatWaitsForItsClientKeepsNobodyElseWaiting() throws {
        _ = try subscribe(1...20)
        _ = try bench.work()
        #expect(!bench.engine.hasWork, "it waits for credit")
        let other = try bench.open().id
        let sent = try bench.handle([
            .messages(other, [.subscribe(.init(session: other.session, subscription: 1, query: "Plane WHERE id > 0"))])
        ])
        #expect(try completed(sent + bench.work()) == [1])
    }

    @Test func aSessionOfTheSameNumberBeginsWithCreditOfItsOwn() throws {
        for _ in 0..<3 {
            let completed = try completed(subscribe(1...20) + bench.work())
            #expect(completed.count < 20)
            _ = try bench.handle([.closed(id)])
            let open = ClientMessage.Open(session: id.session, path: "planes", schema: bench.storage.schema)
            _ = try bench.handle([.open(id, open, User(id: nil, mayExtendSchema: true))])
        }
        let first = try completed(subscribe(1...20) + bench.work())
        #expect(try (first + takeAll()).sorted() == Array(1...20))
        _ = try bench.handle([.closed(id)])
        #expect(bench.engine.liveViewCount == 0)
    }
}
