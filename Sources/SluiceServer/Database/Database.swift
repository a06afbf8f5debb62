internal import SluiceModel
internal import SluiceStorage

/// One open database, as all parts of its engine share it: its storage, its limits, and what is known of damage and of
/// obstacles to writing.
///
/// It lives as long as the engine, and belongs to the same thread.
final class Database {
    let name: String
    private(set) var limits: DatabaseLimits
    private(set) var storage: SQLiteServerStorage
    /// Where groups and steps are appended; nil if nobody else appends to this database.
    let journal: (any Journal)?
    /// Does something that appends to the journal, again after applying what others have appended first.
    var catchingUp: (_ body: () throws -> Void) throws -> Void = { try $0() }
    /// Applies what other engines have appended to the journal.
    var catchUp: () throws -> Void = {}
    /// Creates the file of a database that is still in memory, because it has nothing to keep yet; nil if it has its
    /// file.
    var materialize: (() throws -> SQLiteServerStorage)?
    /// Whether nobody waits any more for the work for a session, or, with nil, for any work. Called while a query runs.
    var isAbandoned: @Sendable (SessionID?) -> Bool = { _ in false }
    /// Called when a file could not be opened because there are no descriptors left. The client will try again what
    /// needed the file.
    var onTooManyFiles: () -> Void = {}
    /// What keeps the database from being written.
    private(set) var obstacle: WriteObstacle
    private var probes = ProbeSchedule()
    private var retries = JournalRetries()
    /// Why the journal is not that of the stored history; nil as far as is known.
    private(set) var otherHistory: StorageError?
    private var hasLoggedDamage = false
    private let log: LogSink?

    init(
        name: String, storage: SQLiteServerStorage, journal: (any Journal)? = nil, limits: DatabaseLimits,
        log: LogSink?
    ) {
        self.name = name
        self.storage = storage
        self.journal = journal
        storage.journal = journal
        self.limits = limits
        self.log = log
        obstacle = storage.obstacle.map { .sinceOpened($0) } ?? .none
    }

    #if SLUICE_CHECK
        var isLogged: Bool { log != nil }
    #endif

    /// Whether nothing is known to prevent writing.
    var isWritable: Bool { storage.damage == nil && obstacle.error == nil }

    /// Whether writing would surely fail, or last for long.
    var mustNotTry: Bool { storage.obstacle != nil || silence != nil }

    /// Creates the database's file, now that there is something to keep.
    func becomeDurable() throws {
        guard let materialize else { return }
        storage = try materialize()
        storage.journal = journal
        self.materialize = nil
    }

    /// Runs `body` in one transaction, which is rolled back if it throws. Where its steps belong after what others have
    /// appended to the journal, that is applied, and `body` runs again.
    @discardableResult
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try appending { try storage.transaction(body) }
    }

    /// Runs transactions of the storage, again where others were first.
    ///
    /// - Throws: what `body` throws; ``StorageError`` while the journal does not answer.
    func appending<Result>(_ body: () throws -> Result) throws -> Result {
        if let silence { throw silence }
        var result: Result?
        do { try catchingUp { result = try body() } } catch {
            noteJournal(error)
            throw error
        }
        guard let result else { throw StorageError(.misuse, "a transaction of \(name) did not run") }
        return result
    }

    /// Applies what others have appended to the journal, before somebody is refused or told that there is nothing to do.
    /// Such an answer makes no group that would be judged at its place, so it must not be of a state that has passed.
    ///
    /// A damaged database can apply nothing, and says so where it is asked to write.
    ///
    /// - Throws: ``StorageError``, also while the journal does not answer: nobody knows then.
    func catchUpToRefuse() throws {
        guard journal != nil, storage.damage == nil else { return }
        do { try catchUp() } catch let error as StorageError {
            _ = noteObstacle(error)
            throw error
        }
    }

    /// Begins a new epoch: what was served of the versions after the present one may not be what comes.
    ///
    /// - Parameter random: makes the number of the epoch.
    func beginEpoch(_ random: () -> UInt64) throws {
        // A damaged database gets no further versions.
        if let damage = storage.damage { return noteFailure("an epoch could not be begun", damage) }
        do { try transaction { try storage.beginEpoch(random()) } } catch let error as StorageError
            where error.isOfDamage
        {
            noteFailure("an epoch could not be begun", error)
        }
    }

    /// Runs the work of a query within a limit.
    ///
    /// - Parameters:
    ///   - session: the session for which the work is done; nil for all of them.
    ///   - stepCountMax: the limit; nil for that of a query.
    /// - Throws: ``StorageError``; if only the query must end, one with ``StorageError/endsQueryAlone``.
    func limitingWork<Result>(
        for session: SessionID?, stepCountMax: Int? = nil, _ body: (WorkLimit) throws -> Result
    ) throws -> Result {
        let isAbandoned = isAbandoned
        // The interval is small enough to count shares of a turn accurately.
        let limit = WorkLimit(
            stepCountMax: stepCountMax ?? limits.queryStepCountMax, interval: limits.shareStepCountMax / 64
        ) { isAbandoned(session) }
        return try storage.withWorkLimit(limit) { try body(limit) }
    }

    /// Closes the database's file. The database cannot be used after that.
    func close() {
        if storage.damage == nil, storage.obstacle == nil {
            do { try storage.checkpoint(truncating: true) } catch {
                noteFailure("the database could not be tidied up", error, at: .warning)
            }
        }
        storage.close()
    }

    // MARK: Logging

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)] = []) {
        log?(level, message, [("database", name)] + details)
    }

    /// Logs a failure and its reason. Damage is logged only once, however often it is met.
    func noteFailure(_ what: String, _ error: any Error, at level: LogLevel = .error) {
        if let error = error as? StorageError, error.isOfDamage {
            if storage.damage == nil, error.isProofOfDamage { storage.note(damage: error) }
            if !hasLoggedDamage {
                hasLoggedDamage = true
                note(
                    .error, "the database is damaged; the server serves what can be read and takes no writes",
                    [("file", DatabaseFileName.of(name)), ("error", "\(error)")])
            }
            note(.debug, what, [("error", "\(error)")])
        } else {
            // A client that has left, or the end of the server, is no failure of a database.
            let isCancelled = (error as? StorageError)?.code == .cancelled
            note(isCancelled ? .debug : level, what, [("error", "\(error)")])
        }
        if (error as? StorageError)?.code == .tooManyFiles { onTooManyFiles() }
    }

    // MARK: Obstacles

    /// Notes that nothing can be written at the moment, if that is what an error says.
    ///
    /// - Returns: whether it does.
    func noteObstacle(_ error: any Error) -> Bool {
        if noteJournal(error) { return true }
        guard let error = error as? StorageError, error.isObstacle else { return false }
        guard case .none = obstacle else { return true }
        obstacle = .whileOpen(error)
        probes.noteFailure()
        note(.error, "a database cannot be written", [("error", "\(error)")])
        return true
    }

    /// Notes that a commit has succeeded.
    ///
    /// - Returns: whether an obstacle is gone, so that the sessions that were held back may come.
    func noteCommit() -> Bool {
        guard case .whileOpen = obstacle, probes.trustsCommits else { return false }
        clearObstacle()
        return true
    }

    private func clearObstacle() {
        probes.noteRecovery()
        obstacle = .none
        note(.info, "a database can be written again")
    }

    /// Tries whether the database can be written again.
    ///
    /// - Returns: whether it can, and could not before. ``WriteObstacle/overcome`` then says whether it must be opened
    ///   anew.
    func probe() -> Bool {
        guard obstacle.error != nil else {
            probes.noteQuiet()
            return false
        }
        guard probes.isDue(), storage.probe() == nil else { return false }
        switch obstacle {
        case .whileOpen:
            clearObstacle()
            return true
        case .sinceOpened:
            obstacle = .overcome
            return true
        case .none, .overcome, .silence: return false
        }
    }

    // MARK: A journal that does not answer

    /// Why nothing is tried at the moment: the journal does not answer; nil if it does.
    var silence: StorageError? { if case .silence(let error) = obstacle { error } else { nil } }

    /// Notes that the journal does not answer, or has another history, if that is what an error says.
    ///
    /// - Returns: whether the journal does not answer.
    @discardableResult
    func noteJournal(_ error: any Error) -> Bool {
        guard journal != nil, let error = error as? StorageError else { return false }
        // What the journal no longer has comes with a snapshot, when the database is opened again.
        if [.journal, .logTrimmed, .detached].contains(error.code) { otherHistory = otherHistory ?? error }
        guard error.isSilence else { return false }
        retries.noteSilence()
        guard silence == nil else { return true }
        obstacle = .silence(StorageError(.busy, "the journal does not answer"))
        note(.error, "the journal of a database does not answer", [("error", "\(error)")])
        return true
    }

    /// Checks that the journal has the group that was applied last.
    ///
    /// - Throws: ``StorageError/Code/journal`` if it has another one there, or none; ``StorageError/Code/detached`` if it
    ///   has ended there.
    func checkHistory() throws {
        guard let journal else { return }
        guard try journal.continues(storage.head) else {
            throw StorageError(
                .journal, "the journal does not have group \(storage.head.position), which the database '\(name)' has")
        }
        guard !journal.isSealed else {
            throw StorageError(.detached, "the database '\(name)' was detached from the cluster")
        }
    }

    // MARK: Quotas

    /// Keeps other quotas from now on.
    func setLimits(_ limits: DatabaseLimits) throws {
        self.limits = limits
        // A replica stores what others have appended, whatever a quota says.
        if journal == nil { try storage.limitFile(to: limits.fileByteCountMax) }
    }

    /// Checks that there is room for further uploads, where the file itself has no limit: what others append is stored in
    /// any case.
    ///
    /// - Throws: ``StorageError/Code/full``.
    func checkQuota() throws {
        guard journal != nil, let byteCountMax = limits.fileByteCountMax, try storage.usedByteCount >= byteCountMax
        else {
            return
        }
        throw StorageError(.full, "the database '\(name)' has reached its quota of \(byteCountMax) bytes")
    }

    /// Has the journal asked at once whether it answers again, since something says so. Nothing happens if it does.
    func hastenRetry() { if silence != nil { retries.hasten() } }

    /// The next question whether the journal answers again; nil if none is due.
    func takeRetry() -> JournalRetry? {
        guard let journal else { return nil }
        return retries.take { JournalRetry(journal, position: storage.head.position, delay: $0) }
    }

    /// Notes what has come of a question.
    ///
    /// - Returns: whether the journal answers again. The database has then to catch up, before ``noteAnswer()``.
    func note(_ retry: JournalRetry) -> Bool {
        guard retries.isOut(retry) else { return false }
        if !retry.isAnswered { retries.noteSilence() }
        return retry.isAnswered
    }

    /// Notes that the database has caught up with its journal.
    ///
    /// - Returns: whether the journal did not answer before, so that the sessions that were held back may come.
    func noteAnswer() -> Bool {
        retries.end()
        guard silence != nil else { return false }
        obstacle = .none
        note(.info, "the journal of a database answers again")
        return true
    }
}
