import SluiceModel
import SluiceServer
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// How the sessions of one database take turns.
@Suite(.ownThread) struct MailboxTests {
    private static func session(_ number: UInt64) -> SessionID { SessionID(connection: number, session: 1) }

    /// A frame with transactions of one operation each.
    private static func uploads(_ sequences: Range<Int>, of number: UInt64) -> DatabaseEvent {
        let changesets = sequences.map { sequence in
            Changeset(
                sequence: UInt64(sequence), baseVersion: 0, timestamp: HybridTimestamp(microseconds: 0),
                operations: [ObjectOperation(ObjectRef(0, .int(1)), .delete)])
        }
        return .messages(session(number), [.upload(session: 1, changesets: changesets)])
    }

    private static func subscribe(_ subscription: UInt64, of number: UInt64) -> DatabaseEvent {
        .messages(session(number), [.subscribe(.init(session: 1, subscription: subscription, query: "Car"))])
    }

    /// The events of a session in a turn: the sequences of its uploads, and 0 for anything else.
    private static func taken(_ events: [DatabaseEvent], of number: UInt64) -> [UInt64] {
        events.flatMap { event -> [UInt64] in
            guard case .messages(session(number), let messages) = event else { return [] }
            return messages.flatMap { message -> [UInt64] in
                if case .upload(_, let changesets) = message { changesets.map(\.sequence) } else { [0] }
            }
        }
    }

    @Test func aSessionThatComesAfterALongBacklogIsServedInTheSameTurn() {
        var mailbox = Mailbox()
        mailbox.add(Self.uploads(1..<100_001, of: 1), byteCount: 100_000)
        mailbox.add(Self.subscribe(1, of: 2), byteCount: 1)
        let turn = mailbox.takeTurn()
        #expect(Self.taken(turn, of: 2) == [0])
        let count = Self.taken(turn, of: 1).count
        #expect(count > 1_000 && count <= Mailbox.turnOperationCountMax)
        #expect(!mailbox.isEmpty)
    }

    /// The lag of events counts the time that they wait, which grows while a database is busy.
    @Test func aTurnKnowsWhenTheOldestOfItsEventsCame() {
        var mailbox = Mailbox()
        #expect(mailbox.takeTurn().isEmpty && mailbox.oldestTaken == nil)
        mailbox.add(Self.subscribe(1, of: 2), byteCount: 1, at: 9)
        mailbox.add(Self.uploads(1..<30_001, of: 1), byteCount: 1_000, at: 5)
        _ = mailbox.takeTurn()
        #expect(mailbox.oldestTaken == 5)
        mailbox.add(Self.subscribe(2, of: 2), byteCount: 1, at: 12)
        // The rest of what was taken in part came when all of it did.
        _ = mailbox.takeTurn()
        #expect(mailbox.oldestTaken == 5)
        while !mailbox.isEmpty { _ = mailbox.takeTurn() }
        mailbox.add(Self.subscribe(3, of: 2), byteCount: 1, at: 20)
        _ = mailbox.takeTurn()
        #expect(mailbox.oldestTaken == 20)
    }

    @Test func aBacklogIsTakenInOrderAndWholeOverItsTurns() {
        var mailbox = Mailbox()
        mailbox.add(Self.uploads(1..<70_001, of: 1), byteCount: 1_000)
        mailbox.add(Self.subscribe(1, of: 1), byteCount: 1)
        var all: [UInt64] = []
        var turns = 0
        while !mailbox.isEmpty, turns < 100 {
            turns += 1
            all += Self.taken(mailbox.takeTurn(), of: 1)
        }
        #expect(all == Array(1...70_000) + [0])
        #expect(turns > 3)
    }

    @Test func twoBacklogsShareEachTurn() {
        var mailbox = Mailbox()
        for session in [1, 2] as [UInt64] { mailbox.add(Self.uploads(1..<50_001, of: session), byteCount: 1) }
        let turn = mailbox.takeTurn()
        let counts = [1, 2].map { Self.taken(turn, of: $0).count }
        #expect(abs(counts[0] - counts[1]) <= Mailbox.shareOperationCountMax)
    }

    @Test func theMessagesOfAFrameOtherThanUploadsStayTogether() {
        var mailbox = Mailbox()
        mailbox.add(Self.uploads(1..<50_001, of: 1), byteCount: 1)
        let subscribes = (1...500 as ClosedRange<UInt64>).map {
            ClientMessage.subscribe(.init(session: 1, subscription: $0, query: "Car"))
        }
        mailbox.add(.messages(Self.session(2), subscribes), byteCount: 1)
        #expect(Self.taken(mailbox.takeTurn(), of: 2).count == 500)
    }

    @Test(arguments: 0..<20) func nothingIsLostOrReorderedWhateverTheSizes(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var mailbox = Mailbox()
        var sent: [UInt64: [UInt64]] = [:]
        var taken: [UInt64: [UInt64]] = [:]
        var next: [UInt64: Int] = [:]
        func takeTurn() {
            let turn = mailbox.takeTurn()
            for session in 1...3 as ClosedRange<UInt64> { taken[session, default: []] += Self.taken(turn, of: session) }
        }
        for _ in 0..<60 {
            let session = UInt64.random(in: 1...3, using: &generator)
            if Bool.random(using: &generator) {
                let first = next[session] ?? 1
                let count = [1, 10, 1_999, 2_000, 2_001, 9_000].randomElement(using: &generator)!
                next[session] = first + count
                sent[session, default: []] += (first..<first + count).map { UInt64($0) }
                mailbox.add(Self.uploads(first..<first + count, of: session), byteCount: count)
            } else {
                sent[session, default: []].append(0)
                mailbox.add(Self.subscribe(1, of: session), byteCount: 1)
            }
            if Int.random(in: 0..<5, using: &generator) == 0 { takeTurn() }
        }
        var turns = 0
        while !mailbox.isEmpty, turns < 1_000 {
            turns += 1
            takeTurn()
        }
        #expect(taken == sent && (1...3).allSatisfy { !mailbox.isFull(for: .session(Self.session($0))) })
    }

    @Test func aClosedSessionIsSeenBehindItsBacklog() {
        var mailbox = Mailbox()
        mailbox.add(Self.uploads(1..<50_001, of: 1), byteCount: 1)
        #expect(!mailbox.closes(Self.session(1)))
        mailbox.add(.closed(Self.session(1)), byteCount: 0)
        #expect(mailbox.closes(Self.session(1)) && !mailbox.closes(Self.session(2)))
    }

    // MARK: Users

    @Test(arguments: [2, 8, 32]) func aUserHasOneShareOnHoweverManyConnections(connectionCount: UInt64) {
        var mailbox = Mailbox()
        for session in 1...connectionCount {
            mailbox.add(Self.uploads(1..<5_001, of: session), byteCount: 1, of: .user("eve"))
        }
        mailbox.add(Self.uploads(1..<5_001, of: 100), byteCount: 1, of: .user("ada"))
        let turn = mailbox.takeTurn()
        let eve = (1...connectionCount).reduce(0) { $0 + Self.taken(turn, of: $1).count }
        let ada = Self.taken(turn, of: 100).count
        #expect(abs(ada - eve) <= Mailbox.shareOperationCountMax, "\(ada) and \(eve)")
        // Within a user's share, the connections take turns.
        var firsts: Set<UInt64> = []
        for session in 1...connectionCount where !Self.taken(turn, of: session).isEmpty { firsts.insert(session) }
        for _ in 0..<Int(connectionCount) {
            let turn = mailbox.takeTurn()
            for session in 1...connectionCount where !Self.taken(turn, of: session).isEmpty { firsts.insert(session) }
        }
        #expect(firsts.count == Int(connectionCount))
    }

    /// Transactions of one operation cost more than their operations, so a turn has few of them.
    @Test func aTurnHasFewTransactionsHoweverSmallTheyAre() {
        var mailbox = Mailbox()
        mailbox.add(Self.uploads(1..<100_001, of: 1), byteCount: 1)
        #expect(Self.taken(mailbox.takeTurn(), of: 1).count <= 2_000)
    }

    @Test func `a turn has no more transactions of JSON than of uploads`() {
        var mailbox = Mailbox()
        for sequence in 1...10_000 as ClosedRange<UInt64> {
            let write = ClientMessage.Write(session: 1, sequence: sequence, operations: "[{}]", operationCount: 1)
            mailbox.add(.messages(Self.session(1), [.write(write)]), byteCount: 1)
        }
        #expect(Self.taken(mailbox.takeTurn(), of: 1).count <= 2_000)
        mailbox.add(Self.uploads(1..<100_001, of: 2), byteCount: 1)
        let turn = mailbox.takeTurn()
        let counts = [1, 2].map { Self.taken(turn, of: $0).count }
        #expect(abs(counts[0] - counts[1]) <= Mailbox.shareOperationCountMax / Mailbox.transactionCost, "\(counts)")
    }

    @Test func `a large transaction of JSON costs its operations`() {
        var mailbox = Mailbox()
        for sequence in 1...100 as ClosedRange<UInt64> {
            let write = ClientMessage.Write(session: 1, sequence: sequence, operations: "", operationCount: 1_000)
            mailbox.add(.messages(Self.session(1), [.write(write)]), byteCount: 1)
        }
        let count = Self.taken(mailbox.takeTurn(), of: 1).count
        #expect((10...20).contains(count), "\(count)")
    }

    @Test(arguments: [1, 4, 16]) func aUserWhoFillsTheMailboxPausesNobodyElse(connectionCount: UInt64) {
        var mailbox = Mailbox()
        for round in 0..<600 {
            for session in 1...connectionCount {
                guard !mailbox.isFull(for: .user("eve")) else { break }
                mailbox.add(
                    Self.uploads(round * 10..<round * 10 + 10, of: session), byteCount: 100_000, of: .user("eve"))
            }
        }
        #expect(mailbox.isFull(for: .user("eve")) && !mailbox.isFull(for: .user("ada")))
        mailbox.add(Self.uploads(1..<2, of: 100), byteCount: 100, of: .user("ada"))
        #expect(!mailbox.isFull(for: .user("ada")))
        #expect(Self.taken(mailbox.takeTurn(), of: 100) == [1])
        while !mailbox.isEmpty { _ = mailbox.takeTurn() }
        #expect(!mailbox.isFull(for: .user("eve")))
    }

    /// All together: more users than there is room for, each with as much as it may have.
    @Test func whatAllHaveTogetherIsBoundedAndWhoHasLittleGoesOn() {
        var mailbox = Mailbox()
        var byteCount = 0
        for round in 0..<400 {
            for number in 0..<40 {
                let holder = Holder.address("\(number)")
                guard !mailbox.isFull(for: holder) else { continue }
                byteCount += 100_000
                mailbox.add(
                    Self.uploads(round..<round + 1, of: UInt64(number) + 1), byteCount: 100_000, of: holder)
            }
        }
        #expect(byteCount <= Mailbox.totalByteCountMax + 40 * 200_000)
        mailbox.add(Self.uploads(1..<2, of: 100), byteCount: 100, of: .user("ada"))
        #expect(!mailbox.isFull(for: .user("ada")) && mailbox.isFull(for: .address("7")))
    }
}
