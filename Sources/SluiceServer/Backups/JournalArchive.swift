internal import Dispatch
internal import Glibc
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Copies the journals of a server's databases into an archive, beside their queues: each second what was stored since. It
/// reads the databases' logs, so commits do not wait for it, and what it misses while its disk is full it finds there later.
final class JournalArchive: Sendable {
    /// A database with a file.
    struct Target: Sendable {
        let name: String
        /// The last group that is stored; nil if it is not known, since the database is not open.
        let position: UInt64?
    }

    /// How far the archive is.
    struct Counts: Sendable, Hashable {
        var groupCount: UInt64 = 0
        var failedCount: UInt64 = 0
        /// The last group of each database that the archive has.
        var positions: [String: UInt64] = [:]
        /// When the archive last had everything, or was opened; nil before that.
        var completeAt: Timestamp?
    }

    /// Belongs to the queue.
    private struct Work {
        var databases: [String: ArchivedDatabase] = [:]
        /// The databases that have to be looked at, whether or not they are open.
        var pending: Set<String>
        /// When the last look began that found everything archived.
        var lastComplete: Timestamp?
        var completeUntil: Timestamp
        var isFailing = false
    }

    private static let interval = Duration.seconds(1)

    private let folder: OwnedFolder
    private let dataFolder: String
    private let now: @Sendable () -> Timestamp
    private let schedule: Schedule
    private let log: LogSink?
    private let targets: @Sendable () -> [Target]
    /// Called on the queue when a database needs a new backup, since an earlier one does not lead to its archive.
    private let needsBackup: @Sendable (String) -> Void
    private let queue = DispatchQueue(label: "sluice.archive", qos: .utility)
    private let work: Mutex<Work>
    private let known = Mutex(Counts())
    private let isStopped = Atomic(false)

    /// - Parameter targets: the databases that are open, and have files.
    init(
        _ path: String, of dataFolder: String, now: @escaping @Sendable () -> Timestamp,
        schedule: @escaping Schedule, log: LogSink?, targets: @escaping @Sendable () -> [Target],
        needsBackup: @escaping @Sendable (String) -> Void
    ) throws(ServerError) {
        folder = try OwnedFolder(path, for: "archive", of: dataFolder)
        self.dataFolder = dataFolder
        self.now = now
        self.schedule = schedule
        self.log = log
        self.targets = targets
        self.needsBackup = needsBackup
        let names = DataFolder.databaseNames(dataFolder).filter(BackupMember.isDatabaseName)
        let until = ArchiveFolder(path: path).completeUntil ?? Timestamp(microseconds: .min)
        work = Mutex(Work(pending: Set(names), completeUntil: until))
    }

    var counts: Counts { known.withLock { $0 } }

    /// Begins to copy.
    func begin() {
        let start = now()
        known.withLock { $0.completeAt = start }
        queue.async { [weak self] in self?.copyAll() }
        wait()
    }

    private func wait() {
        schedule(Self.interval) { [weak self] in
            self?.queue.async { [weak self] in
                guard let self, !isStopped.load(ordering: .relaxed) else { return }
                copyAll()
                wait()
            }
        }
    }

    /// Begins nothing any more, and waits until what has begun is done.
    func stop() async {
        isStopped.store(true, ordering: .relaxed)
        await flush()
    }

    /// Waits until what has begun is done.
    func flush() async { await withCheckedContinuation { continuation in queue.async { continuation.resume() } } }

    /// Notes that a database was closed, which may have been changed since the last look.
    func noteClosed(_ name: String) { work.withLock { _ = $0.pending.insert(name) } }

    /// Copies what is left, once the databases are closed, and leaves the folder to others.
    ///
    /// - Parameter isKilled: whether to copy nothing, as a process that is killed.
    func finish(isKilled: Bool) {
        queue.sync {
            if !isKilled { copyAll(isLast: true) }
            folder.release()
        }
    }

    /// Removes what the backups that are kept do not need.
    func prune(before manifest: BackupManifest) {
        queue.async { [self] in
            for database in manifest.databases.compactMap(\.database) {
                do {
                    let count = try archived(database.name).prune(before: database)
                    if count > 0 {
                        note(.debug, "old segments of the archive were removed", database.name, [("count", "\(count)")])
                    }
                } catch {
                    note(.warning, "old segments of the archive could not be removed", database.name, error)
                }
            }
        }
    }

    // MARK: Copying

    private func archived(_ name: String) -> ArchivedDatabase {
        work.withLock { work in
            if let known = work.databases[name] { return known }
            let database = ArchivedDatabase(ArchiveFolder(path: folder.path).folder(of: name))
            work.databases[name] = database
            return database
        }
    }

    private func copyAll(isLast: Bool = false) {
        let start = now()
        let open = targets()
        let positions = counts.positions
        let changed = open.filter { $0.position == nil || $0.position != positions[$0.name] }.map(\.name)
        let pending = work.withLock { work in
            defer { work.pending = [] }
            return work.pending
        }
        let names = pending.union(changed)
        var failure: (name: String, error: any Error)?
        var left: Set<String> = []
        for name in names.sorted() {
            do { try copy(name) } catch {
                failure = failure ?? (name, error)
                left.insert(name)
            }
        }
        if let failure { noteFailure(failure.error, of: failure.name) } else { noteSuccess() }
        work.withLock { $0.pending.formUnion(left) }
        guard left.isEmpty else { return }
        known.withLock { $0.completeAt = start }
        let until = work.withLock { work in
            // What was accepted in a turn that had not ended when the look began was found by this one at the latest.
            let until = isLast ? start : work.lastComplete
            work.lastComplete = start
            work.completeUntil = max(work.completeUntil, until ?? work.completeUntil)
            return until
        }
        if let until { ArchiveFolder(path: folder.path).note(completeUntil: until) }
    }

    private func copy(_ name: String) throws {
        let path = "\(dataFolder)/\(DatabaseFileName.of(name))"
        // A database that was removed has no more groups.
        guard access(path, F_OK) == 0 else { return }
        guard folder.isInPlace else {
            throw ServerError(.backups, "the folder '\(folder.path)' was removed or replaced while the server runs")
        }
        let database = archived(name)
        let (until, lookedAt) = work.withLock { ($0.completeUntil, $0.lastComplete) }
        let progress = try database.follow(path, completeUntil: until, lookedAt: lookedAt, now: now())
        known.withLock { known in
            known.groupCount += UInt64(progress.groupCount)
            known.positions[name] = database.last?.head.position
        }
        switch progress.flaw {
        case .torn?: note(.warning, "the end of the archive was torn, and was cut", name)
        case .damaged?: note(.error, "the archive is damaged, and goes on in another segment", name)
        case .whole?, nil: break
        }
        guard let isConnected = progress.beganLine else { return }
        let position = database.last.map { "\($0.head.position)" } ?? "0"
        note(.info, "the archive of a database begins", name, [("position", position)])
        if !isConnected { needsBackup(name) }
    }

    // MARK: Logging

    private func noteFailure(_ error: any Error, of name: String) {
        known.withLock { $0.failedCount += 1 }
        let isFirst = work.withLock { work in
            defer { work.isFailing = true }
            return !work.isFailing
        }
        // It is tried again each second.
        note(isFirst ? .error : .debug, "the archive lacks what was stored", name, error)
    }

    private func noteSuccess() {
        let wasFailing = work.withLock { work in
            defer { work.isFailing = false }
            return work.isFailing
        }
        if wasFailing { log?(.info, "the archive has everything again", []) }
    }

    private func note(_ level: LogLevel, _ message: String, _ name: String, _ details: [(String, String)] = []) {
        log?(level, message, [("database", name)] + details)
    }

    private func note(_ level: LogLevel, _ message: String, _ name: String, _ error: any Error) {
        note(level, message, name, [("error", "\(error)")])
    }
}
