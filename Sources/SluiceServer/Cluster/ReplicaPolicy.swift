/// When the servers of a cluster make snapshots, and when one begins with a snapshot.
package struct ReplicaPolicy: Sendable {
    /// A snapshot is made once the groups after the last one have so many bytes.
    package var snapshotByteCount = 64 << 20
    /// A snapshot is made once a group after the last one is so old, in seconds.
    package var snapshotSeconds = 86_400
    /// A replica that lacks so many bytes of groups is made anew from a snapshot.
    package var loadByteCount = 256 << 20
    /// How often it is looked whether a snapshot is due.
    package var interval = Duration.seconds(10)
    /// How long to wait for other servers to compare their replicas.
    package var comparisonTimeout = Duration.seconds(60)

    package init() {}
}
