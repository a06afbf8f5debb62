internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage

/// Opens databases by name: each from its own file in one folder, or all of them in memory.
struct DatabaseOpener: Sendable {
    /// The folder of the files; nil keeps every database in memory.
    let folder: String?
    let workerID: String?
    let limits: DatabaseLimits
    let random: @Sendable () -> UInt64
    let log: LogSink?
    /// The rules that every database gets, unless others were stored in it after them; nil leaves each what it has.
    var rules: RulesFile?
    /// The validators and resolvers.
    var policies: WritePolicies?
    var metrics: (any ServerMetrics)?

    /// Opens a database; this blocks. The file of a new database is created only when there is something to keep.
    ///
    /// - Parameter checkFolder: called before a file is opened or created; throws if the folder is no longer the
    ///   server's.
    func open(_ name: String, checkFolder: @escaping @Sendable () throws -> Void) throws -> DatabaseEngine {
        try checkFolder()
        let path = folder.map { "\($0)/\(DatabaseFile.name(of: name))" }
        let isFile = path.map { SQLiteServerStorage.isTaken($0) } ?? false
        let databaseID = ObjectID(high: random(), low: random())
        let storage =
            if isFile, let path {
                try SQLiteServerStorage.open(
                    .file(path), databaseID: databaseID, byteCountMax: limits.fileByteCountMax)
            } else {
                try SQLiteServerStorage.open(.memory, databaseID: databaseID)
            }
        if let notice = storage.openingNotice {
            log?(.warning, "a database is not as it was left", [("database", name), ("notice", notice)])
        }
        let engine = DatabaseEngine(
            name: name, storage: storage, workerID: workerID, limits: limits, log: log,
            rules: rules.map { AccessRules($0) }, policies: policies, random: random)
        if isFile { log?(.info, "a database was opened", [("database", name), ("version", "\(storage.version)")]) }
        if let obstacle = storage.obstacle {
            log?(.warning, "a database is opened for reading only", [("database", name), ("reason", obstacle.message)])
        } else if isFile {
            try engine.beginEpoch()
        }
        try engine.begin(
            with: rules, isWritable: isFile && storage.obstacle == nil && storage.damage == nil)
        if let path, !isFile {
            engine.materialize = { [log] in
                try checkFolder()
                let file = try storage.copy(toFile: path) {
                    try SQLiteServerStorage.open(
                        .file(path), databaseID: databaseID, byteCountMax: limits.fileByteCountMax)
                }
                log?(.info, "a database was made", [("database", name), ("file", DatabaseFile.name(of: name))])
                return file
            }
        } else if !isFile {
            log?(.info, "a database was made", [("database", name), ("file", "none, it is in memory")])
        }
        return engine
    }
}
