package import SluiceModel

/// The journal of a database to which nobody else appends. A record is stored when it is applied, in the transaction
/// and the file of the state, so appending only compares.
package struct OwnJournal: Journal {
    private let storage: SQLiteServerStorage

    package init(_ storage: SQLiteServerStorage) { self.storage = storage }

    package var databaseID: ObjectID { storage.databaseID }

    /// An append always answers.
    package var patience: AppendPatience {
        AppendPatience(time: 0, now: { Timestamp(microseconds: 0) }, wait: { _ in })
    }

    // One server alone has every duty.
    package func append(
        _ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty?
    ) -> JournalOutcome { head == storage.head ? .appended : .conflict }

    package func continues(_ head: JournalHead) throws -> Bool { head == storage.head }

    package func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        try storage.records(after: position, countMax: countMax)
    }
}
