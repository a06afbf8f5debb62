internal import Synchronization

/// What a node has done for its cluster beside commits, for its metrics. Any thread may count.
final class ClusterCounts: Sendable {
    struct Reading: Hashable, Sendable {
        /// Snapshots that were stored, and those of them that were proved.
        var madeSnapshotCount: UInt64 = 0
        var provedSnapshotCount: UInt64 = 0
        /// Snapshots that were to be made, and could not be stored or proved.
        var failedSnapshotCount: UInt64 = 0
        /// Ephemeral messages for the listeners at other nodes, and from the clients of other nodes.
        var sentMessageCount: UInt64 = 0
        var receivedMessageCount: UInt64 = 0
    }

    private let counts = Mutex(Reading())

    var reading: Reading { counts.withLock { $0 } }

    func count(_ body: (inout Reading) -> Void) { counts.withLock { body(&$0) } }
}
