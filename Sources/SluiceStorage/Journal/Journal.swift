/// The ordered history of a database, which engines append to and follow.
///
/// It needs no leader: whoever appends names the head after which the group belongs, and exactly one of two groups
/// after the same head is taken.
package protocol Journal {
    /// Appends a group after the head that it was made for.
    ///
    /// - Throws: only errors after which the group is surely not in the journal.
    func append(_ record: JournalRecord, after head: JournalHead) throws -> JournalOutcome

    /// The records after a position, ascending and without a gap; none if it is the last.
    ///
    /// - Parameter countMax: the most records wanted.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the journal does not reach back to the position.
    func records(after position: UInt64, countMax: Int) throws -> [JournalRecord]
}

extension Journal {
    /// How many times the same bytes are appended while the outcome is unknown.
    private var attemptCountMax: Int { 16 }

    /// Appends a group, again and again while nobody knows whether it is there.
    ///
    /// - Throws: ``JournalConflict`` if the group is not in the journal, since another engine was first;
    ///   ``StorageError/Code/busy`` if it may be there.
    package func appendSurely(_ record: JournalRecord, after head: JournalHead) throws {
        for _ in 0..<attemptCountMax {
            switch try append(record, after: head) {
            case .appended: return
            case .conflict: throw JournalConflict()
            case .unknown: continue
            }
        }
        throw StorageError(.busy, "it is not known whether the journal has a group; what it does has to be done again")
    }
}

/// Another engine has appended to the journal. What it did has to be applied, and one's own made anew after it.
package struct JournalConflict: Error {
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
