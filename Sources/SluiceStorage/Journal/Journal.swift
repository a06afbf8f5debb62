package import SluiceModel

/// The ordered history of a database, which engines append to and follow.
///
/// It needs no leader: each append names the head after which the group belongs, and of two groups after the same head
/// exactly one is taken.
package protocol Journal {
    /// The id of the database, from which the head before its first group follows: ``JournalHead/init(of:)``.
    var databaseID: ObjectID { get throws }

    /// How long an append is tried again while nobody knows its outcome.
    var patience: AppendPatience { get }

    /// Appends a group after the head that it was made for.
    ///
    /// - Throws: only errors after which the group is surely not in the journal: ``JournalHistoryChanged`` if the next
    ///   group has to have an epoch, and this one has none; ``StorageError/Code/busy`` if the journal cannot be reached.
    func append(_ record: JournalRecord, after head: JournalHead) throws -> JournalOutcome

    /// The records after a position, ascending and without a gap; none if it is the last.
    ///
    /// - Parameter countMax: the most records wanted.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the journal does not reach back to the position,
    ///   ``StorageError/Code/busy`` if it cannot be reached.
    func records(after position: UInt64, countMax: Int) throws -> [JournalRecord]

    /// Waits until no other engine has the turn, and takes it: until this engine has appended a group, or calls
    /// ``endTurn()``, the appends of others wait. An engine that was overtaken takes a turn before it merges again, so
    /// that it is not overtaken for ever.
    ///
    /// - Throws: ``StorageError/Code/busy`` if another engine keeps the turn for longer than the journal allows.
    func takeTurn() throws

    /// Gives the turn back without an append. Nothing happens if the engine does not have it.
    func endTurn()
}

extension Journal {
    // One engine alone is never overtaken.
    package func takeTurn() {}
    package func endTurn() {}
}

/// Holds the journals of a server's databases, by their names. Without one, the journal of each database is in its file.
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

    /// Begins to watch the journals. The server calls it once, before it asks for a journal.
    ///
    /// - Parameter hear: called by any thread with the name of a database whose journal may have records of others; it
    ///   returns at once. The service calls it again later if the first call was not heeded.
    func watch(_ hear: @escaping @Sendable (_ database: String) -> Void)

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

/// How long to try again, and how long to wait between two tries: first a millisecond, then twice as long each time.
package struct AppendPatience: Sendable {
    /// For how long an append begins again, in microseconds.
    package var time: Int64
    /// The longest wait between two tries, in microseconds.
    package var waitMax: Int64
    private let now: @Sendable () -> Timestamp
    private let wait: @Sendable (_ microseconds: Int64) -> Void

    /// - Parameters:
    ///   - now: the clock; only differences count.
    ///   - wait: blocks the calling thread for a number of microseconds.
    package init(
        time: Int64 = 5_000_000, waitMax: Int64 = 250_000, now: @escaping @Sendable () -> Timestamp,
        wait: @escaping @Sendable (_ microseconds: Int64) -> Void
    ) {
        self.time = time
        self.waitMax = waitMax
        self.now = now
        self.wait = wait
    }

    /// Runs `body` until it answers something.
    ///
    /// - Returns: its answer; nil if the time is over.
    func callAsFunction<Answer>(_ body: () throws -> Answer?) rethrows -> Answer? {
        let end = now().microseconds + time
        var pause: Int64 = 1_000
        while true {
            if let answer = try body() { return answer }
            let left = end - now().microseconds
            guard left > 0 else { return nil }
            wait(min(pause, waitMax, left))
            pause *= 2
        }
    }
}

extension Journal {
    /// Appends a group, again and again while nobody knows whether it is there, for as long as ``patience`` allows.
    ///
    /// - Throws: ``JournalConflict`` if the group is not in the journal, since another engine was first;
    ///   ``StorageError/Code/outcomeUnknown`` if it may be there.
    package func appendSurely(_ record: JournalRecord, after head: JournalHead) throws {
        let outcome = try patience {
            let outcome = try append(record, after: head)
            return outcome == .unknown ? nil : outcome
        }
        switch outcome {
        case .appended?: return
        case .conflict?: throw JournalConflict()
        case .unknown?, nil:
            throw StorageError(
                .outcomeUnknown, "the journal does not answer; it is not known whether it has a group")
        }
    }
}

extension Journal {
    /// Whether the journal has the group that a database has applied last. One that is trimmed counts as there: the
    /// chain of the next group shows whether it was.
    package func continues(_ head: JournalHead) throws -> Bool {
        guard head.position > 0 else { return true }
        do {
            return try records(after: head.position - 1, countMax: 1).first?.head == head
        } catch let error as StorageError where error.code == .logTrimmed { return true }
    }
}

/// Another engine has appended to the journal. What it did has to be applied, and one's own made anew after it.
package struct JournalConflict: Error {
    package init() {}
}

/// The journal may lack groups that it had taken, so what comes after the present head is another epoch: a group with
/// ``JournalStep/epoch(_:)`` has to be appended first. The group that was to be appended is not in the journal.
package struct JournalHistoryChanged: Error {
    package init() {}
}

/// What came of an append.
package enum JournalOutcome: Hashable, Sendable {
    /// The group is in the journal.
    case appended
    /// The journal has another head, so the group is not in it.
    case conflict
    /// Nobody knows whether the group is in the journal. Appending the same bytes again finds out.
    case unknown
}
