package import SluiceModel

/// Holds the journals of a server's databases, by their names, and what else the servers of a cluster share. Without one,
/// the journal of each database is in its file.
package protocol JournalService: Sendable {
    /// The id of the cluster whose databases these are, as 32 hexadecimal digits. Blocks.
    ///
    /// - Throws: as ``journal(ofDatabase:)`` does.
    var clusterID: String { get throws }

    /// Reads in a folder what the server has to know of the service after a restart, and keeps it there from ``join()``
    /// on. Called before anything else, if the server has a data folder.
    func remember(in folder: String)

    /// Says which cluster the service must be that of, where it could not be asked for ``clusterID``: it refuses any other
    /// when it is reached.
    func expect(clusterID: String)

    /// How far the clock of the journals, which counts for all servers, is ahead of this machine's, in microseconds.
    var clockOffset: Int64 { get }

    /// The users of the cluster, whom its servers share.
    var users: any UserStore { get }

    /// Carries ephemeral messages to the cluster's other servers.
    var messages: any MessageRelay { get }

    /// The journal of a database. Blocks; any thread may call it.
    ///
    /// - Parameter isMade: whether it is made if there is none.
    /// - Throws: ``StorageError/Code/notFound`` if there is none, ``StorageError/Code/journal`` if the service refuses the
    ///   server, ``StorageError/Code/busy`` if it does not answer.
    func journal(ofDatabase name: String, isMade: Bool) throws -> any Journal

    /// The databases that the service has, by name.
    var databaseNames: [String] { get throws }

    /// Makes a database of the file that a server had alone. Its groups so far are a snapshot, and the next group has to
    /// begin an epoch. Blocks. O(n).
    ///
    /// - Parameters:
    ///   - name: the database, which the service does not have, or which was sealed and has the same id.
    ///   - path: a copy of the file, to which nobody writes.
    ///   - head: the last group that the file has.
    /// - Throws: ``StorageError/Code/exists`` if the service has the database; as ``journal(ofDatabase:)`` does.
    func adopt(_ name: String, id: ObjectID, at head: JournalHead, file path: String) throws

    /// Ends the journal of a database: nobody appends to it any more, and it can still be read. Does nothing if it was
    /// sealed before for the same place. Blocks.
    ///
    /// - Parameters:
    ///   - place: where the database goes, as people name the machine and the folder.
    ///   - isMovedAgain: whether it may have been sealed for another place, where it is lost.
    /// - Returns: the last group.
    /// - Throws: ``StorageError/Code/notFound`` if the service does not have it, ``StorageError/Code/detached`` if it was
    ///   sealed for another place; as ``journal(ofDatabase:)`` does.
    func seal(_ name: String, for place: String, isMovedAgain: Bool) throws -> JournalHead

    /// The place for which the journal of a database was sealed; nil if it was not, or nobody knows. Blocks.
    func placeOfSealed(_ name: String) throws -> String?

    /// The journal of a database, also of one that was sealed; none is made. Blocks.
    ///
    /// - Throws: as ``seal(_:)``.
    func existingJournal(ofDatabase name: String) throws -> any Journal

    /// Grants the duties that one server of the cluster has at a time.
    var duties: any DutyService { get }

    /// Keeps snapshots of the databases, so that journals need not reach back to their beginnings.
    var snapshots: any SnapshotService { get }

    /// Takes the place of the server among those that share the service. The server calls it once, before it watches.
    /// Blocks, for some seconds where another server had its name a moment ago.
    ///
    /// - Throws: ``StorageError/Code/exists`` if another server has the name and is alive.
    func join() throws

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

extension JournalService {
    /// The journal of a database, which is made if there is none.
    ///
    /// - Throws: as ``journal(ofDatabase:isMade:)``.
    package func journal(ofDatabase name: String) throws -> any Journal {
        try journal(ofDatabase: name, isMade: true)
    }
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

/// One time that something was asked for.
package struct UpkeepRequest: Hashable, Sendable {
    package var upkeep: Upkeep
    package var database: String
    /// Distinguishes it from others for the same.
    package var number: Int64

    package init(upkeep: Upkeep, database: String, number: Int64) {
        self.upkeep = upkeep
        self.database = database
        self.number = number
    }
}
