internal import Dispatch
internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import Synchronization

/// The databases of a server, by name. A database is opened when a session first asks for it, and closed when it has
/// been unused for a while.
final class DatabaseDirectory: Sendable {
    /// How long a busy database is waited for by who asks about all.
    private static let patience = Duration.seconds(1)
    /// How often unused databases are looked for.
    private static let sweepInterval = DispatchTimeInterval.seconds(15)
    /// How often databases to which nobody writes check that their files are still there.
    private static let fileCheckInterval = DispatchTimeInterval.seconds(2)
    /// After so many further names, those that have no database are looked for at once.
    private static let nameCountMax = 256

    private let opener: DatabaseOpener
    private let clock: ServerClock
    private let workersByName = Mutex<[String: DatabaseWorker]>([:])
    /// How long a database stays open without sessions, in microseconds.
    private let idleTime: Int64
    /// What the databases have done that nobody has used for a while.
    private let past = Mutex(DatabaseSample())
    private let sweeping = DispatchQueue(label: "sluice.databases")
    private let isStopped = Atomic<Bool>(false)
    let clusterCounts = ClusterCounts()
    /// Called on a database's queue with what it wants done.
    private let carryOut: @Sendable ([DatabaseAction], DatabaseMoment) -> Void
    /// Takes what databases have for the audit log.
    private let audit: @Sendable (_ database: String, [AuditNote]) -> Void
    /// The data folder, locked until the databases are closed; nil for a server in memory.
    private let folder: Mutex<DataFolder?>
    /// Told the names of databases that are closed, since nobody uses them.
    private let closing = Mutex<@Sendable (String) -> Void>({ _ in })
    /// What is done for replicas now and then; nil for databases that are none.
    private let upkeep = Mutex<ReplicaUpkeep?>(nil)

    /// - Parameters:
    ///   - idleTime: how long a database stays open without sessions, in microseconds.
    ///   - carryOut: called on a database's queue with what it wants done.
    /// - Throws: ``ServerError`` when the opener's folder cannot be created or used.
    init(
        _ opener: DatabaseOpener, idleTime: Int64, clock: ServerClock, replicas: ReplicaPolicy,
        audit: @escaping @Sendable (_ database: String, [AuditNote]) -> Void = { _, _ in },
        carryOut: @escaping @Sendable ([DatabaseAction], DatabaseMoment) -> Void
    ) throws {
        self.clock = clock
        self.carryOut = carryOut
        self.audit = audit
        self.idleTime = idleTime
        self.opener = opener
        let folder = try opener.folder.map { try DataFolder($0) }
        if let path = opener.folder {
            opener.journals?.remember(in: path)
            try ReplicaFolder.claim(path, for: try Self.cluster(of: opener.journals, in: path, log: opener.log))
        }
        self.folder = Mutex(folder)
        do { try opener.journals?.join() } catch {
            throw ServerError(.database, (error as? StorageError)?.message ?? "\(error)", cause: error)
        }
        opener.journals?.messages.receive { [weak self] in
            let count = UInt64($0.count)
            self?.clusterCounts.count { $0.receivedMessageCount += count }
            self?.known($1)?.deliver($0)
        }
        beginUpkeep(policy: replicas)
        guard let obstacle = folder?.obstacle else { return }
        opener.log?(.warning, "databases are served for reading only", [("reason", obstacle)])
    }

    /// Begins to heed the journals, if the databases are replicas.
    private func beginUpkeep(policy: ReplicaPolicy) {
        guard let journals = opener.journals else { return }
        if let path = opener.folder {
            let upkeep = ReplicaUpkeep(
                journals, policy: policy, counts: clusterCounts, log: opener.log, schedule: clock.schedule
            ) { [weak self] in
                self?.replicas(in: path) ?? []
            }
            upkeep.begin()
            self.upkeep.withLock { $0 = upkeep }
        }
        journals.watch { [weak self] news in
            guard let self else { return }
            switch news {
            case .grew(let database): known(database)?.journalGrew()
            case .upkeepRequested(let database): upkeep.withLock { $0 }?.heed(database)
            }
        }
    }

    /// The replicas that are open.
    private func replicas(in path: String) -> [ReplicaUpkeep.Target] {
        workers.filter(\.isOpen).map { worker in
            ReplicaUpkeep.Target(name: worker.name, path: "\(path)/\(DatabaseFileName.of(worker.name))") {
                try worker.performAndWait { engine, _ in try engine.replica.compareAll() }
            }
        }
    }

    /// The cluster whose journals a server uses; nil if each database has its own. Where these do not answer, a node
    /// serves what it has as replicas of the cluster that its folder names.
    private static func cluster(
        of journals: (any JournalService)?, in path: String, log: LogSink?
    ) throws(ServerError) -> String? {
        do { return try journals?.clusterID } catch {
            if let journals, (error as? StorageError)?.isSilence == true, let mark = try ReplicaFolder.marked(path) {
                journals.expect(clusterID: mark.cluster)
                log?(
                    .warning, "the server starts without its journals, which do not answer",
                    [("reason", "\((error as? StorageError)?.message ?? "")")])
                return mark.cluster
            }
            throw ServerError(.database, (error as? StorageError)?.message ?? "\(error)", cause: error)
        }
    }

    /// Whether the data folder is still the one that was locked; so are databases in memory.
    var isFolderInPlace: Bool {
        folder.withLock { folder in
            guard let folder else { return true }
            return (try? folder.check()) != nil
        }
    }

    /// Whether nothing is known to keep from writing in the data folder.
    var isFolderWritable: Bool { folder.withLock { $0?.isWritable ?? true } }

    /// The database with a name, if a session has asked for it; else nil.
    func known(_ name: String) -> DatabaseWorker? { workersByName.withLock { $0[name] } }

    /// The database with a name. This returns at once: the database is opened on its own queue, with its first session.
    func worker(_ name: String) -> DatabaseWorker {
        let (worker, count) = workersByName.withLock { workers -> (DatabaseWorker, Int?) in
            if let worker = workers[name], !worker.isRetired { return (worker, nil) }
            let folder = folder.withLock { $0 }
            let worker = DatabaseWorker(
                name, clock: clock, log: opener.log, metrics: opener.metrics, mayMake: opener.mayMake,
                makeEngine: { [opener, weak folder] mayMake in
                    try opener.open(name, mayMake: mayMake) { [weak folder] in try folder?.check() }
                },
                makeRoom: { [weak self] in self?.closeIdle(besides: name, then: $0) },
                relay: { [messages = opener.journals?.messages, clusterCounts] in
                    let count = UInt64($0.count)
                    clusterCounts.count { $0.sentMessageCount += count }
                    messages?.send($0, inDatabase: name)
                },
                audit: { [audit] in audit(name, $0) },
                carryOut: carryOut)
            workers[name] = worker
            return (worker, workers.count)
        }
        if let count, count % Self.nameCountMax == 0 { closeUnmade() }
        return worker
    }

    /// The database with a name, which stays for work of this process.
    func keptWorker(_ name: String) -> DatabaseWorker {
        while true {
            let worker = worker(name)
            if worker.keep() { return worker }
        }
    }

    /// Closes what nobody uses and has no database, since somebody has asked for many names.
    private func closeUnmade() {
        close(workers, unusedSince: Timestamp(microseconds: .max)) {}
    }

    /// Begins to close unused databases periodically, and to wake the others.
    func startSweeping() {
        sweeping.asyncAfter(deadline: .now() + Self.sweepInterval) { [weak self] in
            guard let self, !isStopped.load(ordering: .relaxed) else { return }
            sweep()
            startSweeping()
        }
    }

    /// Begins to make every open database check periodically that its file is still where it was opened.
    func startWatchingFiles() {
        guard opener.folder != nil else { return }
        sweeping.asyncAfter(deadline: .now() + Self.fileCheckInterval) { [weak self] in
            guard let self, !isStopped.load(ordering: .relaxed) else { return }
            for worker in workers { worker.checkFile() }
            startWatchingFiles()
        }
    }

    /// Closes the databases that have been unused for the idle time.
    ///
    /// - Parameter completion: called on any thread when the databases are closed.
    func sweep(then completion: @escaping @Sendable () -> Void = {}) {
        for worker in workers { worker.wake() }
        let time = Timestamp(microseconds: clock.now().microseconds - idleTime)
        close(workers, unusedSince: time, then: completion)
    }

    /// Closes all databases without sessions except one, because file descriptors have run out.
    private func closeIdle(besides name: String, then completion: @escaping @Sendable () -> Void) {
        guard opener.folder != nil else { return completion() }
        close(
            workersByName.withLock { $0.values.filter { $0.name != name } }, unusedSince: Timestamp(microseconds: .max),
            then: completion)
    }

    private func close(
        _ workers: [DatabaseWorker], unusedSince time: Timestamp, then completion: @escaping @Sendable () -> Void
    ) {
        let group = DispatchGroup()
        for worker in workers {
            group.enter()
            worker.closeIfIdle(unusedSince: time, hasFiles: opener.folder != nil) { [weak self] past in
                if let past { self?.forget(worker, past) }
                group.leave()
            }
        }
        group.notify(queue: .global(), execute: completion)
    }

    /// Ends the sessions of a database, and closes it.
    ///
    /// - Parameters:
    ///   - asker: who wants it, as the audit log names somebody; nil if that is not known.
    ///   - isForced: whether it is closed also if somebody uses it.
    ///   - completion: called on any thread, with whether it is closed.
    func shut(
        _ worker: DatabaseWorker, because reason: SessionEnd, by asker: String?, isForced: Bool = true,
        then completion: @escaping @Sendable (Bool) -> Void
    ) {
        worker.shut(because: reason, by: asker, isForced: isForced) { [weak self] isShut, past in
            if let past { self?.forget(worker, past) }
            completion(isShut)
        }
    }

    private func forget(_ worker: DatabaseWorker, _ past: DatabaseSample) {
        workersByName.withLock { workers in
            self.past.withLock { $0 += past }
            if workers[worker.name] === worker { workers[worker.name] = nil }
        }
        closing.withLock { $0 }(worker.name)
    }

    /// Has a closure called, on any thread, with the name of each database that is closed because nobody uses it.
    func onClose(_ body: @escaping @Sendable (String) -> Void) { closing.withLock { $0 = body } }

    /// The databases that sessions or this process have asked for.
    var workers: [DatabaseWorker] { workersByName.withLock { Array($0.values) } }

    /// What all databases are and have done. One that is too busy to say counts as it last was.
    func sample() async -> DatabaseSample {
        // One that closes meanwhile is in one of both.
        let (asked, past) = workersByName.withLock { workers in
            (Array(workers.values), self.past.withLock { $0 })
        }
        let found = await ask(asked) { worker, answer in worker.sample { answer($0) } }
        return asked.reduce(into: past) { $0 += found.answers[$1.name] ?? $1.latestSample }
    }

    /// Asks all databases that are open, between their turns.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (DatabaseEngine) throws -> Answer
    ) async -> DatabaseAnswers<Answer> {
        await ask(workers) { worker, answer in worker.ask(question, then: answer) }
    }

    private func ask<Answer: Sendable>(
        _ workers: [DatabaseWorker], _ ask: (DatabaseWorker, @escaping @Sendable (Answer?) -> Void) -> Void
    ) async -> DatabaseAnswers<Answer> {
        await withCheckedContinuation { continuation in
            let survey = DatabaseSurvey(of: workers) { continuation.resume(returning: $0) }
            survey.begin(ask)
            clock.schedule(Self.patience) { survey.end() }
        }
    }

    /// Has all databases take over rules and quotas: those that are open soon, the others when they are opened.
    ///
    /// - Parameter rules: nil if they have not changed.
    func change(_ rules: RulesFile?, _ quotas: Quotas) {
        opener.terms.change(rules, quotas)
        let (limits, isFile) = (opener.terms.values.limits, opener.folder != nil)
        for worker in workers {
            worker.performLater { [clock] in $0.takeOver(rules, limits, isFile: isFile, now: clock.now()) }
        }
    }

    /// The costliest queries of each open database, by name. Of one that is too busy to say only that is said.
    func top() async -> JSONText {
        let found = await ask { try $0.topReport() }
        let silent = found.silent.map { name in
            (name, JSONText.object([("database", .string(name)), ("answers", .bool(false))]))
        }
        let reports = found.answers.map { ($0, JSONText.raw(String(decoding: $1, as: UTF8.self))) } + silent
        return .array(reports.sorted { $0.0 < $1.0 }.map(\.1))
    }

    /// The state of each database that sessions or this process have asked for, by name. It waits for nothing.
    var states: JSONText {
        .array(
            workers.sorted { $0.name < $1.name }.map { worker in
                .object([("name", .string(worker.name)), ("state", .string(worker.health.state.word))])
            })
    }

    /// The last group of each database that is open, as it was after its last turn.
    var openPositions: [(name: String, position: UInt64)] {
        workers.compactMap { worker in
            guard case .open(let health) = worker.health.state else { return nil }
            return (worker.name, health.position)
        }
    }

    /// The number of names that sessions or this process have asked for, without those that were forgotten.
    var nameCount: Int { workersByName.withLock { $0.count } }

    /// Whether no database has anything to do, once each has finished what it had.
    func isQuiet() async -> Bool {
        for worker in workers {
            let isQuiet = await withCheckedContinuation { continuation in
                worker.whenIdle { continuation.resume(returning: $0) }
            }
            if !isQuiet { return false }
        }
        await upkeep.withLock { $0 }?.flush()
        await opener.comparison?.flush()
        return true
    }

    /// The number of open databases, for tests. It waits for the work that their queues have.
    var openCount: Int { workers.count { $0.isOpen } }

    /// Closes every database after the work that it has begun, and releases the folder to other servers.
    ///
    /// - Parameters:
    ///   - isKilled: whether to leave what waits unstored, as a process that is killed.
    ///   - body: called once the databases are closed, while the folder is still this server's.
    func stop(isKilled: Bool, beforeRelease body: () -> Void = {}) {
        isStopped.store(true, ordering: .relaxed)
        upkeep.withLock { $0 }?.stop()
        opener.comparison?.stop()
        for worker in workers { worker.stop(isKilled: isKilled) }
        opener.journals?.stop()
        body()
        folder.withLock { $0 = nil }
    }
}
