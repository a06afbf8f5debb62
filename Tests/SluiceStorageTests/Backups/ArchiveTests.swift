import Glibc
import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// The archive of a database's journal: every state that it has had can be made again, and nothing is made up.
@Suite(.ownThread) struct ArchiveTests {
    private let folder: TemporaryFolder
    private let path: String
    private var archive: String { folder.file("archive") }

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.sluicedb")
    }

    /// The digest of each position, as the database was.
    private final class Oracle {
        var digests: [UInt64: [UInt8]] = [:]
        var versions: [UInt64: [Int64]] = [:]
    }

    private func open() throws -> SQLiteServerStorage { try Garage.server(.file(path)) }

    /// Appends groups of one to three transactions, accepted a second apart.
    private func write(
        _ count: Int, to storage: SQLiteServerStorage, _ oracle: Oracle, seed: UInt64 = 1
    ) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<count {
            let time = storage.acceptedAt?.microseconds ?? 0
            var steps: [JournalStep] = []
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let number = Int64(storage.version) + Int64(steps.count)
                let change = JournalChange.create(Garage.car("c\(number)", price: number), ofClass: 0)
                steps.append(
                    .transaction(
                        JournalTransaction(
                            clientID: 1, sequence: UInt64(number + 1), userID: nil,
                            timestamp: HybridTimestamp(microseconds: number), changes: [change])))
            }
            let group = JournalGroup(
                baseVersion: storage.version, acceptedAt: Timestamp(microseconds: time + 1_000_000), steps: steps)
            _ = try storage.write { try storage.apply(JournalRecord(group, after: storage.head)) }
            oracle.digests[storage.head.position] = try storage.digest { false }
        }
    }

    private func follow(_ database: ArchivedDatabase, until: Int64 = .min) throws -> ArchivedDatabase.Progress {
        try database.follow(
            path, completeUntil: Timestamp(microseconds: until), now: Timestamp(microseconds: .max))
    }

    /// Makes the database again.
    private func restore(
        _ target: ArchiveTarget, from backup: (file: String, state: BackupMember.DatabaseState)? = nil,
        until: Int64? = nil
    ) throws -> SQLiteServerStorage? {
        let copy = folder.file("restored.sluicedb")
        ReplicaFile.remove(copy)
        let way = try ArchivePath(
            of: "a", in: archive, from: backup?.state, to: target,
            completeUntil: until.map { Timestamp(microseconds: $0) })
        guard let way else { return nil }
        if let backup, way.start == .backup {
            try ReplicaFile.receive(copy) { _ = try ReplicaFile.copy(backup.file, to: $0) }
        }
        let state = try way.apply(to: copy, of: "a")
        let storage = try SQLiteServerStorage.open(.file(copy), databaseID: state.id)
        #expect(storage.head == state.head)
        return storage
    }

    private func backup(_ name: String) throws -> (file: String, state: BackupMember.DatabaseState) {
        let file = folder.file(name)
        return (file, try DatabaseCopy.make(of: "a", at: path, to: file))
    }

    private func segments() throws -> [String] {
        try ArchivedDatabase.numbers(in: archive).map { ArchivedDatabase.path($0, in: archive) }
    }

    // MARK: Restoring

    @Test func `every position, version and time is made again, from a backup and from the beginning`() throws {
        let storage = try open()
        defer { storage.close() }
        let oracle = Oracle()
        let database = ArchivedDatabase(archive)
        // Small segments, so that paths lead through several.
        database.segmentByteCountMax = 2_000
        try write(10, to: storage, oracle)
        #expect(try follow(database).beganLine == true)
        let backup = try backup("backup")
        for seed in 0..<4 as Range<UInt64> {
            try write(5, to: storage, oracle, seed: seed)
            #expect(try follow(database).groupCount == 5)
        }
        #expect(try follow(database).groupCount == 0)
        #expect(try segments().count > 2)
        let last = try #require(storage.acceptedAt)
        for start in [nil, backup] {
            let all = try #require(try restore(.end, from: start))
            #expect(try all.digest { false } == storage.digest { false })
            all.close()
            let first = start.map { Int64($0.state.head.position) } ?? 2
            for position in stride(from: first, through: Int64(storage.head.position), by: 3) {
                // The schema has position 1, and each group after it a second of its own.
                let time = (position - 1) * 1_000_000
                let restored = try #require(
                    try restore(.time(Timestamp(microseconds: time + 500_000)), from: start, until: .max))
                #expect(restored.head.position == UInt64(position))
                #expect(try restored.digest { false } == oracle.digests[UInt64(position)])
                restored.close()
            }
            for version in stride(from: start?.state.version ?? 1, through: storage.version, by: 4) {
                let restored = try #require(try restore(.version(version), from: start))
                #expect(restored.version == version)
                let prices = try restored.rows(ofClass: 0).values.map { $0.values[1] }
                #expect(Set(prices) == Set((0..<Int64(version)).map { .int($0) }), "version \(version)")
                restored.close()
            }
        }
        #expect(try restore(.time(Timestamp(microseconds: -1))) == nil)
        let late = #expect(throws: StorageError.self) {
            try restore(.time(Timestamp(microseconds: last.microseconds + 1)), until: last.microseconds)
        }
        #expect(late?.message.contains("complete up to") == true)
        let beyond = #expect(throws: StorageError.self) { try restore(.version(storage.version + 1)) }
        #expect(beyond?.message.contains("ends with version \(storage.version)") == true)
        #expect(throws: StorageError.self) {
            try restore(.version(storage.version), from: backup).map { _ in throw beyond! }
        }
    }

    @Test func `a later backup than what is wanted is refused where the archive does not reach back`() throws {
        let storage = try open()
        defer { storage.close() }
        let oracle = Oracle()
        try write(6, to: storage, oracle)
        try storage.trimLog(keepingVersions: 2, keepingBytes: .max, acceptedSince: nil, entriesMax: 1_000)
        let database = ArchivedDatabase(archive)
        #expect(try follow(database).beganLine == false)
        let backup = try backup("backup")
        try write(3, to: storage, oracle)
        _ = try follow(database)
        let restored = try #require(try restore(.end, from: backup))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
        let early = #expect(throws: StorageError.self) { try restore(.version(1), from: backup) }
        #expect(early?.message.contains("use a backup that was made") == true, "\(early as Any)")
        let none = #expect(throws: StorageError.self) { try restore(.end) }
        #expect(none?.code == .logTrimmed)
    }

    // MARK: Ends

    @Test func `a torn end is cut at each length, and what the log has is appended again`() throws {
        let storage = try open()
        defer { storage.close() }
        try write(4, to: storage, Oracle())
        _ = try follow(ArchivedDatabase(archive))
        let segment = try #require(try segments().first)
        let whole = try Array(StoredFile(segment).read(at: 0, count: StoredFile(segment).byteCount))
        for length in 0..<whole.count {
            #expect(truncate(segment, off_t(length)) == 0)
            // A reader takes what is whole, and says nothing of the rest.
            let readable = try ArchiveSegment.all(in: archive)
            #expect(readable.allSatisfy { $0.ending != .damaged } || length > SegmentHeader.byteCount)
            let database = ArchivedDatabase(archive)
            let progress = try follow(database)
            #expect(progress.flaw == nil || progress.flaw == .torn)
            #expect(database.last?.head == storage.head)
            #expect(try segments().count == 1)
            #expect(
                try StoredFile(segment).read(at: SegmentHeader.byteCount, count: whole.count - SegmentHeader.byteCount)
                    == Array(whole.dropFirst(SegmentHeader.byteCount)))
        }
        // What a power cut may leave.
        let file = try OutputFile(segment, .appending)
        try file.write([UInt8](repeating: 0, count: 5_000))
        #expect(try follow(ArchivedDatabase(archive)).flaw == .torn)
        #expect(try StoredFile(segment).byteCount == whole.count)
    }

    @Test func `a changed byte never leads to another state, and the archive goes on behind it`() throws {
        let storage = try open()
        defer { storage.close() }
        let oracle = Oracle()
        try write(5, to: storage, oracle)
        _ = try follow(ArchivedDatabase(archive))
        let digest = try storage.digest { false }
        let segment = try #require(try segments().first)
        let whole = try StoredFile(segment).read(at: 0, count: StoredFile(segment).byteCount)
        for place in stride(from: 0, to: whole.count, by: 7) {
            var changed = whole
            changed[place] ^= 0x10
            for old in try segments() { unlink(old) }
            try folder.write(changed, to: "archive/0000000001.segment")
            do {
                let restored = try #require(try restore(.end))
                // A frame that was changed at the end looks like one that was not written to its end.
                let found = try restored.digest { false }
                #expect(oracle.digests[restored.head.position] == found || restored.head.position < 2, "byte \(place)")
                restored.close()
            } catch let error as StorageError {
                #expect(
                    [.damaged, .journal, .newerFormat, .logTrimmed].contains(error.code), "byte \(place): \(error)")
            }
            // The server goes on with what the log has, unless a later program wrote it.
            guard let progress = try? follow(ArchivedDatabase(archive)) else { continue }
            if progress.flaw == .damaged { #expect(try segments().count == 2) }
            let restored = try #require(try restore(.end))
            #expect(try restored.digest { false } == digest, "byte \(place)")
            restored.close()
        }
    }

    // MARK: Gaps and forks

    @Test func `a database that was put back goes on in a line of its own, and both can be restored`() throws {
        let oracle = Oracle()
        var storage = try open()
        try write(5, to: storage, oracle)
        _ = try follow(ArchivedDatabase(archive))
        let early = try backup("early")
        try write(5, to: storage, oracle, seed: 2)
        _ = try follow(ArchivedDatabase(archive))
        let old = (head: storage.head, digest: try storage.digest { false }, time: storage.acceptedAt!)
        storage.close()
        ReplicaFile.remove(path)
        try ReplicaFile.receive(path) { _ = try ReplicaFile.copy(early.file, to: $0) }
        storage = try open()
        try storage.write { try storage.beginEpoch(77) }
        let group = JournalGroup(
            baseVersion: storage.version, acceptedAt: Timestamp(microseconds: old.time.microseconds + 5_000_000),
            steps: [.mark(3)])
        _ = try storage.write { try storage.apply(JournalRecord(group, after: storage.head)) }
        try write(3, to: storage, oracle, seed: 3)
        let database = ArchivedDatabase(archive)
        let progress = try database.follow(
            path, completeUntil: old.time, now: Timestamp(microseconds: old.time.microseconds + 4_000_000))
        #expect(progress.beganLine == true && progress.groupCount == 5)
        let restored = try #require(try restore(.end, from: early))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
        let former = try #require(try restore(.time(old.time), from: early, until: .max))
        #expect(former.head == old.head)
        #expect(try former.digest { false } == old.digest)
        former.close()
        storage.close()
        // Between the last group that the old line surely had and the new one nobody knows what was.
        let between = #expect(throws: StorageError.self) {
            try restore(.time(Timestamp(microseconds: old.time.microseconds + 1)), from: early, until: .max)
        }
        #expect(between?.message.contains("gap") == true)
    }

    @Test func `what was changed without the archive and is gone from the log is a gap that nobody crosses`() throws {
        let storage = try open()
        defer { storage.close() }
        let oracle = Oracle()
        try write(4, to: storage, oracle)
        _ = try follow(ArchivedDatabase(archive))
        let early = try backup("early")
        let known = try #require(storage.acceptedAt)
        try write(6, to: storage, oracle, seed: 2)
        try storage.trimLog(keepingVersions: 1, keepingBytes: .max, acceptedSince: nil, entriesMax: 1_000)
        #expect(try follow(ArchivedDatabase(archive), until: known.microseconds).beganLine == false)
        let late = try backup("late")
        try write(2, to: storage, oracle, seed: 3)
        _ = try follow(ArchivedDatabase(archive))
        let gap = #expect(throws: StorageError.self) { try restore(.end, from: early) }
        #expect(gap?.code == .logTrimmed && gap?.message.contains("gap") == true)
        let within = #expect(throws: StorageError.self) {
            try restore(.time(Timestamp(microseconds: known.microseconds + 1_500_000)), from: early, until: .max)
        }
        #expect(within?.message.contains("gap") == true, "\(within as Any)")
        let before = try #require(try restore(.time(known), from: early, until: .max))
        #expect(before.head == early.state.head)
        before.close()
        let restored = try #require(try restore(.end, from: late))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
    }

    @Test func `what no backup needs is removed, and nothing else`() throws {
        let storage = try open()
        defer { storage.close() }
        let oracle = Oracle()
        let database = ArchivedDatabase(archive)
        database.segmentByteCountMax = 1_000
        for seed in 0..<5 as Range<UInt64> {
            try write(5, to: storage, oracle, seed: seed)
            _ = try follow(database)
        }
        let backup = try backup("backup")
        for seed in 5..<10 as Range<UInt64> {
            try write(5, to: storage, oracle, seed: seed)
            _ = try follow(database)
        }
        let count = try segments().count
        let removed = try database.prune(before: backup.state)
        #expect(removed > 0)
        #expect(try segments().count == count - removed)
        #expect(try database.prune(before: backup.state) == 0)
        let restored = try #require(try restore(.end, from: backup))
        #expect(try restored.digest { false } == storage.digest { false })
        restored.close()
        #expect(throws: StorageError.self) { try restore(.end) }
        var unknown = backup.state
        unknown.head.chain[0] ^= 1
        #expect(try database.prune(before: unknown) == 0)
    }

    // MARK: Disks

    @Test func `a full disk leaves whole groups, and the rest follows once there is room`() throws {
        guard let disk = SmallDisk(byteCount: 1 << 20) else { return }
        let storage = try open()
        defer { storage.close() }
        let oracle = Oracle()
        try write(4, to: storage, oracle)
        let database = ArchivedDatabase(disk.path + "/a")
        _ = try follow(database)
        disk.fill()
        try write(200, to: storage, oracle)
        let error = #expect(throws: StorageError.self) { try follow(database) }
        #expect(error?.code == .full)
        var scan = try SegmentScan(
            StoredFile(ArchivedDatabase.path(1, in: disk.path + "/a")), checksBytes: true)
        try scan.finish()
        #expect(scan.ending == .whole)
        disk.clear()
        #expect(try follow(database).groupCount == 200)
        #expect(database.last?.head == storage.head)
    }

    // MARK: What an archive lacks

    @Test func groupsWithoutTransactionsAreOfTheTimeOfTheLookBefore() throws {
        let storage = try open()
        let archived = ArchivedDatabase(archive)
        let oracle = Oracle()
        try write(3, to: storage, oracle)
        _ = try follow(archived, until: 4_000_000)
        // The journal has no time for it; the archive has looked at 10 s last.
        _ = try storage.transaction { try storage.setRules(Array("{}".utf8), from: nil) }
        let ruled = storage.head
        _ = try archived.follow(
            path, completeUntil: Timestamp(microseconds: 9_000_000), lookedAt: Timestamp(microseconds: 10_000_000),
            now: Timestamp(microseconds: 11_000_000))
        for (time, position) in [(9_000_000, ruled.position - 1), (10_000_000, ruled.position)] as [(Int64, UInt64)] {
            let restored = try #require(try restore(.time(Timestamp(microseconds: time)), until: 11_000_000))
            #expect(restored.head.position == position)
            #expect(try restored.rulesVersion == (position == ruled.position ? 1 : 0))
            restored.close()
        }
        storage.close()
    }

    @Test func anArchiveWhoseEndOrMiddleIsMissingIsRefusedThere() throws {
        let storage = try open()
        let archived = ArchivedDatabase(archive)
        archived.segmentByteCountMax = 2_000
        let oracle = Oracle()
        for seed in 1...6 {
            try write(5, to: storage, oracle, seed: UInt64(seed))
            _ = try follow(archived, until: .min)
        }
        let numbers = try ArchivedDatabase.numbers(in: archive)
        try #require(numbers.count >= 3)
        let end = try #require(storage.acceptedAt)
        let head = storage.head
        storage.close()
        // The last segment is cut, or missing: what is before it can be restored.
        let last = ArchivedDatabase.path(numbers[numbers.count - 1], in: archive)
        let source = try StoredFile(last)
        let bytes = try source.read(at: 0, count: source.byteCount)
        for count in [0, SegmentHeader.byteCount, bytes.count - 1] {
            if count == 0 { unlink(last) } else { try OutputFile(last, .emptying).write(Array(bytes[..<count])) }
            for target in [ArchiveTarget.end, .time(end)] {
                let error = #expect(throws: StorageError.self) { try restore(target, until: end.microseconds) }
                #expect(error?.message.contains("was cut: it had group") == true, "\(count) \(error?.message ?? "")")
            }
            #expect(try restore(.version(3), until: end.microseconds)?.version == 3)
        }
        try OutputFile(last, .emptying).write(bytes)
        #expect(try restore(.end)?.head == head)
        unlink(ArchivedDatabase.path(numbers[1], in: archive))
        let error = #expect(throws: StorageError.self) { try restore(.version(3), until: end.microseconds) }
        #expect(error?.message.contains("lacks segment \(numbers[1])") == true, "\(error?.message ?? "")")
    }

    @Test func anArchiveOfAnotherDatabaseAndACutWithinTheBackupAreRefused() throws {
        let storage = try open()
        let archived = ArchivedDatabase(archive)
        let oracle = Oracle()
        try write(20, to: storage, oracle)
        _ = try follow(archived)
        var foreign = try backup("b.sluicedb")
        // A version within the last group that the backup has already is reached from before it.
        for version in foreign.state.version - 2..<foreign.state.version {
            #expect(try restore(.version(version), from: foreign)?.version == version)
        }
        foreign.state.id = ObjectID(high: 1, low: 1)
        let error = #expect(throws: StorageError.self) { try restore(.end, from: foreign) }
        #expect(error?.message.contains("is another database than the backup's") == true)
        storage.close()
    }
}
