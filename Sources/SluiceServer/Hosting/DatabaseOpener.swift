internal import Dispatch
internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Opens databases by name: each from its own file in one folder, or all of them in memory.
struct DatabaseOpener: Sendable {
    /// The folder of the files; nil keeps every database in memory.
    let folder: String?
    let workerID: String?
    /// The limits and rules of each database.
    let terms: DatabaseTerms
    let random: @Sendable () -> UInt64
    private let now: @Sendable () -> Timestamp
    let log: LogSink?
    /// The validators and resolvers.
    var policies: WritePolicies?
    var metrics: (any ServerMetrics)?
    /// Where the databases have their journals; nil if each has its own in its file.
    var journals: (any JournalService)?
    /// Computes digests of replicas; nil for databases that are none.
    let comparison: ReplicaComparison?
    /// Makes replicas of snapshots; nil for databases that are none.
    private let loader: ReplicaLoader?
    /// Where the databases stood in their journals when this process closed them.
    private let closed = ClosedDatabases()
    /// Where databases get their files, one after the other, so that no more are made than there may be.
    private let making = DispatchQueue(label: "sluice.making")

    init(
        folder: String?, workerID: String?, limits: DatabaseLimits, random: @escaping @Sendable () -> UInt64,
        now: @escaping @Sendable () -> Timestamp, log: LogSink?, rules: RulesFile? = nil,
        policies: WritePolicies? = nil,
        metrics: (any ServerMetrics)? = nil, databaseCountMax: Int? = nil, journals: (any JournalService)? = nil,
        replicas: ReplicaPolicy = ReplicaPolicy()
    ) {
        self.journals = journals
        comparison = journals.map { ReplicaComparison($0.snapshots, log: log) }
        loader = journals.map { ReplicaLoader($0.snapshots, policy: replicas, log: log) }
        self.folder = folder
        self.workerID = workerID
        terms = DatabaseTerms(.init(limits: limits, rules: rules, databaseCountMax: databaseCountMax))
        self.random = random
        self.now = now
        self.log = log
        self.policies = policies
        self.metrics = metrics
    }

    /// Whether a session may make a database in the service of journals. One that may not declare classes, or brings none
    /// and does not say that they come later, has nothing to keep there. A database of this server alone has no file before
    /// it has classes, so anybody may open one.
    func mayMake(_ request: ClientMessage.Open, by user: User) -> Bool {
        guard journals != nil else { return true }
        let isMaking = request.options.contains(.making)
        guard request.options.isDisjoint(with: [.readOnly, .existing]), isMaking || !request.schema.classes.isEmpty
        else {
            return false
        }
        guard let rules = terms.values.rules else { return user.mayExtendSchema || isMaking && user.mayBeginRules }
        // There are no objects yet.
        let access = AccessRules(rules).bind(user, schema: Schema()) { _ in [] }
        return access.has(.schema) || isMaking && access.has(.rules)
    }

    /// Opens a database; this blocks. The file of a new database is made only when there is something to keep. If any step
    /// fails, nothing is left of it, and it can be tried again.
    ///
    /// - Parameters:
    ///   - mayMake: whether it is made in the service of journals, if that has none of the name.
    ///   - checkFolder: called before a file is opened or created; throws if the folder is no longer the server's.
    func open(
        _ name: String, mayMake: Bool = true, checkFolder: @escaping @Sendable () throws -> Void
    ) throws -> DatabaseEngine {
        try checkFolder()
        let terms = terms.values
        let path = folder.map { "\($0)/\(DatabaseFileName.of(name))" }
        let (journal, file) = try openContent(of: name, at: path, mayMake: mayMake)
        let databaseID = try journal?.databaseID ?? file?.databaseID ?? ObjectID(high: random(), low: random())
        let isFile = file != nil
        let storage = try file ?? .open(.memory, databaseID: databaseID)
        if let notice = storage.openingNotice {
            log?(.warning, "a database is not as it was left", [("database", name), ("notice", notice)])
        }
        let engine = DatabaseEngine(
            name: name, storage: storage, journal: journal, workerID: workerID, limits: terms.limits, log: log,
            rules: terms.rules.map { AccessRules($0) }, policies: policies, random: random)
        if let comparison {
            engine.replica.onComparison = { comparison.add($1, at: $0, ofDatabase: name) }
        }
        if isFile { log?(.info, "a database was opened", [("database", name), ("version", "\(storage.version)")]) }
        if let path, !isFile {
            engine.database.materialize = { [log, now, unowned engine] in
                let file = try making.sync {
                    try checkFolder()
                    try checkCount()
                    return try storage.copy(toFile: path) { try open(path, databaseID, journal) }
                }
                log?(.info, "a database was made", [("database", name), ("file", DatabaseFileName.of(name))])
                // The rules have held from the start; the file keeps them from now on.
                if journal == nil, let rules = self.terms.values.rules, try file.rulesVersion == 0 {
                    let origin = engine.rules.origin(.file, at: now())
                    try file.transaction { try file.setRules(rules, heeded: true, from: origin) }
                    engine.audit.note(.rulesDeployed(version: 1, former: 0), user: User.serverID)
                }
                return file
            }
        } else if !isFile {
            log?(.info, "a database was made", [("database", name), ("file", "none, it is in memory")])
        }
        do {
            if let obstacle = storage.obstacle {
                log?(
                    .warning, "a database is opened for reading only",
                    [("database", name), ("reason", obstacle.message)])
            } else if journal != nil {
                // Its history goes on wherever its replicas are opened.
                do { try engine.catchUp() } catch {
                    // What is there is served; a replica that has nothing yet would look like an empty database.
                    guard isFile, engine.database.noteJournal(error) else { throw error }
                }
            } else if isFile, closed.head(ofDatabase: name) != storage.head {
                // The server starts, or the file is another one: it may be an earlier state that was put back.
                try engine.beginEpoch()
            }
            if storage.obstacle == nil { engine.onClose = { [closed] in closed.note($0, ofDatabase: name) } }
            try engine.begin(
                with: terms.rules,
                isWritable: engine.database.materialize == nil && path != nil && engine.database.isWritable, now: now())
        } catch {
            engine.abandon()
            throw error
        }
        return engine
    }

    /// Finds the journal of a database, and opens its file.
    ///
    /// - Returns: neither for a new database of its own; no file where there is none yet.
    private func openContent(
        of name: String, at path: String?, mayMake: Bool
    ) throws -> (journal: (any Journal)?, file: SQLiteServerStorage?) {
        guard let journals else {
            let id = ObjectID(high: random(), low: random())
            return (nil, try path.flatMap { try openFile($0, of: name, id, nil) })
        }
        do {
            let journal = try self.journal(ofDatabase: name, in: journals, mayMake: mayMake)
            let id = try journal.databaseID
            return (journal, try path.flatMap { try openFile($0, of: name, id, journal) })
        } catch let error as StorageError where error.isSilence {
            guard let path, SQLiteServerStorage.isTaken(path) else { throw error }
            // The file has its own id.
            let id = ObjectID(high: 0, low: 0)
            let file = try SQLiteServerStorage.open(.file(path), databaseID: id, durability: .process)
            guard file.damage == nil, file.head.position > 0 else {
                file.close()
                throw error
            }
            log?(
                .warning, "a database is opened as its replica is, since the journal does not answer",
                [("database", name), ("version", "\(file.version)")])
            return (
                AwaitedJournal(ofDatabase: file.databaseID) {
                    try journals.journal(ofDatabase: name, isMade: false)
                }, file
            )
        }
    }

    /// The journal of a database, which is made if it may be.
    ///
    /// - Throws: ``StorageError/Code/notFound`` if there is none; ``SchemaError`` if there are as many databases as there
    ///   may be.
    private func journal(
        ofDatabase name: String, in journals: any JournalService, mayMake: Bool
    ) throws -> any Journal {
        do { return try journals.journal(ofDatabase: name, isMade: false) } catch let error as StorageError
            where error.code == .notFound && mayMake
        {
            if let countMax = terms.values.databaseCountMax, try journals.databaseNames.count >= countMax {
                throw Self.tooMany(countMax)
            }
            return try journals.journal(ofDatabase: name, isMade: true)
        }
    }

    private func open(_ path: String, _ databaseID: ObjectID, _ journal: (any Journal)?) throws -> SQLiteServerStorage {
        guard journal != nil else {
            return try .open(.file(path), databaseID: databaseID, byteCountMax: terms.values.limits.fileByteCountMax)
        }
        // The journal has it all, so a replica may lose what it had last. It must store what the journal has, whatever a
        // quota says.
        return try .open(.file(path), databaseID: databaseID, durability: .process)
    }

    /// Opens the file of a database. A replica that is not there, or should not go on, is made of a snapshot where the
    /// journal is too long or too short.
    ///
    /// - Returns: nil if there is no file, or none any more.
    private func openFile(
        _ path: String, of name: String, _ databaseID: ObjectID, _ journal: (any Journal)?
    ) throws -> SQLiteServerStorage? {
        try DatabaseRemoval.finish(path)
        let isTaken = SQLiteServerStorage.isTaken(path)
        guard let journal, let loader else { return isTaken ? try open(path, databaseID, nil) : nil }
        if isTaken, let replica = try openReplica(path, of: name, databaseID, journal, loader) { return replica }
        guard try loader.reason(position: 0, ofDatabase: name) != nil else { return nil }
        try loader.load(name, into: path)
        log?(.info, "a database was made of a snapshot", [("database", name)])
        return try open(path, databaseID, journal)
    }

    /// Opens the file of a replica. One that does not fit its journal is set aside, so that it is made anew.
    ///
    /// - Returns: nil if it was set aside.
    private func openReplica(
        _ path: String, of name: String, _ databaseID: ObjectID, _ journal: any Journal, _ loader: ReplicaLoader
    ) throws -> SQLiteServerStorage? {
        let flaw: String
        do {
            let storage = try open(path, databaseID, journal)
            do {
                let found =
                    try journal.flaw(of: storage)
                    ?? loader.reason(position: storage.head.position, ofDatabase: name)
                guard let found else { return storage }
                flaw = found
                storage.close()
            } catch {
                storage.close()
                throw error
            }
        } catch let error as StorageError where error.isOfReplica { flaw = error.message }
        let aside = try SQLiteServerStorage.setAside(path)
        log?(
            .warning, "a database's file was set aside, and is made anew from the journal",
            [("database", name), ("file", aside), ("reason", flaw)])
        return nil
    }

    /// - Throws: ``SchemaError`` when there are as many databases as there may be.
    private func checkCount() throws(SchemaError) {
        guard let folder, let databaseCountMax = terms.values.databaseCountMax,
            DataFolder.databaseCount(folder) >= databaseCountMax
        else { return }
        throw Self.tooMany(databaseCountMax)
    }

    private static func tooMany(_ countMax: Int) -> SchemaError {
        SchemaError(
            .limitExceeded,
            "the server has \(countMax) databases, its quota, and makes no further one; use one that it has")
    }
}

extension Journal {
    /// Why a file is no replica of the journal; nil if it is one.
    fileprivate func flaw(of storage: SQLiteServerStorage) throws -> String? {
        if let damage = storage.damage { return damage.message }
        guard try storage.databaseID == databaseID else { return "it is a file of another database" }
        return try continues(storage.head) ? nil : "it has another history than the journal"
    }
}

extension StorageError {
    /// Whether a file is damaged, missing, older than it was, or none of a database: a replica is then made anew.
    fileprivate var isOfReplica: Bool { isOfDamage || code == .vanished || code == .foreignFile }
}
