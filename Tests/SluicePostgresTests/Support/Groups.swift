#if PostgreSQL

import SluiceModel
import SluiceStorage
import Testing

@testable import SluicePostgres

extension JournalRecord {
    /// A group without transactions that differs from others by its number.
    init(_ number: Int, after head: JournalHead) {
        self.init(group(number), after: head)
    }
}

/// A group without transactions; `byteCount` bytes that cannot be compressed are in it.
func group(_ number: Int, byteCount: Int = 0) -> JournalGroup {
    var random = SeededGenerator(seed: UInt64(number))
    let bytes = (0..<byteCount / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    return JournalGroup(
        baseVersion: 0, acceptedAt: Timestamp(microseconds: Int64(number)),
        steps: bytes.isEmpty ? [.confirmation(client: UInt64(number), sequence: 1)] : [.rules(bytes)])
}

extension PostgresJournals {
    /// The journal of a database, as one that may be sent to another thread.
    func open(_ name: String = "planes") throws -> PostgresJournal {
        try #require(journal(ofDatabase: name) as? PostgresJournal)
    }
}

extension Journal {
    /// The head before the first group.
    var start: JournalHead { get throws { JournalHead(of: try databaseID) } }

    /// Appends groups after a head, each of which must be taken.
    @discardableResult
    func appendAll(_ numbers: some Sequence<Int>, after head: JournalHead? = nil) throws -> JournalHead {
        var head = try head ?? start
        for number in numbers {
            let record = JournalRecord(number, after: head)
            try appendSurely(record, after: head)
            head = record.head
        }
        return head
    }

    /// The head after all groups.
    func end() throws -> JournalHead {
        var head = try start
        while let last = try records(after: head.position, countMax: 1_000).last { head = last.head }
        return head
    }
}

#endif
