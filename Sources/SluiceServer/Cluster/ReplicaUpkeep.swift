internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// What a server of a cluster does for the databases that it has open, beside their queues and one after the other: it
/// makes snapshots of them, proves these, trims their journals, and has replicas compared when somebody asks for that.
final class ReplicaUpkeep: Sendable {
    /// A database that is open.
    struct Target: Sendable {
        let name: String
        let path: String
        /// Makes the servers compute the digests of their replicas, see ``ReplicaDigests/compareAll()``.
        let compare: @Sendable () throws -> UInt64
    }

    /// The duty to make a snapshot of a database, and to trim its journal.
    private static let dutyName = "snapshot"

    private let journals: any JournalService
    private let policy: ReplicaPolicy
    private let counts: ClusterCounts
    private let log: LogSink?
    private let schedule: Schedule
    private let targets: @Sendable () -> [Target]
    private let queue = DispatchQueue(label: "sluice.upkeep", qos: .utility)
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - schedule: calls back after a time.
    ///   - targets: the databases that are open, and have files.
    init(
        _ journals: any JournalService, policy: ReplicaPolicy, counts: ClusterCounts, log: LogSink?,
        schedule: @escaping Schedule,
        targets: @escaping @Sendable () -> [Target]
    ) {
        self.journals = journals
        self.policy = policy
        self.counts = counts
        self.log = log
        self.schedule = schedule
        self.targets = targets
    }

    /// Begins to look periodically what is to be done.
    func begin() {
        schedule(policy.interval) { [weak self] in
            self?.queue.async { [weak self] in
                guard let self, !isStopped.load(ordering: .relaxed) else { return }
                for target in targets() { attend(target) }
                begin()
            }
        }
    }

    /// Looks what is to be done for a database, since somebody says that something is.
    func heed(_ database: String) {
        queue.async { [self] in
            for target in targets() where target.name == database { attend(target) }
        }
    }

    /// Ends the work; what is under way fails when it asks the service next.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Waits until what has begun is done.
    func flush() async { await withCheckedContinuation { continuation in queue.async { continuation.resume() } } }

    // MARK: The work

    private func attend(_ target: Target) {
        guard !isStopped.load(ordering: .relaxed) else { return }
        do {
            if try isAsked(for: .comparison, target), let request = try pending(.comparison, target) {
                _ = try target.compare()
                try journals.snapshots.finish(request)
            }
            guard try isAsked(for: .snapshot, target) || isDue(target) else { return }
            try makeSnapshot(of: target)
        } catch is DutyLost {
            note(.info, "a snapshot was given up, since another server has the duty", target)
        } catch {
            // A journal that does not answer is said by those who need it.
            let isSilence = (error as? StorageError)?.isSilence == true
            note(isSilence ? .debug : .error, "the upkeep of a replica failed", target, [("error", "\(error)")])
        }
    }

    private func isAsked(for upkeep: Upkeep, _ target: Target) throws -> Bool {
        try journals.snapshots.isRequested(upkeep, ofDatabase: target.name)
    }

    private func pending(_ upkeep: Upkeep, _ target: Target) throws -> UpkeepRequest? {
        try journals.snapshots.request(for: upkeep, ofDatabase: target.name)
    }

    private func isDue(_ target: Target) throws -> Bool {
        let backlog = try journals.snapshots.backlog(ofDatabase: target.name)
        return backlog.recordCount > 0
            && (backlog.byteCount >= policy.snapshotByteCount || backlog.seconds >= policy.snapshotSeconds)
    }

    private func makeSnapshot(of target: Target) throws {
        guard let held = try journals.duties.take(Duty(Self.dutyName, ofDatabase: target.name)) else { return }
        let renewal = DutyRenewal(held, journals.duties, schedule)
        renewal.begin()
        defer { renewal.end() }
        // Another node may have done it just before.
        let request = try pending(.snapshot, target)
        guard try request != nil || isDue(target) else { return }
        var isProved = false
        defer { if !isProved { counts.count { $0.failedSnapshotCount += 1 } } }
        let copy = target.path + "-snapshot"
        defer { ReplicaFile.remove(copy) }
        let head = try ReplicaFile.copy(target.path, to: copy)
        let snapshot = try journals.snapshots.store(copy, at: head, holding: held)
        ReplicaFile.remove(copy)
        counts.count { $0.madeSnapshotCount += 1 }
        note(
            .info, "a snapshot was made", target,
            [("position", "\(head.position)"), ("bytes", "\(snapshot.byteCount)")])
        let proof = SnapshotProof(journals, policy: policy)
        let differing = try proof.prove(
            snapshot, of: target,
            isCancelled: { [self] in
                isStopped.load(ordering: .relaxed) || !held.isHeld
            })
        if differing.isEmpty {
            try journals.snapshots.noteProof(of: snapshot, holding: held)
            isProved = true
            counts.count { $0.provedSnapshotCount += 1 }
            try trim(target, held)
        } else {
            note(
                .error, "replicas differ, so a snapshot is not used", target,
                [("position", "\(head.position)"), ("nodes", differing.sorted().joined(separator: " "))])
        }
        if let request { try journals.snapshots.finish(request) }
    }

    /// Removes what every server can do without: a new one begins with one of the last two snapshots.
    private func trim(_ target: Target, _ held: HeldDuty) throws {
        let proved = try journals.snapshots.snapshots(ofDatabase: target.name).filter(\.isProved)
        guard proved.count >= 2 else { return }
        let position = proved[1].head.position
        let count = try journals.snapshots.trim(before: position, holding: held)
        if count > 0 {
            note(.info, "a journal was trimmed", target, [("before", "\(position)"), ("groups", "\(count)")])
        }
    }

    private func note(_ level: LogLevel, _ message: String, _ target: Target, _ details: [(String, String)] = []) {
        log?(level, message, [("database", target.name)] + details)
    }
}
