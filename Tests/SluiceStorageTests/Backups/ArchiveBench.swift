import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// A database in a file, and the archive of its journal.
struct ArchiveBench {
    let folder: TemporaryFolder
    let path: String
    var archive: String { folder.file("archive") }

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.sluicedb")
    }

    /// The digest of each position, as the database was.
    final class Oracle {
        var digests: [UInt64: [UInt8]] = [:]
        var versions: [UInt64: [Int64]] = [:]
    }

    func open() throws -> SQLiteServerStorage { try Garage.server(.file(path)) }

    /// Appends groups of one to three transactions, accepted a second apart.
    func write(
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

    func follow(_ database: ArchivedDatabase, until: Int64 = .min) throws -> ArchivedDatabase.Progress {
        try database.follow(
            path, completeUntil: Timestamp(microseconds: until), now: Timestamp(microseconds: .max))
    }

    /// Makes the database again.
    func restore(
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

    func backup(_ name: String) throws -> (file: String, state: BackupMember.DatabaseState) {
        let file = folder.file(name)
        return (file, try DatabaseCopy.make(of: "a", at: path, to: file))
    }

    func segments() throws -> [String] {
        try ArchivedDatabase.numbers(in: archive).map { ArchivedDatabase.path($0, in: archive) }
    }
}
