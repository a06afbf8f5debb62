import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// The archive of a database's journal: every state that it has had can be made again, and nothing is made up.
@Suite(.ownThread) struct ArchiveTests {
    private let bench: ArchiveBench

    init() throws { bench = try ArchiveBench() }

    @Test func `every position, version and time is made again, from a backup and from the beginning`() throws {
        let storage = try bench.open()
        defer { storage.close() }
        let oracle = ArchiveBench.Oracle()
        let database = ArchivedDatabase(bench.archive)
        // Small segments, so that paths lead through several.
        database.segmentByteCountMax = 2_000
        try bench.write(10, to: storage, oracle)
        #expect(try bench.follow(database).beganLine == true)
        let backup = try bench.backup("backup")
        for seed in 0..<4 as Range<UInt64> {
            try bench.write(5, to: storage, oracle, seed: seed)
            #expect(try bench.follow(database).groupCount == 5)
        }
        #expect(try bench.follow(database).groupCount == 0)
        #expect(try bench.segments().count > 2)
        let last = try #require(storage.acceptedAt)
        for start in [nil, backup] {
            let all = try #require(try bench.restore(.end, from: start))
            #expect(try all.digest { false } == storage.digest { false })
            all.close()
            let first = start.map { Int64($0.state.head.position) } ?? 2
            for position in stride(from: first, through: Int64(storage.head.position), by: 3) {
                // The schema has position 1, and each group after it a second of its own.
                let time = (position - 1) * 1_000_000
                let restored = try #require(
                    try bench.restore(.time(Timestamp(microseconds: time + 500_000)), from: start, until: .max))
                #expect(restored.head.position == UInt64(position))
                #expect(try restored.digest { false } == oracle.digests[UInt64(position)])
                restored.close()
            }
            for version in stride(from: start?.state.version ?? 1, through: storage.version, by: 4) {
                let restored = try #require(try bench.restore(.version(version), from: start))
                #expect(restored.version == version)
                let prices = try restored.rows(ofClass: 0).values.map { $0.values[1] }
                #expect(Set(prices) == Set((0..<Int64(version)).map { .int($0) }), "version \(version)")
                restored.close()
            }
        }
        #expect(try bench.restore(.time(Timestamp(microseconds: -1))) == nil)
        let late = #expect(throws: StorageError.self) {
            try bench.restore(.time(Timestamp(microseconds: last.microseconds + 1)), until: last.microseconds)
        }
        #expect(late?.message.contains("complete up to") == true)
        let beyond = #expect(throws: StorageError.self) { try bench.restore(.version(storage.version + 1)) }
        #expect(beyond?.message.contains("ends with version \(storage.version)") == true)
        #expect(throws: StorageError.self) {
            try bench.restore(.version(storage.version), from: backup).map { _ in throw beyond! }
        }
    }

    @Test func `a later backup than what is wanted is refused where the archive does not reach back`() throws {
        let storage = try bench.open()
        defer { storage.close() }
        let oracle = ArchiveBench.Oracle()
        try bench.write(6, to: storage, oracle)
        try storage.trimLog(keepingVersions: 2, keepingBytes: .max, acceptedSince: nil, entriesMax: 1_000)
        let database = ArchivedDatabase(bench.archive)
        #expect(try bench.follow(database).beganLine == false)
        let backup = try bench.backup("backup")
        try bench.write(3, to: storage, oracle)
        _ = try bench.follow(database)
        let restored = try #require(try bench.restore(.end, from: backup))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
        let early = #expect(throws: StorageError.self) { try bench.restore(.version(1), from: backup) }
        #expect(early?.message.contains("use a backup that was made") == true, "\(early as Any)")
        let none = #expect(throws: StorageError.self) { try bench.restore(.end) }
        #expect(none?.code == .logTrimmed)
    }

    @Test func `a database that was put back goes on in a line of its own, and both can be restored`() throws {
        let oracle = ArchiveBench.Oracle()
        var storage = try bench.open()
        try bench.write(5, to: storage, oracle)
        _ = try bench.follow(ArchivedDatabase(bench.archive))
        let early = try bench.backup("early")
        try bench.write(5, to: storage, oracle, seed: 2)
        _ = try bench.follow(ArchivedDatabase(bench.archive))
        let old = (head: storage.head, digest: try storage.digest { false }, time: storage.acceptedAt!)
        storage.close()
        ReplicaFile.remove(bench.path)
        try ReplicaFile.receive(bench.path) { _ = try ReplicaFile.copy(early.file, to: $0) }
        storage = try bench.open()
        try storage.write { try storage.beginEpoch(77) }
        let group = JournalGroup(
            baseVersion: storage.version, acceptedAt: Timestamp(microseconds: old.time.microseconds + 5_000_000),
            steps: [.mark(3)])
        _ = try storage.write { try storage.apply(JournalRecord(group, after: storage.head)) }
        try bench.write(3, to: storage, oracle, seed: 3)
        let database = ArchivedDatabase(bench.archive)
        let progress = try database.follow(
            bench.path, completeUntil: old.time, now: Timestamp(microseconds: old.time.microseconds + 4_000_000))
        #expect(progress.beganLine == true && progress.groupCount == 5)
        let restored = try #require(try bench.restore(.end, from: early))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
        let former = try #require(try bench.restore(.time(old.time), from: early, until: .max))
        #expect(former.head == old.head)
        #expect(try former.digest { false } == old.digest)
        former.close()
        storage.close()
        // Between the last group that the old line surely had and the new one nobody knows what was.
        let between = #expect(throws: StorageError.self) {
            try bench.restore(.time(Timestamp(microseconds: old.time.microseconds + 1)), from: early, until: .max)
        }
        #expect(between?.message.contains("gap") == true)
    }

    @Test func `what was changed without the archive and is gone from the log is a gap that nobody crosses`() throws {
        let storage = try bench.open()
        defer { storage.close() }
        let oracle = ArchiveBench.Oracle()
        try bench.write(4, to: storage, oracle)
        _ = try bench.follow(ArchivedDatabase(bench.archive))
        let early = try bench.backup("early")
        let known = try #require(storage.acceptedAt)
        try bench.write(6, to: storage, oracle, seed: 2)
        try storage.trimLog(keepingVersions: 1, keepingBytes: .max, acceptedSince: nil, entriesMax: 1_000)
        #expect(try bench.follow(ArchivedDatabase(bench.archive), until: known.microseconds).beganLine == false)
        let late = try bench.backup("late")
        try bench.write(2, to: storage, oracle, seed: 3)
        _ = try bench.follow(ArchivedDatabase(bench.archive))
        let gap = #expect(throws: StorageError.self) { try bench.restore(.end, from: early) }
        #expect(gap?.code == .logTrimmed && gap?.message.contains("gap") == true)
        let within = #expect(throws: StorageError.self) {
            try bench.restore(.time(Timestamp(microseconds: known.microseconds + 1_500_000)), from: early, until: .max)
        }
        #expect(within?.message.contains("gap") == true, "\(within as Any)")
        let before = try #require(try bench.restore(.time(known), from: early, until: .max))
        #expect(before.head == early.state.head)
        before.close()
        let restored = try #require(try bench.restore(.end, from: late))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
    }

    @Test func `what no backup needs is removed, and nothing else`() throws {
        let storage = try bench.open()
        defer { storage.close() }
        let oracle = ArchiveBench.Oracle()
        let database = ArchivedDatabase(bench.archive)
        database.segmentByteCountMax = 1_000
        for seed in 0..<5 as Range<UInt64> {
            try bench.write(5, to: storage, oracle, seed: seed)
            _ = try bench.follow(database)
        }
        let backup = try bench.backup("backup")
        for seed in 5..<10 as Range<UInt64> {
            try bench.write(5, to: storage, oracle, seed: seed)
            _ = try bench.follow(database)
        }
        let count = try bench.segments().count
        let removed = try database.prune(before: backup.state)
        #expect(removed > 0)
        #expect(try bench.segments().count == count - removed)
        #expect(try database.prune(before: backup.state) == 0)
        let restored = try #require(try bench.restore(.end, from: backup))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
        #expect(throws: StorageError.self) { try bench.restore(.end) }
        var unknown = backup.state
        unknown.head.chain[0] ^= 1
        #expect(try database.prune(before: unknown) == 0)
    }

    @Test func groupsWithoutTransactionsAreOfTheTimeOfTheLookBefore() throws {
        let storage = try bench.open()
        let archived = ArchivedDatabase(bench.archive)
        let oracle = ArchiveBench.Oracle()
        try bench.write(3, to: storage, oracle)
        _ = try bench.follow(archived, until: 4_000_000)
        // The journal has no time for it; the archive has looked at 10 s last.
        _ = try storage.transaction { try storage.setRules(Array("{}".utf8), from: nil) }
        let ruled = storage.head
        _ = try archived.follow(
            bench.path, completeUntil: Timestamp(microseconds: 9_000_000),
            lookedAt: Timestamp(microseconds: 10_000_000), now: Timestamp(microseconds: 11_000_000))
        for (time, position) in [(9_000_000, ruled.position - 1), (10_000_000, ruled.position)] as [(Int64, UInt64)] {
            let restored = try #require(try bench.restore(.time(Timestamp(microseconds: time)), until: 11_000_000))
            #expect(restored.head.position == position)
            #expect(try restored.rulesVersion == (position == ruled.position ? 1 : 0))
            restored.close()
        }
        storage.close()
    }

    @Test func anArchiveOfAnotherDatabaseAndACutWithinTheBackupAreRefused() throws {
        let storage = try bench.open()
        let archived = ArchivedDatabase(bench.archive)
        let oracle = ArchiveBench.Oracle()
        try bench.write(20, to: storage, oracle)
        _ = try bench.follow(archived)
        var foreign = try bench.backup("b.sluicedb")
        // A version within the last group that the backup has already is reached from before it.
        for version in foreign.state.version - 2..<foreign.state.version {
            #expect(try bench.restore(.version(version), from: foreign)?.version == version)
        }
        foreign.state.id = ObjectID(high: 1, low: 1)
        let error = #expect(throws: StorageError.self) { try bench.restore(.end, from: foreign) }
        #expect(error?.message.contains("is another database than the backup's") == true)
        storage.close()
    }
}
