import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import TestSupport
import Testing

/// Comparisons with what clients have, and what commits have changed behind pages, of a database in a file: they are read
/// on connections of their own.
@Suite struct ComparisonsBesideTheWriterTests {
    /// With so many, two pages are read row by row, since a digest is made, and all others by column.
    private static let digestObjectCountMax = 15

    /// A herd with a client that comes back and lists its members.
    private static func compared(_ configure: (inout DatabaseLimits) -> Void = { _ in }) throws -> Herd {
        let herd = try Herd(planeCount: 95, isFile: true) {
            $0.digestObjectCountMax = digestObjectCountMax
            configure(&$0)
        }
        try herd.join()
        try herd.finish()
        let left = try #require(try herd.leave(0))
        try herd.write(10..<40, seats: 3)
        try herd.delete(50..<53)
        herd.delaysReadings = true
        try herd.comeBack(left)
        return herd
    }

    @Test func aCommitIsAcknowledgedWhileAClientIsCompared() throws {
        let herd = try Self.compared()
        let pageCount = herd.pageFrames.count
        #expect(herd.readings.count == 1 && !herd.engine.hasWork)
        let count = herd.acknowledgementCount
        try herd.write([70], seats: 4)
        #expect(herd.acknowledgementCount == count + 1 && herd.pageFrames.count == pageCount)
        try herd.finish()
        try herd.check()
    }

    /// Members are compared one after the other as long as the client and the database have the same order.
    @Test(arguments: ["the same", "the reverse", "the halves swapped", "some first", "any"])
    func onlyWhatDiffersIsSentInWhateverOrderAClientListsItsMembers(_ order: String) throws {
        try Self.checkThatOnlyWhatDiffersIsSent(
            Herd(planeCount: 95, isFile: true) { $0.digestObjectCountMax = Self.digestObjectCountMax }, order)
    }

    /// What an attempt has compared whose steps were not enough is compared again.
    @Test(arguments: ["the same", "the reverse", "some first"], [0, 15])
    func aPageThatWasInterruptedIsComparedAgain(_ order: String, digestObjectCountMax: Int) throws {
        // The writer reads: half a page of ten with one attempt, and the roots are listed then.
        let herd = try Herd(planeCount: 95) {
            $0.digestObjectCountMax = digestObjectCountMax
            $0.shareStepCountMax = 100
            $0.turnStepCountMax = 300
        }
        try Self.checkThatOnlyWhatDiffersIsSent(herd, order)
    }

    private static func checkThatOnlyWhatDiffersIsSent(_ herd: Herd, _ order: String) throws {
        try herd.join()
        try herd.finish()
        let left = try #require(try herd.leave(0))
        try herd.write(30..<40, seats: 3)
        try herd.delete(50..<53)
        try herd.write([200], seats: 4)
        let before = herd.pageRowCount
        var random = SeededGenerator(seed: 7)
        try herd.comeBack(left) { keys in
            switch order {
            case "the same": keys
            case "the reverse": keys.reversed()
            case "the halves swapped": Array(keys[47...] + keys[..<47])
            case "some first": Array(keys[60..<70] + keys[..<60] + keys[70...])
            default: keys.shuffled(using: &random)
            }
        }
        try herd.finish()
        try herd.check()
        #expect(herd.pageRowCount - before == 11)
    }

    @Test func whatChangesWhileAClientIsComparedIsSentAsItIsNow() throws {
        let herd = try Self.compared()
        // In the first page, behind it, gone, and new.
        try herd.write([12, 80, 300], seats: 5)
        try herd.delete([13, 51])
        try herd.note([14], 1)
        try herd.read()
        try herd.write([15], seats: 6)
        try herd.finish()
        try herd.check()
    }

    @Test func aPageOfDifferencesThatWaitsForCreditIsSentAsItIsThen() throws {
        let herd = try Self.compared { $0.server.pageCreditMax = 1 }
        // The first page has nothing that differs; the second takes the credit, and the third waits.
        for _ in 0..<4 { try herd.read() }
        try herd.write(10..<40, seats: 7)
        try herd.delete([20, 30])
        try herd.finish()
        try herd.check()
    }

    /// Several pages are read at once, and wait while the next are read.
    @Test(arguments: Array(1...6) as [UInt64])
    func whatChangesWhilePagesWaitAndOthersAreReadIsSentAsItIsThen(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let herd = try Self.compared {
            $0.server.pageCreditMax = seed % 2 == 0 ? 1 : 3
            $0.pagesPerReading = 3
        }
        var round: Int64 = 10
        var readingCount = 0
        while !herd.readers[0].isComplete, round < 200 {
            round += 1
            if Bool.random(using: &random) { try herd.write([.random(in: 0..<110, using: &random)], seats: round) }
            if Int.random(in: 0..<4, using: &random) == 0 { try herd.delete([.random(in: 0..<95, using: &random)]) }
            if !herd.readings.isEmpty { readingCount += 1 }
            try herd.read()
            if Bool.random(using: &random) { try herd.credit(0) }
        }
        try herd.finish()
        try herd.check()
        // Ten pages of the class, the first by itself.
        #expect(readingCount >= 4)
    }

    @Test func whoLeavesWhileItIsComparedLeavesNothing() throws {
        let herd = try Self.compared()
        try herd.leave(0)
        try herd.handle(.closed(herd.writer))
        #expect(!herd.engine.isIdle)
        try herd.read()
        #expect(herd.engine.isIdle)
    }

    @Test func manyObjectsThatChangedBehindPagesAreReadBesideTheWriter() throws {
        let herd = try Herd(planeCount: 15, isFile: true) {
            $0.objectCountBeside = 5
            $0.pageRowCount = 100
        }
        herd.delaysReadings = true
        try herd.join()
        try herd.write(0..<9, seats: 2)
        try herd.read()
        #expect(herd.readings.count == 1 && !herd.readers[0].isComplete)
        let count = herd.acknowledgementCount
        try herd.write([3], seats: 4)
        #expect(herd.acknowledgementCount == count + 1 && !herd.readers[0].isComplete)
        try herd.finish()
        try herd.check()
        // A few are left to the writer.
        #expect(herd.readings.isEmpty)
    }

    @Test func aViewThatChangesFasterThanItsPagesTravelIsCompleteAllTheSame() throws {
        let herd = try Herd(planeCount: 30, isFile: true) {
            $0.objectCountBeside = 1
            $0.settlingRoundMax = 2
        }
        herd.delaysReadings = true
        try herd.join()
        var round: Int64 = 1
        while !herd.readers[0].isComplete, round < 100 {
            round += 1
            try herd.write(0..<30, seats: round)
            try herd.read()
            try herd.credit(0)
        }
        #expect(round < 100)
        try herd.check()
    }

    // MARK: Digests

    private static func digest(_ herd: Herd) throws -> ObjectID {
        let query = try Query.parse("Plane EXCLUDE(note)", schema: herd.storage.schema)
        var digest = try #require(ViewDigest(query, schema: herd.storage.schema))
        try herd.storage.forEachRow(ofClass: 0) { row in
            digest.add(row, of: 0, isRoot: true)
            return true
        }
        return digest.digest
    }

    private static func complete() throws -> Herd {
        let herd = try Herd(planeCount: 1_200, isFile: true) { $0.pageRowCount = 2_000 }
        try herd.join()
        try herd.finish()
        herd.delaysReadings = true
        try herd.checkDigests()
        return herd
    }

    @Test func aDigestIsMadeBesideTheWriter() throws {
        let herd = try Self.complete()
        #expect(herd.readings.count == 1 && herd.readers[0].digest == nil)
        let count = herd.acknowledgementCount
        // What the view does not include does not change its digest.
        try herd.note([7], 3)
        #expect(herd.acknowledgementCount == count + 1)
        try herd.read()
        #expect(try herd.readers[0].digest == Self.digest(herd))
    }

    @Test func aDigestOfAViewThatHasChangedMeanwhileIsNotSent() throws {
        let herd = try Self.complete()
        try herd.write([7], seats: 9)
        try herd.read()
        #expect(herd.readers[0].digest == nil)
        try herd.checkDigests()
        try herd.read()
        #expect(try herd.readers[0].digest == Self.digest(herd))
    }

    @Test func aDigestIsOfNoUseWhereItsLastSubscriberHasLeft() throws {
        let herd = try Self.complete()
        try herd.leave(0)
        try herd.read()
        #expect(herd.readings.isEmpty && herd.engine.statistics.sentDigestCount == 0)
    }
}
