internal import Dispatch
internal import Glibc
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Makes a server's backups when their times come, one after the other, beside the databases' queues.
final class BackupTimer: Sendable {
    /// What has become of the backups so far.
    struct Counts: Sendable, Hashable {
        var madeCount: UInt64 = 0
        var failedCount: UInt64 = 0
        /// When the newest backup was begun; nil if there is none.
        var latest: Timestamp?
    }

    private struct State {
        var counts = Counts()
        /// Ascends with each date for the next backup, so that one that was put off does nothing.
        var dateNumber = 0
        var isStopped = false
    }

    private let plan: ScheduledBackups
    private let folder: OwnedFolder
    private let maker: BackupMaker
    private let dataFolder: String
    private let isDataInPlace: @Sendable () -> Bool
    private let now: @Sendable () -> Timestamp
    private let schedule: Schedule
    private let log: LogSink?
    private let state = Mutex(State())
    /// Dispatch gives its threads processor time behind all others (on Linux nice 10; `utility` has 2).
    private let queue = DispatchQueue(label: "sluice.backups", qos: .background)
    /// Called on the queue once as many backups are there as are kept, with the oldest of them.
    private let didKeep: @Sendable (BackupManifest) -> Void

    /// - Parameter isDataInPlace: whether the data folder is the one that the server has locked.
    init(
        _ plan: ScheduledBackups, of dataFolder: String, now: @escaping @Sendable () -> Timestamp,
        isDataInPlace: @escaping @Sendable () -> Bool, schedule: @escaping Schedule, log: LogSink?,
        didKeep: @escaping @Sendable (BackupManifest) -> Void
    ) throws(ServerError) {
        self.dataFolder = dataFolder
        self.isDataInPlace = isDataInPlace
        self.plan = plan
        self.now = now
        self.schedule = schedule
        self.log = log
        self.didKeep = didKeep
        folder = try OwnedFolder(plan.folder, for: "backups", of: dataFolder)
        maker = try BackupMaker(dataFolder, now: now)
        files.removeParts()
        let latest = files.all().last?.manifest.time
        state.withLock { $0.counts.latest = latest }
    }

    private var files: BackupFiles { BackupFiles(folder: folder.path) }

    var counts: Counts { state.withLock { $0.counts } }

    /// Begins to make backups: the first at once, unless the newest that is there is young enough.
    func begin() {
        let age = counts.latest.map { now().microseconds - $0.microseconds }
        guard let age, age >= 0 else { return wait(.zero) }
        wait(max(.zero, plan.interval - .microseconds(age)))
    }

    /// Makes a backup now, since the archive needs one.
    func demand() { wait(.zero) }

    /// Gives up the backup that is being made, makes none any more, and leaves the folder to others.
    func stop() async {
        state.withLock { $0.isStopped = true }
        await flush()
        folder.release()
    }

    /// Waits until what has begun is done.
    func flush() async { await withCheckedContinuation { continuation in queue.async { continuation.resume() } } }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Has the next backup made after a time, in place of the one that was to come.
    private func wait(_ delay: Duration) {
        let number = state.withLock { state in
            state.dateNumber += 1
            return state.dateNumber
        }
        schedule(delay) { [weak self] in
            self?.queue.async { [weak self] in
                guard let self, state.withLock({ !$0.isStopped && $0.dateNumber == number }) else { return }
                wait(plan.interval)
                makeBackup()
            }
        }
    }

    private func makeBackup() {
        let start = now()
        let name = files.freeName(at: start)
        do {
            guard folder.isInPlace else {
                throw ServerError(.backups, "the folder '\(plan.folder)' was removed or replaced while the server runs")
            }
            try checkData()
            let manifest = try maker.make(files.path(name), isCancelled: { [weak self] in self?.isStopped ?? true })
            // What is in another folder of the name, or in none, must not take the place of older backups.
            do { try checkData() } catch {
                unlink(files.path(name))
                throw error
            }
            state.withLock { state in
                state.counts.madeCount += 1
                state.counts.latest = manifest.time
            }
            let byteCount = BackupMaker.byteCount(of: files.path(name))
            log?(
                .info, "a backup was made",
                [("file", name), ("databases", "\(manifest.databases.count)"), ("bytes", "\(byteCount)")])
            prune()
        } catch let error as StorageError where error.code == .cancelled && isStopped {
            return
        } catch {
            state.withLock { $0.counts.failedCount += 1 }
            log?(.error, "a backup could not be made", [("file", name), ("error", "\(error)")])
        }
    }

    private func checkData() throws(ServerError) {
        guard !isDataInPlace() else { return }
        throw ServerError(
            .backups, "the data folder '\(dataFolder)' was removed or replaced while the server runs; put it back")
    }

    private func prune() {
        let (kept, removedCount) = files.prune(keeping: plan.keptCount) { name, error in
            log?(.warning, "a backup cannot be read, and is not counted", [("file", name), ("error", "\(error)")])
        }
        if removedCount > 0 { log?(.info, "old backups were removed", [("count", "\(removedCount)")]) }
        // Before there are as many as are kept, somebody's older backup may need what the archive has.
        if kept.count == plan.keptCount { didKeep(kept[0].manifest) }
    }
}
