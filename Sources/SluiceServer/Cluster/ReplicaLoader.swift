internal import SluiceStorage

/// Makes replicas of snapshots: where the journal no longer has the next group, or where following it would take long.
struct ReplicaLoader: Sendable {
    private let snapshots: any SnapshotService
    private let policy: ReplicaPolicy
    private let log: LogSink?

    init(_ snapshots: any SnapshotService, policy: ReplicaPolicy, log: LogSink?) {
        self.snapshots = snapshots
        self.policy = policy
        self.log = log
    }

    /// Why a replica that has some groups should begin with a snapshot; nil if it should follow the journal.
    ///
    /// - Parameter position: the last group that the replica has; 0 for none.
    func reason(position: UInt64, ofDatabase name: String) throws -> String? {
        do {
            let count = try snapshots.byteCount(after: position, ofDatabase: name)
            guard count > policy.loadByteCount, try usable(name).contains(where: { $0.head.position > position }) else {
                return nil
            }
            return "it lacks \(count) bytes of the journal, and a snapshot is shorter"
        } catch let error as StorageError where error.code == .logTrimmed {
            return "the journal no longer has what it lacks"
        }
    }

    /// Makes the file of a database of its newest proved snapshot; of an older one if that cannot be used.
    ///
    /// - Parameter path: the file, which is not there.
    /// - Throws: ``StorageError/Code/logTrimmed`` if there is none that can be used.
    func load(_ name: String, into path: String) throws {
        for snapshot in try usable(name) {
            do {
                try ReplicaFile.receive(path) { draft in
                    try snapshots.load(snapshot, into: draft)
                    try ReplicaFile.disown(draft)
                    guard try ReplicaFile.head(of: draft) == snapshot.head else {
                        throw StorageError(.journal, "it does not have the groups that it should have")
                    }
                }
                return
            } catch let error as StorageError where !error.isSilence {
                log?(
                    .error, "a snapshot cannot be used",
                    [("database", name), ("position", "\(snapshot.head.position)"), ("error", "\(error)")])
            }
        }
        throw StorageError(
            .logTrimmed, "the journal of '\(name)' was trimmed, and has no snapshot to begin with; restore its tables")
    }

    private func usable(_ name: String) throws -> [Snapshot] {
        try snapshots.snapshots(ofDatabase: name).filter(\.isProved)
    }
}
