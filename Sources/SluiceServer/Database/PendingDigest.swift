internal import SluiceStorage

/// The digest of a database's state at a position, which is computed beside the database's queue.
struct PendingDigest: @unchecked Sendable {
    // Sound because one thread at a time has the snapshot: the queue makes it, and whoever computes closes it.
    private enum Source {
        case known([UInt8])
        case snapshot(ServerSnapshot)
    }

    private let source: Source

    static func known(_ digest: [UInt8]) -> PendingDigest { PendingDigest(source: .known(digest)) }

    static func of(_ snapshot: ServerSnapshot) -> PendingDigest { PendingDigest(source: .snapshot(snapshot)) }

    /// Computes the digest, and closes the snapshot. O(n). It is called once.
    ///
    /// - Parameter isCancelled: asked now and then whether the digest is no longer wanted.
    func compute(isCancelled: () -> Bool) throws -> [UInt8] {
        switch source {
        case .known(let digest): return digest
        case .snapshot(let snapshot):
            defer { snapshot.close() }
            return try snapshot.digest(isCancelled: isCancelled)
        }
    }
}
