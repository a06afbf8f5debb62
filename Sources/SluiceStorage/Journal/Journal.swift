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

    /// The name of this server among those that append; nil for one alone.
    var nodeName: String? { get }

    /// The newest format of groups that all who read the journal can read, which is one of ``JournalGroup/formats``.
    var format: UInt8 { get }

    /// Appends a group after the head that it was made for.
    ///
    /// - Parameter duty: what the server must have at the moment at which the journal takes the group; nil for nothing.
    /// - Throws: only errors after which the group is surely not in the journal: ``JournalHistoryChanged`` if the next
    ///   group has to have an epoch, and this one has none; ``DutyLost`` if another server may have the duty;
    ///   ``StorageError/Code/busy`` if the journal cannot be reached.
    func append(_ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty?) throws -> JournalOutcome

    /// Whether the journal has the group that a database has applied last. One that is trimmed counts as there: the
    /// chain of the next group shows whether it was.
    ///
    /// - Throws: as ``records(after:countMax:)``.
    func continues(_ head: JournalHead) throws -> Bool

    /// Whether the journal has ended, as far as is known, since the database was detached from the cluster.
    var isSealed: Bool { get }

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
    /// Appends a group, whatever the server's duties are.
    package func append(_ record: JournalRecord, after head: JournalHead) throws -> JournalOutcome {
        try append(record, after: head, holding: nil)
    }

    package var nodeName: String? { nil }

    // Without others, what this version reads counts.
    package var format: UInt8 { JournalGroup.formats.upperBound }

    // Only a cluster can be left.
    package var isSealed: Bool { false }

    // One engine alone is never overtaken.
    package func takeTurn() {}
    package func endTurn() {}
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
    /// - Throws: ``JournalConflict`` if the group is not in the journal, since another engine was first; ``DutyLost`` if
    ///   it is not there, since the server does not have the duty; ``StorageError/Code/outcomeUnknown`` if it may be
    ///   there.
    package func appendSurely(
        _ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty? = nil
    ) throws {
        let outcome = try patience {
            let outcome = try append(record, after: head, holding: duty)
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
