internal import FoundationEssentials
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// The databases of a server, by name: a file each in one folder, or all in memory. Opened when first asked for.
final class DatabaseDirectory: Sendable {
    private let folder: String?
    private let workerID: String?
    private let limits: DatabaseEngine.Limits
    private let now: @Sendable () -> Timestamp
    private let random: @Sendable () -> UInt64
    private let log: LogSink?
    private let workers = Mutex<[String: DatabaseWorker]>([:])

    /// - Parameter folder: made if it is missing; nil keeps every database in memory.
    init(
        folder: String?, workerID: String?, limits: DatabaseEngine.Limits, now: @escaping @Sendable () -> Timestamp,
        random: @escaping @Sendable () -> UInt64, log: LogSink?
    ) throws {
        self.folder = folder
        self.workerID = workerID
        self.limits = limits
        self.now = now
        self.random = random
        self.log = log
        guard let folder else { return }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw ServerError(.dataFolder, "the data folder '\(folder)' cannot be made: \(error)", cause: error)
        }
    }

    /// The database of a name, if it is open.
    func opened(_ name: String) -> DatabaseWorker? { workers.withLock { $0[name] } }

    /// The database of a name, opened if need be. Its file comes into being with the first thing to be kept.
    func worker(
        _ name: String, carryOut: @escaping @Sendable ([DatabaseAction]) -> Void
    ) throws -> DatabaseWorker {
        try workers.withLock { workers in
            if let worker = workers[name] { return worker }
            let engine = try engine(name)
            let worker = DatabaseWorker(engine, now: now, carryOut: carryOut)
            workers[name] = worker
            return worker
        }
    }

    private func engine(_ name: String) throws -> DatabaseEngine {
        let path = folder.map { "\($0)/\(name).sluicedb" }
        let isFile = path.map { FileManager.default.fileExists(atPath: $0) } ?? false
        let databaseID = ObjectID(high: random(), low: random())
        let storage =
            if isFile, let path {
                try SQLiteServerStorage.open(.file(path), databaseID: databaseID)
            } else {
                try SQLiteServerStorage.open(.memory, databaseID: databaseID)
            }
        let engine = DatabaseEngine(
            name: name, storage: storage, workerID: workerID, limits: limits, log: log, random: random)
        if let path, !isFile {
            engine.materialize = {
                try storage.copy(toFile: path)
                return try SQLiteServerStorage.open(.file(path), databaseID: databaseID)
            }
        }
        return engine
    }

    /// Closes every database, after what has been asked of it is done.
    func stop() {
        for worker in workers.withLock({ Array($0.values) }) { worker.stop() }
    }
}
