import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// A node whose journal does not answer: it answers queries, holds uploads back without trying, and goes on by itself.
struct SilentJournalTests {
    private let journal: MemoryJournal
    private let node: Bench
    private let client: (id: SessionID, opened: ServerMessage.Opened)

    init() throws {
        journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))
        node = try Bench(journal: journal.another(), seed: 1_000)
        client = try node.open()
    }

    private func set(_ faults: [MemoryJournal.Fault]) { node.journal?.faults = faults }

    private func failures(in messages: [ServerMessage]) -> [ServerMessage.Failure] {
        messages.compactMap { if case .error(let failure) = $0 { failure } else { nil } }
    }

    /// Asks the journal once, as the server does beside the queue.
    private func askAgain() throws -> (delay: Duration, messages: [ServerMessage]) {
        let retry = try #require(node.engine.takeRetry())
        #expect(node.engine.takeRetry() == nil, "one question at a time")
        retry.run()
        return (retry.delay, try node.handle([.journalAsked(retry)]))
    }

    @Test func `uploads are held back without trying, and queries are answered`() throws {
        _ = try node.upload(client.id, [node.changeset(1)])
        set([.silent])
        let told = failures(in: try node.upload(client.id, [node.changeset(2)]))
        #expect(told.map(\.action) == [.report] && told.first?.message.contains("does not answer") == true)
        let tried = node.journal?.appendCount
        #expect(try node.upload(client.id, [node.changeset(3)]).isEmpty, "its client is told once")
        let query = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Plane WHERE id == 1"))
        _ = try node.handle([.messages(client.id, [query])])
        let answered = try node.work().contains { if case .page = $0 { true } else { false } }
        #expect(answered)
        // Nor do new sessions, transactions of the server or the schema try.
        let other = try node.open()
        #expect(other.opened.outcome == .created && other.opened.identity.clientID == 0)
        #expect(try node.open(client.opened.identity, version: 1, acknowledged: 1).opened.outcome == .resumed)
        #expect(throws: ServerError.self) {
            try node.engine.write(by: 1, now: node.now) { _, _ in OwnTransaction((), []) }
        }
        #expect(throws: StorageError.self) { try node.engine.beginEpoch() }
        #expect(node.journal?.appendCount == tried)
    }

    /// An opening on a connection that is dead arrives late. It must not be taken for the client any more, whose upload has
    /// counted under what it was offered since.
    @Test(arguments: [true, false])
    func `what a client says while nothing can be written proves its offer later`(saysItBefore: Bool) throws {
        let former = client.opened.identity
        let here = try node.open(former)
        let other = try node.open()
        let saying = DatabaseEvent.messages(here.id, [.credit(session: 1, pages: 1)])
        if saysItBefore { _ = try node.handle([saying]) }
        set([.silent])
        _ = try node.upload(other.id, [node.changeset(1)])
        if !saysItBefore { _ = try node.handle([saying]) }
        set([])
        _ = try askAgain()
        // The acknowledgement does not reach the client.
        #expect(acknowledgements(in: try node.upload(here.id, [node.changeset(1)])) == [1])
        #expect(try node.open(former).opened.outcome == .copied)
        let again = try node.open(here.opened.identity, version: 1)
        #expect(again.opened.outcome == .resumed && again.opened.acknowledged == 1)
        _ = try node.upload(again.id, [node.changeset(1)])
        #expect(try node.seats(1) == .int(1))
    }

    @Test func `the journal is asked again and again, ever later`() throws {
        set([.silent])
        _ = try node.upload(client.id, [node.changeset(1)])
        var delays: [Duration] = []
        for _ in 0..<8 {
            let (delay, messages) = try askAgain()
            #expect(messages.isEmpty)
            delays.append(delay)
        }
        #expect(delays == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].map { .milliseconds($0) })
        // What the watch hears makes it ask at once, and an older question counts no more.
        let old = try #require(node.engine.takeRetry())
        #expect(try node.handle([.journalGrew]).isEmpty)
        #expect(try askAgain().delay == .zero)
        set([])
        old.run()
        #expect(try node.handle([.journalAsked(old)]).isEmpty)
    }

    @Test func `when it answers, the node catches up and recalls those who were held back`() throws {
        let other = try Bench(journal: journal.another(), seed: 2_000)
        let reader = try node.open(options: .readOnly)
        set([.silent])
        _ = try node.upload(client.id, [node.changeset(1)])
        let writer = try other.open()
        _ = try other.upload(writer.id, [other.changeset(1)])
        set([])
        let messages = try askAgain().messages
        #expect(failures(in: messages).map(\.action) == [.retry], "the reader's session goes on")
        #expect(node.storage.head == journal.head && node.engine.connectedClients.isEmpty)
        _ = reader
        let back = try node.open(client.opened.identity)
        #expect(acknowledgements(in: try node.upload(back.id, [node.changeset(1)])) == [1])
        #expect(try node.seats(1) == .int(2))
    }

    @Test func `a group that the journal took before it fell silent is found by following`() throws {
        set([.losesAnswer, .silent])
        #expect(failures(in: try node.upload(client.id, [node.changeset(1)])).map(\.action) == [.report])
        #expect(node.storage.version == 0)
        set([])
        let messages = try askAgain().messages
        #expect(acknowledgements(in: messages) == [1])
        #expect(try node.seats(1) == .int(1))
        let back = try node.open(client.opened.identity, version: 1, acknowledged: 1)
        #expect(back.opened.acknowledged == 1)
        _ = try node.upload(back.id, [node.changeset(1), node.changeset(2)])
        #expect(try node.seats(1) == .int(2))
    }

    /// Nothing is stored of a reader, nor of a writer that came while nothing could be.
    @Test(arguments: [true, false])
    func `a client that is ahead and has no record is not reset but asked to come again`(isReader: Bool) throws {
        let other = try Bench(journal: journal.another(), seed: 2_000)
        let writer = try other.open()
        _ = try other.upload(writer.id, [other.changeset(1)])
        let reader = try other.open(options: .readOnly)
        set([.silent])
        _ = try node.upload(client.id, [node.changeset(1)])
        let options: ClientMessage.Open.Options = isReader ? .readOnly : []
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: reader.opened.identity, version: 1, acknowledged: 0,
            options: options, schema: Schema())
        let refused = try node.handle([
            .open(SessionID(connection: 99, session: 1), open, User(id: nil, mayExtendSchema: true))
        ])
        #expect(refused.count == 1 && failures(in: refused).map(\.action) == [.retry])
        set([])
        _ = try askAgain()
        let outcome = try node.open(reader.opened.identity, version: 1, options: options).opened.outcome
        #expect(outcome == (isReader ? .resumed : .copied))
    }

    @Test func `a node that is far behind catches up in several turns`() throws {
        let other = try Bench(journal: journal.another(), seed: 2_000)
        let writer = try other.open()
        for number in 1...200 { _ = try other.upload(writer.id, [other.changeset(UInt64(number))]) }
        _ = try node.handle([.journalGrew])
        #expect(node.storage.head.position < journal.head.position && node.engine.hasWork)
        _ = try node.work()
        #expect(node.storage.head == journal.head && !node.engine.hasWork)
        #expect(try node.seats(1) == .int(200))
    }
}
