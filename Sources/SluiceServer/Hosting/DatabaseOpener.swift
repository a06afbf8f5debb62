internal import Dispatch
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
    /// The most databases for which files are made; nil for any number.
    var databaseCountMax: Int?
    /// Where the databases have their journals; nil if each has its own in its file.
    var journals: (any JournalService)?
    /// Where the databases stood in their journals when this process closed them.
    private let closed = ClosedDatabases()
    /// Where databases get their files, one after the other, so that no more are made than there may be.
    private let making = DispatchQueue(label: "sluice.making")

    init(
        folder: String?, workerID: String?, limits: DatabaseLimits, random: @escaping @Sendable () -> UInt64,
        log: LogSink?, rules: RulesFile? = nil, policies: WritePolicies? = nil,
        metrics: (any ServerMetrics)? = nil, databaseCountMax: Int? = nil, journals: (any JournalService)? = nil
    ) {
        self.journals = journals
        self.folder = folder
        self.workerID = workerID
        self.limits = limits
        self.random = random
        self.log = log
        self.rules = rules
        self.policies = policies
        self.metrics = metrics
        self.databaseCountMax = databaseCountMax
    }

    /// Opens a database; this blocks. The file of a new database is made only when there is something to keep. If any step
    /// fails, nothing is left of it, and it can be tried again.
    ///
    /// - Parameter checkFolder: called before a file is opened or created; throws if the folder is no longer the
    ///   server's.
    func open(_ name: String, checkFolder: @escaping @Sendable () throws -> Void) throws -> DatabaseEngine {
        try checkFolder()
        let path = folder.map { "\($0)/\(DatabaseFile.name(of: name))" }
        let isFile = path.map { SQLiteServerStorage.isTaken($0) } ?? false
        let journal = try journals?.journal(ofDatabase: name)
        let databaseID = try journal?.databaseID ?? ObjectID(high: random(), low: random())
        let storage =
            if isFile, let path {
                try SQLiteServerStorage.open(
                    .file(path), databaseID: databaseID, byteCountMax: limits.fileByteCountMax)
            } else {
                try SQLiteServerStorage.open(.memory, databaseID: databaseID)
            }
        guard journal == nil || storage.databaseID == databaseID else {
            storage.close()
            throw StorageError(
                .journal,
                "the file of '\(name)' is not of the database that the journal has; move it away, and the "
                    + "server makes the file anew from the journal")
        }
        if let notice = storage.openingNotice {
            log?(.warning, "a database is not as it was left", [("database", name), ("notice", notice)])
        }
        let engine = DatabaseEngine(
            name: name, storage: storage, journal: journal, workerID: workerID, limits: limits, log: log,
            rules: rules.map { AccessRules($0) }, policies: policies, random: random)
        if isFile { log?(.info, "a database was opened", [("database", name), ("version", "\(storage.version)")]) }
        do {
            if let obstacle = storage.obstacle {
                log?(
                    .warning, "a database is opened for reading only",
                    [("database", name), ("reason", obstacle.message)])
            } else if journal != nil {
                // Its history goes on wherever its replicas are opened.
                try engine.catchUp()
            } else if isFile, closed.head(ofDatabase: name) != storage.head {
                // The server starts, or the file is another one: it may be an earlier state that was put back.
                try engine.beginEpoch()
            }
            if storage.obstacle == nil { engine.onClose = { [closed] in closed.note($0, ofDatabase: name) } }
            try engine.begin(
                with: rules, isWritable: isFile && storage.obstacle == nil && storage.damage == nil)
        } catch {
            storage.close()
            throw error
        }
        if let path, !isFile {
            engine.materialize = { [log] in
                let file = try making.sync {
                    try checkFolder()
                    try checkCount()
                    return try storage.copy(toFile: path) {
                        try SQLiteServerStorage.open(
                            .file(path), databaseID: databaseID, byteCountMax: limits.fileByteCountMax)
                    }
                }
                log?(.info, "a database was made", [("database", name), ("file", DatabaseFile.name(of: name))])
                return file
            }
        } else if !isFile {
            log?(.info, "a database was made", [("database", name), ("file", "none, it is in memory")])
        }
        return engine
    }

    /// - Throws: ``SchemaError`` when there are as many databases as there may be.
    private func checkCount() throws(SchemaError) {
        guard let folder, let databaseCountMax, DataFolder.databaseCount(folder) >= databaseCountMax else { return }
        throw SchemaError(
            .limitExceeded,
            "the server has \(databaseCountMax) databases, its quota, and makes no further one; use one that it has")
    }
}
