import FoundationEssentials
import SluiceModel
import SluiceServer
import SluiceStorage
import TestSupport

/// A second engine of a simulation's database. It sees nothing but the bytes of the server's journal and, where they no
/// longer reach back, a copy of the database's file, and must come to the same state.
final class SimulatedFollower {
    private let server: () -> SQLiteServerStorage
    /// The follower's file; nil keeps its data in memory.
    private var path: String?
    /// Where copies of the server's database are put; nil before the first.
    private var folder: String?
    private let problems: ProblemLog
    private var storage: SQLiteServerStorage
    private var engine: DatabaseEngine
    private var generator: SeededGenerator
    private var comparedVersion: UInt64 = 0
    private var comparedHead: JournalHead?
    private(set) var counts = FollowerCounts()

    /// - Parameter path: the follower's file; nil keeps its data in memory.
    init(
        of server: @escaping () -> SQLiteServerStorage, path: String?, problems: ProblemLog, seed: UInt64
    ) throws {
        self.server = server
        self.path = path
        self.problems = problems
        generator = SeededGenerator(seed: seed)
        storage = try Self.open(path, databaseID: server().databaseID)
        engine = Self.engine(storage, problems)
    }

    deinit {
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static func open(_ path: String?, databaseID: ObjectID) throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(path.map { .file($0) } ?? .memory, databaseID: databaseID)
    }

    var parts: [AnyObject] { [engine, storage] }

    private static func engine(_ storage: SQLiteServerStorage, _ problems: ProblemLog) -> DatabaseEngine {
        DatabaseEngine(name: "follower", storage: storage, log: problems.sink("follower")) { 0 }
    }

    /// Sometimes follows what the server has done, and compares the two states where nothing is left to follow. It may
    /// be killed on the way.
    func step(now: Timestamp) throws {
        guard generator.chance(60) else { return }
        if generator.chance(5) { try restart() }
        try catchUp(now: now)
    }

    /// Follows everything that the server has done, and compares the two states.
    func catchUp(now: Timestamp) throws {
        while storage.head.position < server().head.position {
            let records: [JournalRecord]
            do {
                records = try server().records(after: storage.head.position, countMax: 1 + generator.below(4))
            } catch let error as StorageError where error.code == .logTrimmed {
                try loadSnapshot()
                continue
            }
            if generator.chance(10) { try offerWrongRecords(records) }
            let before = storage.head
            _ = engine.handle([.follow(records)], now: now)
            guard storage.head == records.last?.head, storage.head != before else {
                throw SimulationFailure("the follower is at \(storage.head.position) after \(records.count) records")
            }
            counts.groups += records.count
        }
        try compare()
    }

    /// Kills the follower. What it has in memory only is lost.
    private func restart() throws {
        counts.restarts += 1
        if let path {
            storage.close()
            storage = try Self.open(path, databaseID: server().databaseID)
        } else if generator.chance(50) {
            storage.close()
            storage = try Self.open(nil, databaseID: server().databaseID)
            comparedVersion = 0
        }
        engine = Self.engine(storage, problems)
    }

    /// Takes a copy of the server's database, which has its position in the journal.
    private func loadSnapshot() throws {
        counts.snapshots += 1
        let folder = folder ?? "/dev/shm/sluice-follower-\(UUID().uuidString)"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = "\(folder)/\(counts.snapshots).sluicedb"
        try server().copy(toFile: path)
        storage.close()
        self.path = path
        storage = try Self.open(path, databaseID: server().databaseID)
        engine = Self.engine(storage, problems)
    }

    /// Records that do not follow change nothing and are refused.
    private func offerWrongRecords(_ records: [JournalRecord]) throws {
        counts.refusals += 1
        guard var first = records.first else { return }
        var wrong: [JournalRecord] = Array(records.dropFirst())
        first.bytes[first.bytes.count - 1] ^= 1
        wrong.append(first)
        if storage.head.position > 0, let last = try? storage.records(after: storage.head.position - 1, countMax: 1) {
            wrong += last
        }
        let head = storage.head
        for record in wrong {
            do {
                _ = try storage.transaction { try storage.apply(record) }
                throw SimulationFailure("the follower took record \(record.head.position) after \(head.position)")
            } catch let error as StorageError where error.code == .journal {}
        }
        guard storage.head == head else { throw SimulationFailure("a refused record moved the follower") }
    }

    private func compare() throws {
        let server = server()
        guard comparedHead != server.head else { return }
        counts.comparisons += 1
        if server.logStart > comparedVersion { comparedVersion = server.logStart }
        let states = try [server, storage].map { try DatabaseState($0, clientsOf: server, logAfter: comparedVersion) }
        if let difference = states[0].difference(from: states[1]) {
            throw SimulationFailure("the follower differs at group \(server.head.position): \(difference)")
        }
        // It reads all rows, and what the comparison above finds it finds, too.
        if counts.comparisons % Self.digestInterval == 1 { try compareDigests(server) }
        comparedHead = server.head
        comparedVersion = server.version
    }

    /// How many comparisons there are for one of digests.
    private static let digestInterval = 8

    /// Compares what nodes of a cluster compare.
    private func compareDigests(_ server: SQLiteServerStorage) throws {
        let digests = try [server, storage].map { try $0.digest { false } }
        guard digests[0] == digests[1] else {
            throw SimulationFailure("the follower's digest differs at group \(server.head.position)")
        }
    }
}

/// How often a follower met what it must cope with, to see that the simulations reach it.
package struct FollowerCounts: Sendable, SummedCounts {
    package var groups = 0
    package var comparisons = 0
    package var restarts = 0
    package var snapshots = 0
    package var refusals = 0

    package init() {}

    package static var all: [WritableKeyPath<FollowerCounts, Int>] {
        [\.groups, \.comparisons, \.restarts, \.snapshots, \.refusals]
    }
}
