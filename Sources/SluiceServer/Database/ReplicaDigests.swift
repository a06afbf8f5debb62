internal import SluiceStorage

/// Has the digest of a replica's state computed at the positions at which the servers of a cluster compare theirs.
///
/// It lives as long as the engine, and belongs to the same thread.
final class ReplicaDigests {
    private let database: Database
    /// Called with a position at which servers compare their replicas, and with the state there.
    var onComparison: (_ position: UInt64, PendingDigest) -> Void = { _, _ in }

    init(_ database: Database) { self.database = database }

    /// Makes the servers of the cluster compute the digests of their replicas at one position.
    ///
    /// - Returns: the position.
    func compareAll() throws -> UInt64 {
        try database.transaction { try database.storage.beginComparison() }
        compute()
        return database.storage.head.position
    }

    /// Has the digest of the present state computed.
    func compute() {
        let position = database.storage.head.position
        do {
            guard let snapshot = try database.storage.snapshot() else {
                let digest = try database.storage.digest { false }
                return onComparison(position, .known(digest))
            }
            onComparison(position, .of(snapshot))
        } catch { database.noteFailure("the digest of a replica could not be computed", error) }
    }
}
