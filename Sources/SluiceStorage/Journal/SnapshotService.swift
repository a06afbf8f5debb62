/// A copy of a database at a position of its journal, which a server can begin with instead of the first group.
package struct Snapshot: Hashable, Sendable {
    package var id: Int64
    /// The last group that it has.
    package var head: JournalHead
    /// The size of the file, in bytes.
    package var byteCount: Int
    /// Whether what is stored was read back, and compared with the replicas of the servers that live.
    package var isProved: Bool

    package init(id: Int64, head: JournalHead, byteCount: Int, isProved: Bool) {
        self.id = id
        self.head = head
        self.byteCount = byteCount
        self.isProved = isProved
    }
}

/// What a journal has beyond the last snapshot.
package struct SnapshotBacklog: Hashable, Sendable {
    /// The bytes of the groups after the last snapshot.
    package var byteCount: Int
    /// The groups after the last snapshot.
    package var recordCount: Int
    /// For how long the oldest of them has been there, in seconds; 0 without any.
    package var seconds: Int

    package init(byteCount: Int, recordCount: Int, seconds: Int) {
        self.byteCount = byteCount
        self.recordCount = recordCount
        self.seconds = seconds
    }
}

/// What one server found its replica of a database to be at a position.
package struct ReplicaDigest: Hashable, Sendable {
    package var node: String
    package var position: UInt64
    /// See ``StateDigest``.
    package var digest: [UInt8]

    package init(node: String, position: UInt64, digest: [UInt8]) {
        self.node = node
        self.position = position
        self.digest = digest
    }
}

/// Keeps snapshots of the databases of a cluster, and what its servers find when they compare their replicas. Every call
/// blocks, and any thread may make it.
///
/// Each method throws ``StorageError/Code/busy`` if the service does not answer. Those that take a duty throw ``DutyLost``,
/// and change nothing, if the server does not have it.
package protocol SnapshotService: Sendable {
    /// The snapshots of a database that are whole, the newest first.
    func snapshots(ofDatabase name: String) throws -> [Snapshot]

    /// What the journal has beyond the newest whole snapshot. O(groups) since the last call.
    func backlog(ofDatabase name: String) throws -> SnapshotBacklog

    /// The bytes of the groups after a position. O(groups).
    ///
    /// - Throws: ``StorageError/Code/logTrimmed`` if the journal no longer has the next group.
    func byteCount(after position: UInt64, ofDatabase name: String) throws -> Int

    /// Asks the servers of the cluster for something. One that has the database open does it soon, and again if it has begun
    /// already.
    func request(_ upkeep: Upkeep, ofDatabase name: String) throws

    /// Whether something is asked for, as it was some seconds ago.
    func isRequested(_ upkeep: Upkeep, ofDatabase name: String) throws -> Bool

    /// The last request for something that is not finished; nil if there is none.
    func request(for upkeep: Upkeep, ofDatabase name: String) throws -> UpkeepRequest?

    /// Notes that what was asked for is done, unless it was asked for again. Until then a server that does it may be killed,
    /// and another does it.
    func finish(_ request: UpkeepRequest) throws

    /// Stores a database's file as a snapshot. Nobody sees it before it is whole.
    ///
    /// - Parameters:
    ///   - path: the file, to which nobody writes.
    ///   - head: the last group that it has.
    func store(_ path: String, at head: JournalHead, holding duty: HeldDuty) throws -> Snapshot

    /// Writes a snapshot's file.
    ///
    /// - Parameter path: an empty file.
    /// - Throws: ``StorageError/Code/notFound`` if the snapshot was removed meanwhile.
    func load(_ snapshot: Snapshot, into path: String) throws

    /// Notes that a snapshot was proved.
    func noteProof(of snapshot: Snapshot, holding duty: HeldDuty) throws

    /// Removes the groups of the journal before a position, and the snapshots before it.
    ///
    /// - Returns: the number of groups.
    func trim(before position: UInt64, holding duty: HeldDuty) throws -> Int

    /// The servers that live and have a database open, this one included.
    func nodes(ofDatabase name: String) throws -> Set<String>

    /// Notes the digest of this server's replica at a position.
    func note(_ digest: [UInt8], at position: UInt64, ofDatabase name: String) throws

    /// The last position for which a server has noted a digest; 0 for none.
    func lastComparison(ofDatabase name: String) throws -> UInt64

    /// The digests that servers have noted for a position.
    func digests(at position: UInt64, ofDatabase name: String) throws -> [ReplicaDigest]
}
