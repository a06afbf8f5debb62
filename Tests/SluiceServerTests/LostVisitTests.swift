import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// Clients whose last visit the history has lost: they show a nonce that no engine knows, and are no copies.
struct LostVisitTests {
    private let journal: MemoryJournal
    private let first: Bench
    private let second: Bench

    init() throws {
        journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))
        (first, second) = try Bench.pair(on: journal)
    }

    /// Lets the journal go on without what `body` has appended, and the second engine stand where it goes on.
    private func losing<Result>(_ body: () throws -> Result) throws -> Result {
        _ = try second.handle([.follow(journal.records(after: second.storage.head.position, countMax: .max))])
        let position = journal.head.position
        let result = try body()
        journal.fork(losing: Int(journal.head.position - position))
        return result
    }

    @Test(arguments: [1, 5]) func `what such a client uploads again counts once`(visitCount: Int) throws {
        let here = try first.open()
        // The acknowledgement has not reached the client.
        _ = try first.upload(here.id, [first.changeset(1)])
        let lost = try losing {
            var identity = here.opened.identity
            for _ in 1...visitCount {
                let visit = try first.open(identity, version: 1)
                _ = try first.handle([.messages(visit.id, [.credit(session: 1, pages: 1)])])
                identity = visit.opened.identity
            }
            return identity
        }
        let there = try second.open(lost, version: 1)
        #expect(there.opened.outcome == .resumed && there.opened.acknowledged == 1)
        #expect(there.opened.identity.clientID == lost.clientID)
        #expect(there.opened.identity.epoch != lost.epoch)
        let messages = try second.upload(there.id, [second.changeset(1), second.changeset(2)])
        #expect(acknowledgements(in: messages) == [2])
        #expect(try second.seats(1) == .int(2))
        // It goes on with the nonces of this history.
        #expect(try second.open(there.opened.identity, version: 2).opened.outcome == .resumed)
    }

    @Test func `such a client that has seen what is lost begins anew, and what is not lost counts once`() throws {
        let here = try first.open()
        _ = try first.upload(here.id, [first.changeset(1)])
        let lost = try losing {
            let visit = try first.open(here.opened.identity, version: 1)
            _ = try first.upload(visit.id, [first.changeset(2)])
            return visit.opened.identity
        }
        let there = try second.open(lost, version: 2)
        #expect(there.opened.outcome == .reset && there.opened.acknowledged == 1)
        #expect(acknowledgements(in: try second.upload(there.id, [second.changeset(2)])) == [2])
        #expect(try second.seats(1) == .int(2))
    }

    @Test func `a client that begins anew hears of what was rejected before`() throws {
        let here = try first.open()
        // The rejection has not reached the client.
        _ = try first.upload(here.id, [first.changeset(1, isBad: true), first.changeset(2)])
        let lost = try losing {
            let visit = try first.open(here.opened.identity, version: 1)
            _ = try first.upload(visit.id, [first.changeset(3)])
            return visit.opened.identity
        }
        let there = try second.open(lost, version: 2)
        #expect(there.opened.outcome == .reset && there.opened.acknowledged == 2)
        #expect(there.opened.rejections.map(\.sequence) == [1])
        // Also where its process ends before it has told anybody.
        let again = try second.open(there.opened.identity)
        #expect(again.opened.rejections.map(\.sequence) == [1])
        let third = try Bench(journal: journal, seed: 3_000)
        try third.engine.catchUp()
        let id = there.opened.identity.clientID
        #expect(try third.storage.client(id)?.sequence == 2)
        #expect(try third.storage.rejections(of: id) == second.storage.rejections(of: id))
    }

    @Test func `of two copies with a lost nonce, the one that comes later is another client`() throws {
        let here = try first.open()
        _ = try first.upload(here.id, [first.changeset(1)])
        let lost = try losing { try first.open(here.opened.identity, version: 1).opened.identity }
        let there = try second.open(lost, version: 1)
        _ = try second.upload(there.id, [second.changeset(2)])
        #expect(try second.open(here.opened.identity, version: 1).opened.outcome == .copied)
        let after = try second.open(there.opened.identity, version: 2)
        _ = try second.handle([.messages(after.id, [.credit(session: 1, pages: 1)])])
        let copy = try second.open(lost, version: 1)
        #expect(copy.opened.outcome == .copied && copy.opened.identity.clientID != lost.clientID)
    }

    /// The next nonces cannot be guessed.
    @Test(arguments: [0, 65_537, UInt64.max]) func `a nonce that nobody was offered is another client's`(
        distance: UInt64
    ) throws {
        let here = try first.open()
        var guessed = here.opened.identity
        guessed.nonce = ObjectID(high: guessed.nonce.high &+ distance, low: ~guessed.nonce.low)
        let guess = try first.open(guessed)
        #expect(guess.opened.outcome == .copied && guess.opened.identity.clientID != guessed.clientID)
    }

    @Test func `a lost number that another client has got is not taken for the client's`() throws {
        let lost = try losing { try first.open().opened.identity }
        let other = try second.open()
        #expect(other.opened.identity.clientID == lost.clientID)
        let there = try second.open(lost)
        #expect(there.opened.identity.clientID != lost.clientID && there.opened.acknowledged == 0)
    }
}
