import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// What refused transactions leave on the server, however many come at once.
struct RefusalTests {
    private static let keptCount = UInt64(SQLiteServerStorage.rejectionCountMax)

    private static func sequences(_ bench: Bench, of client: UInt64) throws -> [UInt64] {
        try bench.storage.rejections(of: client).map { try ServerMessage.Rejection(wireBytes: $0).sequence }
    }

    @Test(arguments: [1, 4]) func aGroupOfRefusedTransactionsIsToldWholeAndLeavesTheLastThousand(times: UInt64) throws {
        let bench = try Bench()
        let first = try bench.open()
        let count = Self.keptCount * times + 7
        let answers = try bench.upload(first.id, (1...count).map { bench.changeset($0, isBad: true) })
        let told = answers.compactMap {
            if case .rejected(let rejected) = $0 { rejected.rejection.sequence } else { nil }
        }
        #expect(told == Array(1...count))
        #expect(
            try Self.sequences(bench, of: first.opened.identity.clientID) == Array((count - Self.keptCount + 1)...count)
        )
        // Whoever comes back knows that all are settled.
        #expect(try bench.open(first.opened.identity).opened.acknowledged == count)
    }

    @Test func theJournalHasNoMoreOfAGroupThanIsKept() throws {
        let bench = try Bench()
        let first = try bench.open()
        let before = bench.storage.head.position
        _ = try bench.upload(first.id, (1...Self.keptCount * 3).map { bench.changeset($0, isBad: true) })
        let records = try OwnJournal(bench.storage).records(after: before, countMax: 100)
        let groups = try records.map { try JournalGroup.decode($0.bytes) }
        let rejectionCount = groups.reduce(0) { count, group in
            count + group.steps.count { if case .rejection = $0 { true } else { false } }
        }
        #expect(rejectionCount == Int(Self.keptCount))
    }

    @Test func clientsThatAreRefusedTogetherKeepTheirOwn() throws {
        let bench = try Bench()
        let sessions = try (0..<3).map { _ in try bench.open() }
        // In one batch, so that they share a group; some of what comes between is accepted.
        _ = try bench.handle(
            sessions.enumerated().map { number, session in
                let changesets = (1...Self.keptCount + 50 * UInt64(number)).map {
                    bench.changeset($0, isBad: $0 % 10 != 0)
                }
                return .messages(session.id, [.upload(session: 1, changesets: changesets)])
            })
        for (number, session) in sessions.enumerated() {
            let refused = (1...Self.keptCount + 50 * UInt64(number)).filter { $0 % 10 != 0 }
            let kept = try Self.sequences(bench, of: session.opened.identity.clientID)
            #expect(kept == Array(refused.suffix(Int(Self.keptCount))), "client \(number)")
        }
    }
}
