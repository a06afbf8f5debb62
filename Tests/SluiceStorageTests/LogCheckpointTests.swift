import Glibc
import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceStorage

/// The write-ahead log is moved into the file beside the commits, and stays short.
struct LogCheckpointTests {
    private static let pageCount = 40

    private func server(_ folder: TemporaryFolder) throws -> SQLiteServerStorage {
        let storage = try Garage.server(.file(folder.file("db")))
        storage.loggedPageCount = Self.pageCount
        return storage
    }

    private func record(_ number: Int, in storage: SQLiteServerStorage) throws {
        try storage.write { try storage.record([.create(Garage.car("car \(number)"), ofClass: Garage.car)]) }
    }

    /// The file itself, without the log.
    private func file(_ folder: TemporaryFolder) throws -> [UInt8] { try folder.bytes(of: "db") }

    @Test func aCommitMovesNoPagesAndTheLogIsBegunAnew() throws {
        let folder = try TemporaryFolder()
        let storage = try server(folder)
        defer { storage.close() }
        let checkpointer = try #require(storage.checkpointer)
        try storage.checkpoint(truncating: true)
        var longest = 0
        var restartCount = 0
        for number in 0..<300 {
            let (before, logged) = (try file(folder), storage.connection.loggedPageCount)
            try record(number, in: storage)
            longest = max(longest, storage.connection.loggedPageCount)
            if storage.connection.loggedPageCount < logged { restartCount += 1 }
            // Before the log is long, nothing works beside.
            if storage.connection.loggedPageCount < Self.pageCount { #expect(try file(folder) == before) }
            checkpointer.finish()
        }
        #expect(restartCount > 3 && longest < 2 * Self.pageCount, "\(restartCount), \(longest)")
        #expect(try storage.count(ofClass: Garage.car) >= 300)
    }

    /// A reader of an old version keeps the log; once it is gone, the log is short again.
    @Test func aReaderKeepsTheLogForAsLongAsItReads() throws {
        let folder = try TemporaryFolder()
        let storage = try server(folder)
        defer { storage.close() }
        let checkpointer = try #require(storage.checkpointer)
        let snapshot = try #require(try storage.snapshot())
        for number in 0..<60 {
            try record(number, in: storage)
            checkpointer.finish()
        }
        #expect(storage.connection.loggedPageCount > 2 * Self.pageCount)
        #expect(try snapshot.row(Garage.carRef("car 1")) == nil)
        snapshot.close()
        for number in 100..<200 {
            try record(number, in: storage)
            checkpointer.finish()
        }
        #expect(storage.connection.loggedPageCount < 2 * Self.pageCount)
    }

    /// Where nothing works beside, commits bound the log themselves.
    @Test func aLogThatNobodyMovesIsMovedByCommits() throws {
        let folder = try TemporaryFolder()
        let storage = try server(folder)
        defer { storage.close() }
        storage.checkpointer?.close()
        var longest = 0
        for number in 0..<400 {
            try record(number, in: storage)
            longest = max(longest, storage.connection.loggedPageCount)
        }
        #expect(longest >= 10 * Self.pageCount && longest < 11 * Self.pageCount, "\(longest)")
    }

    @Test func aClientsLogStaysShortToo() throws {
        let folder = try TemporaryFolder()
        let storage = try SQLiteClientStorage.open(.file(folder.file("db")))
        storage.loggedPageCount = Self.pageCount
        try storage.write { _ = try storage.merge(try Garage.schema(), sides: ("the store", "the test")) }
        var longest = 0
        for number in 0..<200 {
            try storage.write { try storage.insert(Garage.car("car \(number)"), ofClass: Garage.car) }
            longest = max(longest, storage.connection.loggedPageCount)
            storage.checkpointer?.finish()
        }
        #expect(longest < 2 * Self.pageCount, "\(longest)")
        storage.close()
        let again = try SQLiteClientStorage.open(.file(folder.file("db")))
        defer { again.close() }
        #expect(try again.count(ofClass: Garage.car) == 200)
    }

    /// A file that was replaced is not touched, and none is made where it has gone.
    @Test(arguments: [true, false]) func anotherFileAtThePathIsLeftAlone(isReplaced: Bool) throws {
        let folder = try TemporaryFolder()
        let storage = try server(folder)
        defer { storage.close() }
        let checkpointer = try #require(storage.checkpointer)
        #expect(rename(folder.file("db"), folder.file("elsewhere")) == 0)
        if isReplaced { try folder.write([1, 2, 3], to: "db") }
        checkpointer.note(Self.pageCount, every: Self.pageCount)
        checkpointer.finish()
        #expect(try isReplaced ? file(folder) == [1, 2, 3] : !folder.names.contains("db"))
    }
}
