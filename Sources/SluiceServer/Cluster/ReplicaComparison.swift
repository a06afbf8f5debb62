internal import Dispatch
internal import SluiceStorage
internal import Synchronization

/// Computes the digests of replicas beside their databases' queues, one after the other, and notes them where the other
/// servers find them.
final class ReplicaComparison: Sendable {
    private let snapshots: any SnapshotService
    private let log: LogSink?
    private let queue = DispatchQueue(label: "sluice.digests", qos: .utility)
    private let isStopped = Atomic(false)

    init(_ snapshots: any SnapshotService, log: LogSink?) {
        self.snapshots = snapshots
        self.log = log
    }

    /// Computes a digest, later. Any thread may call it; it returns at once.
    func add(_ digest: PendingDigest, at position: UInt64, ofDatabase name: String) {
        queue.async { [self] in
            do {
                let bytes = try digest.compute { isStopped.load(ordering: .relaxed) }
                try snapshots.note(bytes, at: position, ofDatabase: name)
            } catch {
                guard (error as? StorageError)?.code != .cancelled else { return }
                log?(
                    .warning, "a replica could not be compared",
                    [("database", name), ("position", "\(position)"), ("error", "\(error)")])
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Waits until what was added is done.
    func flush() async { await withCheckedContinuation { continuation in queue.async { continuation.resume() } } }
}
