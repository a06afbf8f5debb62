internal import SluiceModel
internal import SluiceStorage

/// The journal of a replica that was opened while the service of journals did not answer, so that what is there can be
/// read. It is asked for whenever it is used, until it is found; before that nothing is appended to it.
///
/// Used by one thread at a time.
final class AwaitedJournal: Journal {
    let databaseID: ObjectID
    private let find: () throws -> any Journal
    private var found: (any Journal)?

    /// - Parameters:
    ///   - databaseID: the database of the replica.
    ///   - find: asks the service for the journal.
    init(ofDatabase databaseID: ObjectID, find: @escaping () throws -> any Journal) {
        self.databaseID = databaseID
        self.find = find
    }

    /// - Throws: what the service throws; ``StorageError/Code/journal`` if it has another database of the name.
    private func journal() throws -> any Journal {
        if let found { return found }
        let journal = try find()
        guard try journal.databaseID == databaseID else {
            throw StorageError(.journal, "the journal is that of another database than the replica")
        }
        found = journal
        return journal
    }

    var patience: AppendPatience {
        found?.patience ?? AppendPatience(time: 0, now: { Timestamp(microseconds: 0) }, wait: { _ in })
    }

    var nodeName: String? { found?.nodeName }

    // As for a service that has not answered yet.
    var format: UInt8 { found?.format ?? JournalGroup.formats.lowerBound }

    func append(
        _ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty?
    ) throws -> JournalOutcome { try journal().append(record, after: head, holding: duty) }

    func continues(_ head: JournalHead) throws -> Bool { try journal().continues(head) }

    var isSealed: Bool { found?.isSealed ?? false }

    func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        try journal().records(after: position, countMax: countMax)
    }

    func takeTurn() throws { try journal().takeTurn() }

    func endTurn() { found?.endTurn() }
}
