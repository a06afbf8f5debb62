import Testing

@testable import SluiceServer

struct SentVersionsTests {
    /// A connection whose client takes some of the bytes.
    private struct Line {
        var sent = SentVersions()
        var waiting = 0

        mutating func give(_ byteCount: Int, of database: String = "shop", at version: UInt64) {
            waiting += byteCount
            sent.note(byteCount: byteCount, of: database, at: version, waitingByteCount: waiting)
        }

        func version(of database: String = "shop") -> UInt64? {
            sent.version(of: database, waitingByteCount: waiting)
        }
    }

    @Test func theVersionBeforeTheFirstTurnThatWaitsIsTold() {
        var line = Line()
        #expect(line.version() == nil)
        for version in 0..<5 as Range<UInt64> { line.give(100, at: version) }
        #expect(line.version() == 0)
        // A part of a turn is none of it.
        for (waiting, version) in [(401, 0), (400, 1), (399, 1), (250, 2), (1, 4)] as [(Int, UInt64)] {
            line.waiting = waiting
            #expect(line.version() == version, "\(waiting) bytes wait")
        }
        line.waiting = 0
        #expect(line.version() == nil)
        // What has left does not come again.
        line.give(10, at: 900)
        #expect(line.version() == 900)
    }

    @Test func databasesOfOneConnectionAreToldApart() {
        var line = Line()
        line.give(100, of: "shop", at: 7)
        line.give(100, of: "staff", at: 40)
        line.give(100, of: "shop", at: 8)
        line.waiting = 150
        #expect(line.version(of: "shop") == 8 && line.version(of: "staff") == 40)
        line.waiting = 100
        #expect(line.version(of: "shop") == 8 && line.version(of: "staff") == nil)
        #expect(line.version(of: "other") == nil)
    }

    @Test func whatOthersSendAndManyTurnsMakeItSayLessAndNeverMore() {
        var line = Line()
        // A ping that no database has given.
        line.waiting = 30
        for version in 0..<10_000 as Range<UInt64> { line.give(10, at: version) }
        for waiting in stride(from: 100_030, through: 10, by: -990) {
            line.waiting = waiting
            let exact = UInt64((100_000 - min(waiting, 100_000)) / 10)
            let told = line.version() ?? .max
            #expect(told <= exact, "\(waiting) bytes wait")
            // A mark has at most a sixteenth of what waits.
            #expect(told + 10_000 / 16 >= exact, "\(waiting) bytes wait")
        }
    }
}
