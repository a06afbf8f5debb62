/// Holds the journals of a server's databases, by their names, and what else the servers of a cluster share. Without one,
/// the journal of each database is in its file.
package protocol JournalService: Sendable {
    /// The id of the cluster whose databases these are, as 32 hexadecimal digits. Blocks.
    ///
    /// - Throws: as ``journal(ofDatabase:)`` does.
    var clusterID: String { get throws }

    /// How far the clock of the journals, which counts for all servers, is ahead of this machine's, in microseconds.
    var clockOffset: Int64 { get }

    /// The journal of a database, which is made if there is none. Blocks; any thread may call it.
    ///
    /// - Throws: ``StorageError/Code/journal`` if the service refuses the server, ``StorageError/Code/busy`` if it does
    ///   not answer.
    func journal(ofDatabase name: String) throws -> any Journal

    /// Grants the duties that one server of the cluster has at a time.
    var duties: any DutyService { get }

    /// Keeps snapshots of the databases, so that journals need not reach back to their beginnings.
    var snapshots: any SnapshotService { get }

    /// Begins to watch the journals. The server calls it once, before it asks for a journal.
    ///
    /// - Parameter hear: called by any thread with news; it returns at once. The service calls it again later if the
    ///   first call was not heeded.
    func watch(_ hear: @escaping @Sendable (JournalNews) -> Void)

    /// For how long the service has got no answer; zero while it does. Any thread may ask; it returns at once.
    var silence: Duration { get }

    /// The last position of each open journal that the service has heard of, by database. Any thread may ask; it returns
    /// at once.
    var heardPositions: [String: UInt64] { get }

    /// Tells the other servers that this one is about to stop, and names one of them. Blocks, for seconds where the service
    /// does not answer.
    ///
    /// - Returns: where clients reach another server that goes on; nil if none has said so.
    func leave() -> String?

    /// Ends the watch and the connections. Appends fail from now on. A second call does nothing.
    func stop()
}

/// What a service tells a server.
package enum JournalNews: Hashable, Sendable {
    /// The journal of a database may have records of others.
    case grew(database: String)
    /// Somebody asks for an upkeep of a database, see ``SnapshotService/request(_:ofDatabase:)``.
    case upkeepRequested(database: String)
}

/// What is done for a database now and then, and when an administrator asks for it.
package enum Upkeep: String, Hashable, Sendable, CaseIterable {
    case snapshot
    case comparison
}
