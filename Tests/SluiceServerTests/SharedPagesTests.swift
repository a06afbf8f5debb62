import SluiceModel
import SluiceServer
import TestSupport
import Testing

/// Clients that ask the same query, about a hundred planes in pages of ten.
@Suite(.ownThread) struct SharedPagesTests {
    @Test func whatManyAskAtOnceIsReadAndEncodedOnceAndSentInSharedFrames() throws {
        let herd = try Herd(planeCount: 95)
        try herd.joinTogether(200)
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 10)
        #expect(herd.engine.statistics.sentPageCount == 2_000)
        // The first pages of all are sent together. After that each has its own turn.
        #expect(herd.pageFrames.prefix(2).allSatisfy { $0.count == 200 })
    }

    @Test func clientsAtDifferentPlacesShareThePages() throws {
        let herd = try Herd(planeCount: 100)
        for _ in 0..<5 {
            try herd.join()
            for position in herd.readers.indices { try herd.credit(position) }
        }
        try herd.finish()
        // The pages stay for a while after the last client has taken them.
        try herd.join()
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 10)
        #expect(herd.engine.statistics.sharedPages.joined == 5)
    }

    @Test func sessionsAndSubscriptionsOfOtherNumbersShareThePagesToo() throws {
        let herd = try Herd(planeCount: 100)
        for number in 1...6 as ClosedRange<UInt64> { try herd.join(session: number % 3 + 1, subscription: number) }
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 10)
    }

    @Test func aPageIsReadAgainOnlyIfAnObjectInItHasChanged() throws {
        let herd = try Herd(planeCount: 100)
        try herd.join()
        try herd.finish()
        // What the query does not include changes the object's version all the same.
        try herd.note([5], 1)
        try herd.join()
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 10)
        #expect(herd.engine.statistics.sharedPages.readAgain == 1)
    }

    @Test func whatChangesBetweenPagesIsSettledForAllInTheSamePages() throws {
        let herd = try Herd(planeCount: 100)
        try herd.joinTogether(20)
        try herd.write([3, 30, 95], seats: 2)
        try herd.delete([4])
        try herd.write([200], seats: 3)
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 11)
    }

    @Test func whereMuchHasChangedANewClientGetsPagesOfItsOwn() throws {
        let herd = try Herd(planeCount: 100)
        try herd.join()
        try herd.write(0..<50, seats: 2)
        try herd.join()
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.joined == 0)
    }

    @Test func thePagesThatNobodyTakesAreDroppedAfterAWhile() throws {
        let herd = try Herd(planeCount: 100)
        try herd.join()
        try herd.finish()
        herd.engine.performMaintenance(now: herd.now)
        herd.now = Timestamp(microseconds: herd.now.microseconds + 20_000_000)
        herd.engine.performMaintenance(now: herd.now)
        try herd.join()
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 20)
    }

    @Test func aClientThatTakesNoPagesKeepsNoMoreOfThemThanTheLimitSays() throws {
        let herd = try Herd(planeCount: 1_000) { $0.sharedPageByteCount = 5_000 }
        try herd.join()
        try herd.join()
        for _ in 0..<100 { try herd.credit(1) }
        #expect(herd.readers.map(\.isComplete) == [false, true])
        #expect(herd.engine.sharedPageByteCount <= 6_000)
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.forked > 0)
    }

    @Test func aClientThatEndsWhileRootsAreListedForItLeavesTheListToOthers() throws {
        // Listing takes more than a turn.
        let herd = try Herd(planeCount: 100) {
            $0.shareStepCountMax = 20
            $0.turnStepCountMax = 60
        }
        try herd.join("Plane SORT(seats DESC) EXCLUDE(note)")
        try herd.join("Plane SORT(seats DESC) EXCLUDE(note)")
        try herd.leave(0)
        try herd.finish()
        try herd.check()
    }

    /// Clients come, take pages and leave at random, while objects that they are sent change, go and come back.
    @Test(arguments: 1...14 as ClosedRange<UInt64>)
    func atAnyPaceAndWithAnyChangesEveryPageIsUpToDateAndAllHaveEverything(seed: UInt64) throws {
        try checkAtAnyPace(seed: seed, isFile: false)
    }

    /// The same, where pages are read beside the writer, and at random moments.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func pagesThatAreReadBesideTheWriterAreUpToDateToo(seed: UInt64) throws {
        try checkAtAnyPace(seed: seed, isFile: true)
    }

    private func checkAtAnyPace(seed: UInt64, isFile: Bool) throws {
        var generator = SeededGenerator(seed: seed)
        let herd = try Herd(planeCount: 60, isFile: isFile) {
            $0.pageRowCount = generator.pick([1, 3, 10, 100])
            $0.sharedPageByteCount = generator.pick([1, 1_500, 32 << 20])
            $0.shareStepCountMax = generator.pick([200, 1_000_000])
            $0.settlingRoundMax = generator.pick([1, 2, 4])
            $0.objectCountBeside = generator.pick([1, 3, 100])
            $0.pagesPerReading = generator.pick([1, 2, 4])
            $0.readAheadReceiverCountMax = generator.pick([1, 32])
            $0.digestObjectCountMax = generator.pick([0, 10, 1_000])
        }
        herd.delaysReadings = isFile
        let query = generator.pick([
            "Plane EXCLUDE(note)", "Plane SORT(seats ASC) EXCLUDE(note)",
            "Plane SORT(seats DESC) LIMIT(1000) EXCLUDE(note)",
        ])
        var gone: [(seats: [ObjectKey: Value], version: UInt64)] = []
        for round in 0..<200 as Range<Int64> {
            let keys = (0..<generator.pick([1, 2, 5])).map { _ in Int64(Int.random(in: 0..<70, using: &generator)) }
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: try herd.join(query, subscription: UInt64(1 + Int.random(in: 0..<2, using: &generator)))
            case 1: try herd.write(Set(keys).sorted(), seats: round)
            case 2: try herd.note(Set(keys).sorted(), round)
            case 3: try herd.delete(Set(keys).sorted())
            case 4 where !herd.readers.isEmpty && generator.chance(30):
                if let left = try herd.leave(Int.random(in: 0..<herd.readers.count, using: &generator)) {
                    gone.append(left)
                }
            case 5 where isFile: try herd.read()
            case 6 where !gone.isEmpty && generator.chance(50): try herd.comeBack(gone.removeLast(), query)
            default:
                if !herd.readers.isEmpty { try herd.credit(Int.random(in: 0..<herd.readers.count, using: &generator)) }
            }
        }
        try herd.finish()
        try herd.check()
    }
}
