import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// What a node does by itself, where others append to the same journal.
struct NodeUpkeepTests {
    private let journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))

    private func node(_ limits: DatabaseLimits, seed: UInt64) throws -> Bench {
        try Bench(limits: limits, journal: journal.another(), seed: seed)
    }

    @Test func `no node forgets a client that visits another one`() throws {
        var limits = DatabaseLimits()
        let day: Int64 = 86_400_000_000
        limits.clientRetention = 2 * day
        let (first, second) = (try node(limits, seed: 1_000), try node(limits, seed: 2_000))
        func pass(_ time: Int64) {
            for node in [first, second] {
                node.advance(microseconds: time)
                node.engine.performMaintenance(now: node.now)
            }
        }
        let gone = try first.open()
        _ = try first.handle([.closed(gone.id)])
        let moved = try first.open()
        _ = try first.handle([.closed(moved.id)])
        let stays = try second.open()
        for _ in 0..<5 {
            pass(day)
            // It comes to the second node again and again; the first one has not followed when it looks.
            let back = try second.open(moved.opened.identity)
            #expect(back.opened.outcome == .resumed)
            _ = try second.handle([.closed(back.id)])
        }
        try first.engine.catchUp()
        #expect(try first.storage.client(gone.opened.identity.clientID) == nil)
        for session in [moved, stays] {
            #expect(try first.storage.client(session.opened.identity.clientID) != nil)
        }
    }

    @Test func `a quota refuses uploads and not what others have appended`() throws {
        var limits = DatabaseLimits()
        limits.fileByteCountMax = 200_000
        let (full, other) = (try node(limits, seed: 1_000), try node(DatabaseLimits(), seed: 2_000))
        let (writer, another) = (try full.open(), try other.open())
        _ = try other.upload(another.id, [other.planes(20_000)])
        _ = try full.handle([.journalGrew])
        #expect(full.storage.head == journal.head)
        let messages = try full.upload(writer.id, [full.changeset(1)])
        guard case .error(let failure)? = messages.first else {
            Issue.record("nothing was refused: \(messages)")
            return
        }
        #expect(failure.action == .report && messages.count == 1)
        #expect(full.storage.head == journal.head)
    }
}
