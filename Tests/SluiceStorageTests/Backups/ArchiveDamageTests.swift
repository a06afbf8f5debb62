import Glibc
import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// An archive that was cut, changed or filled its disk: what is whole of it can be restored, and nothing else.
@Suite(.ownThread) struct ArchiveDamageTests {
    private let bench: ArchiveBench

    init() throws { bench = try ArchiveBench() }

    @Test func `a torn end is cut at each length, and what the log has is appended again`() throws {
        let storage = try bench.open()
        defer { storage.close() }
        try bench.write(4, to: storage, ArchiveBench.Oracle())
        _ = try bench.follow(ArchivedDatabase(bench.archive))
        let segment = try #require(try bench.segments().first)
        let whole = try Array(StoredFile(segment).read(at: 0, count: StoredFile(segment).byteCount))
        for length in 0..<whole.count {
            #expect(truncate(segment, off_t(length)) == 0)
            // A reader takes what is whole, and says nothing of the rest.
            let readable = try ArchiveSegment.all(in: bench.archive)
            #expect(readable.allSatisfy { $0.ending != .damaged } || length > SegmentHeader.byteCount)
            let database = ArchivedDatabase(bench.archive)
            let progress = try bench.follow(database)
            #expect(progress.flaw == nil || progress.flaw == .torn)
            #expect(database.last?.head == storage.head)
            #expect(try bench.segments().count == 1)
            #expect(
                try StoredFile(segment).read(at: SegmentHeader.byteCount, count: whole.count - SegmentHeader.byteCount)
                    == Array(whole.dropFirst(SegmentHeader.byteCount)))
        }
        // What a power cut may leave.
        let file = try OutputFile(segment, .appending)
        try file.write([UInt8](repeating: 0, count: 5_000))
        #expect(try bench.follow(ArchivedDatabase(bench.archive)).flaw == .torn)
        #expect(try StoredFile(segment).byteCount == whole.count)
    }

    @Test func `a changed byte never leads to another state, and the archive goes on behind it`() throws {
        let storage = try bench.open()
        defer { storage.close() }
        let oracle = ArchiveBench.Oracle()
        try bench.write(5, to: storage, oracle)
        _ = try bench.follow(ArchivedDatabase(bench.archive))
        let digest = try storage.digest { false }
        let segment = try #require(try bench.segments().first)
        let whole = try StoredFile(segment).read(at: 0, count: StoredFile(segment).byteCount)
        for place in stride(from: 0, to: whole.count, by: 7) {
            var changed = whole
            changed[place] ^= 0x10
            for old in try bench.segments() { unlink(old) }
            try bench.folder.write(changed, to: "archive/0000000001.segment")
            do {
                let restored = try #require(try bench.restore(.end))
                // A frame that was changed at the end looks like one that was not written to its end.
                let found = try restored.digest { false }
                #expect(oracle.digests[restored.head.position] == found || restored.head.position < 2, "byte \(place)")
                restored.close()
            } catch let error as StorageError {
                #expect(
                    [.damaged, .journal, .newerFormat, .logTrimmed].contains(error.code), "byte \(place): \(error)")
            }
            // The server goes on with what the log has, unless a later program wrote it.
            guard let progress = try? bench.follow(ArchivedDatabase(bench.archive)) else { continue }
            if progress.flaw == .damaged { #expect(try bench.segments().count == 2) }
            let restored = try #require(try bench.restore(.end))
            #expect(try restored.digest { false } == digest, "byte \(place)")
            restored.close()
        }
    }

    @Test func `a full disk leaves whole groups, and the rest follows once there is room`() throws {
        guard let disk = SmallDisk(byteCount: 1 << 20) else { return }
        let storage = try bench.open()
        defer { storage.close() }
        let oracle = ArchiveBench.Oracle()
        try bench.write(4, to: storage, oracle)
        let database = ArchivedDatabase(disk.path + "/a")
        _ = try bench.follow(database)
        disk.fill()
        try bench.write(200, to: storage, oracle)
        let error = #expect(throws: StorageError.self) { try bench.follow(database) }
        #expect(error?.code == .full)
        var scan = try SegmentScan(
            StoredFile(ArchivedDatabase.path(1, in: disk.path + "/a")), checksBytes: true)
        try scan.finish()
        #expect(scan.ending == .whole)
        disk.clear()
        #expect(try bench.follow(database).groupCount == 200)
        #expect(database.last?.head == storage.head)
    }

    @Test func anArchiveWhoseEndOrMiddleIsMissingIsRefusedThere() throws {
        let storage = try bench.open()
        let archived = ArchivedDatabase(bench.archive)
        archived.segmentByteCountMax = 2_000
        let oracle = ArchiveBench.Oracle()
        for seed in 1...6 {
            try bench.write(5, to: storage, oracle, seed: UInt64(seed))
            _ = try bench.follow(archived, until: .min)
        }
        let numbers = try ArchivedDatabase.numbers(in: bench.archive)
        try #require(numbers.count >= 3)
        let end = try #require(storage.acceptedAt)
        let head = storage.head
        storage.close()
        // The last segment is cut, or missing: what is before it can be restored.
        let last = ArchivedDatabase.path(numbers[numbers.count - 1], in: bench.archive)
        let source = try StoredFile(last)
        let bytes = try source.read(at: 0, count: source.byteCount)
        for count in [0, SegmentHeader.byteCount, bytes.count - 1] {
            if count == 0 { unlink(last) } else { try OutputFile(last, .emptying).write(Array(bytes[..<count])) }
            for target in [ArchiveTarget.end, .time(end)] {
                let error = #expect(throws: StorageError.self) { try bench.restore(target, until: end.microseconds) }
                #expect(error?.message.contains("was cut: it had group") == true, "\(count) \(error?.message ?? "")")
            }
            #expect(try bench.restore(.version(3), until: end.microseconds)?.version == 3)
        }
        try OutputFile(last, .emptying).write(bytes)
        #expect(try bench.restore(.end)?.head == head)
        unlink(ArchivedDatabase.path(numbers[1], in: bench.archive))
        let error = #expect(throws: StorageError.self) { try bench.restore(.version(3), until: end.microseconds) }
        #expect(error?.message.contains("lacks segment \(numbers[1])") == true, "\(error?.message ?? "")")
    }
}
