internal import Dispatch
internal import SluiceStorage

/// Proves a snapshot: what was stored is read back, follows the journal as a new server would, and then has to be what
/// the servers that live have at the same position.
struct SnapshotProof {
    /// How often it is looked whether the others have compared.
    private static let pause = DispatchTimeInterval.milliseconds(50)

    private let journals: any JournalService
    private let policy: ReplicaPolicy

    init(_ journals: any JournalService, policy: ReplicaPolicy) {
        self.journals = journals
        self.policy = policy
    }

    /// Does it. O(n).
    ///
    /// - Parameter isCancelled: asked now and then whether the proof is no longer wanted.
    /// - Returns: the servers whose replicas are otherwise; none if the snapshot is proved.
    /// - Throws: ``StorageError/Code/cancelled``; ``StorageError/Code/busy`` if servers that live did not compare in time.
    func prove(
        _ snapshot: Snapshot, of target: ReplicaUpkeep.Target, isCancelled: () -> Bool
    ) throws -> Set<String> {
        let path = target.path + "-proof"
        ReplicaFile.remove(path)
        defer { ReplicaFile.remove(path) }
        try ReplicaFile.receive(path) { try journals.snapshots.load(snapshot, into: $0) }
        let journal = try journals.journal(ofDatabase: target.name, isMade: false)
        let position = try target.compare()
        let replica = try SQLiteServerStorage.open(
            .file(path), databaseID: journal.databaseID, durability: .process)
        defer { replica.close() }
        try ReplicaFile.follow(journal, replica, to: position, isCancelled: isCancelled)
        let digest = try replica.digest(isCancelled: isCancelled)
        return Set(try others(at: position, of: target, isCancelled).filter { $0.digest != digest }.map(\.node))
    }

    /// What the servers that live have at a position.
    private func others(
        at position: UInt64, of target: ReplicaUpkeep.Target, _ isCancelled: () -> Bool
    ) throws -> [ReplicaDigest] {
        let end = ContinuousClock.now + policy.comparisonTimeout
        let pause = DispatchSemaphore(value: 0)
        while true {
            try check(isCancelled)
            let digests = try journals.snapshots.digests(at: position, ofDatabase: target.name)
            let missing = try journals.snapshots.nodes(ofDatabase: target.name).subtracting(digests.map(\.node))
            if missing.isEmpty { return digests }
            guard .now < end else {
                throw StorageError(
                    .busy, "these nodes did not compare their replicas: \(missing.sorted().joined(separator: ", "))")
            }
            _ = pause.wait(timeout: .now() + Self.pause)
        }
    }

    private func check(_ isCancelled: () -> Bool) throws {
        guard !isCancelled() else { throw StorageError(.cancelled, "the proof of a snapshot is not wanted any more") }
    }
}
