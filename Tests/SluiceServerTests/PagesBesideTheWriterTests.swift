import SluiceModel
import SluiceServer
import Testing

/// Pages of a database in a file, which are read on connections of their own.
@Suite struct PagesBesideTheWriterTests {
    private static func herd() throws -> Herd {
        let herd = try Herd(planeCount: 95, isFile: true)
        herd.delaysReadings = true
        try herd.join()
        return herd
    }

    @Test func aCommitIsAcknowledgedWhileAPageIsBeingRead() throws {
        let herd = try Self.herd()
        #expect(herd.readings.count == 1 && herd.pageFrames.isEmpty && !herd.engine.hasWork)
        let count = herd.acknowledgementCount
        try herd.write(50..<53, seats: 2)
        #expect(herd.acknowledgementCount == count + 1 && herd.pageFrames.isEmpty)
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 11)
    }

    @Test func whatChangesWhileItsPageIsBeingReadIsSentAsItIsNow() throws {
        let herd = try Self.herd()
        try herd.write([3, 200], seats: 2)
        try herd.delete([5])
        try herd.read()
        #expect(herd.readers[0].seats.count == 8)
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.readAgain == 1)
    }

    @Test func aPageThatCameBackDoesNotDivideAGroupOfUploads() throws {
        let herd = try Self.herd()
        let count = herd.engine.statistics.commits.groupCount
        try herd.handle(herd.writing([7], seats: 2), readingAPageBefore: herd.writing([8], seats: 2))
        #expect(herd.engine.statistics.commits.groupCount == count + 1)
        try herd.finish()
        try herd.check()
    }

    @Test func noMorePagesAreReadAtOnceThanTheLimitSays() throws {
        let herd = try Self.herd()
        for query in 1...6 { try herd.join("Plane WHERE seats > -\(query) EXCLUDE(note)") }
        #expect(herd.readings.count == 2 && !herd.engine.hasWork)
        // Whoever waits has a turn before the first one gets its second page.
        for _ in 0..<7 { try herd.read() }
        #expect(herd.pageFrames.count == 7 && Set(herd.pageFrames.flatMap { $0 }).count == 7)
        try herd.finish()
        try herd.check()
    }

    @Test func aPageIsOfUseToOthersWhereTheOneForWhomItIsReadHasLeft() throws {
        let herd = try Self.herd()
        try herd.join()
        try herd.leave(0)
        try herd.finish()
        try herd.check()
        #expect(herd.engine.statistics.sharedPages.read == 10)
    }

    @Test func aDatabaseIsNotIdleWhileAPageIsBeingRead() throws {
        let herd = try Self.herd()
        try herd.leave(0)
        try herd.handle(.closed(herd.writer))
        #expect(!herd.engine.isIdle)
        try herd.read()
        #expect(herd.engine.isIdle && herd.engine.sharedPageByteCount == 0)
    }
}
