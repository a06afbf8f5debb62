internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// What a server does by itself so that its databases can be restored: backups at their times, and an archive of their
/// journals.
final class BackupService: Sendable {
    /// What there is to show of it.
    struct Reading: Sendable {
        var backups = BackupTimer.Counts()
        var archivedGroupCount: UInt64 = 0
        var failedArchivingCount: UInt64 = 0
        /// The most groups that the archive lacks of an open database.
        var archiveLagPositions: UInt64 = 0
        /// For how long the archive has lacked something, in microseconds.
        var archiveLag: Int64 = 0
    }

    private let timer: BackupTimer?
    private let archive: JournalArchive?
    private let targets: @Sendable () -> [JournalArchive.Target]
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - plan: the backups that the server makes; nil for none.
    ///   - archivePath: the folder of the archive; nil for none.
    ///   - dataFolder: the folder of the databases; nil for databases in memory.
    ///   - isAlone: whether each database has its journal in its file.
    ///   - isDataInPlace: whether the folder of the databases is the one that the server has locked.
    ///   - targets: the databases that are open, and have files.
    /// - Returns: nil if neither backups nor an archive are wanted.
    /// - Throws: ``ServerError`` if the configuration is invalid, or a folder cannot be used.
    init?(
        _ plan: ScheduledBackups?, archive archivePath: String?, of dataFolder: String?, isAlone: Bool,
        isDataInPlace: @escaping @Sendable () -> Bool, now: @escaping @Sendable () -> Timestamp,
        schedule: @escaping Schedule, log: LogSink?, targets: @escaping @Sendable () -> [JournalArchive.Target]
    ) throws(ServerError) {
        guard plan != nil || archivePath != nil else { return nil }
        let dataFolder = try Self.checkedFolder(plan, dataFolder, isAlone)
        self.targets = targets
        self.now = now
        let link = ArchiveLink()
        if let plan {
            timer = try BackupTimer(
                plan, of: dataFolder, now: now, isDataInPlace: isDataInPlace, schedule: schedule, log: log
            ) { oldest in link.archive?.prune(before: oldest) }
        } else {
            timer = nil
        }
        if let archivePath {
            archive = try JournalArchive(
                archivePath, of: dataFolder, now: now, schedule: schedule, log: log, targets: targets
            ) { [timer] name in
                guard let timer else {
                    log?(.warning, "the archive of a database needs a new backup", [("database", name)])
                    return
                }
                timer.demand()
            }
        } else {
            archive = nil
        }
        link.archive = archive
    }

    /// Checks what can be checked without looking at folders.
    private static func checkedFolder(
        _ plan: ScheduledBackups?, _ dataFolder: String?, _ isAlone: Bool
    ) throws(ServerError) -> String {
        func refusal(_ message: String) -> ServerError { ServerError(.invalidConfiguration, message) }
        guard isAlone else {
            throw refusal(
                "backups and an archive are for one server alone; the data of a cluster is in PostgreSQL, which archives "
                    + "and backs up by itself")
        }
        guard let dataFolder else {
            throw refusal("databases in memory are not backed up; name a folder for the data")
        }
        if let plan {
            guard plan.interval >= .seconds(1) else { throw refusal("the interval of backups is a second or more") }
            guard plan.keptCount >= 1 else { throw refusal("at least one backup is kept") }
        }
        return dataFolder
    }

    func begin() {
        timer?.begin()
        archive?.begin()
    }

    /// Begins nothing any more, and waits until what has begun is done or given up.
    func stop() async {
        await timer?.stop()
        await archive?.stop()
    }

    /// Notes that a database was closed, since nobody uses it.
    func noteClosed(_ name: String) { archive?.noteClosed(name) }

    /// Archives what is left, once the databases are closed, and leaves the folders to others.
    ///
    /// - Parameters:
    ///   - names: the databases that were open.
    ///   - isKilled: whether to archive nothing, as a process that is killed.
    func finish(_ names: [String], isKilled: Bool) {
        for name in names { archive?.noteClosed(name) }
        archive?.finish(isKilled: isKilled)
    }

    var reading: Reading {
        var reading = Reading()
        if let timer { reading.backups = timer.counts }
        guard let archive else { return reading }
        let counts = archive.counts
        reading.archivedGroupCount = counts.groupCount
        reading.failedArchivingCount = counts.failedCount
        for target in targets() {
            guard let position = target.position, position > counts.positions[target.name] ?? 0 else { continue }
            reading.archiveLagPositions = max(
                reading.archiveLagPositions, position - (counts.positions[target.name] ?? 0))
        }
        if let time = counts.completeAt { reading.archiveLag = max(0, now().microseconds - time.microseconds) }
        return reading
    }

    /// Waits until what has begun is done, for tests.
    func flush() async {
        await timer?.flush()
        await archive?.flush()
    }
}

/// Leads from the backups to the archive, which is made after them and has the way back.
private final class ArchiveLink: Sendable {
    private struct Known {
        weak var archive: JournalArchive?
    }

    private let known = Mutex(Known())

    var archive: JournalArchive? {
        get { known.withLock { $0.archive } }
        set { known.withLock { $0.archive = newValue } }
    }
}
