internal import FoundationEssentials
internal import SluiceModel
internal import SluiceStorage

/// Opens databases by name: a file each in one folder, or all in memory.
struct DatabaseOpener: Sendable {
    /// Nil keeps every database in memory.
    let folder: String?
    let workerID: String?
    let limits: DatabaseEngine.Limits
    let random: @Sendable () -> UInt64
    let log: LogSink?

    /// Opens a database, which blocks. Its file comes into being with the first thing to be kept.
    func open(_ name: String) throws -> DatabaseEngine {
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
        if isFile { try engine.beginEpoch() }
        if let path, !isFile {
            engine.materialize = {
                try storage.copy(toFile: path)
                return try SQLiteServerStorage.open(.file(path), databaseID: databaseID)
            }
        }
        return engine
    }
}
