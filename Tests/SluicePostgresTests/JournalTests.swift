#if PostgreSQL

import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

struct JournalTests {
    private let database: TestDatabase
    private let first: PostgresJournals
    private let second: PostgresJournals

    init() async throws {
        database = try await PostgresServer.shared.value.database()
        first = try database.node("first")
        second = try database.node("second")
    }

    @Test func `of two groups after one head the first is taken`() throws {
        let journal = try first.open()
        let other = try second.open()
        let start = try journal.start
        let (mine, theirs) = (JournalRecord(1, after: start), JournalRecord(2, after: start))
        #expect(try journal.append(mine, after: start) == .appended)
        #expect(try other.append(theirs, after: start) == .conflict)
        #expect(try journal.append(mine, after: start) == .appended, "the same bytes again are there")
        #expect(try other.records(after: 0, countMax: 10) == [mine])
        let next = JournalRecord(3, after: mine.head)
        #expect(try other.append(next, after: mine.head) == .appended)
        #expect(try journal.records(after: 0, countMax: 10) == [mine, next])
        #expect(try journal.records(after: 0, countMax: 1) == [mine])
        #expect(try journal.records(after: 2, countMax: 10).isEmpty)
        #expect(try database.number("SELECT count(*) FROM sluice.journal WHERE node = 'second'") == 1)
    }

    @Test func `journals of several databases do not meet`() throws {
        let journals = try ["a", "b", "\u{1F6EB} c's \"d\""].map { try first.journal(ofDatabase: $0) }
        for (number, journal) in journals.enumerated() { try journal.appendAll(0...number) }
        #expect(try Set(journals.map { try $0.databaseID }).count == 3)
        #expect(try journals.map { try $0.end().position } == [1, 2, 3])
        #expect(try second.journal(ofDatabase: "b").databaseID == journals[1].databaseID)
    }

    @Test func `two nodes that make a database at once make one`() async throws {
        for number in 0..<10 {
            let name = "new \(number)"
            async let one = blocking { [first] in try first.journal(ofDatabase: name).databaseID }
            async let two = blocking { [second] in try second.journal(ofDatabase: name).databaseID }
            let ids = try await [one, two]
            #expect(ids[0] == ids[1])
        }
        #expect(try database.number("SELECT count(*) FROM sluice.database") == 10)
        #expect(try database.number("SELECT count(*) FROM sluice.journal WHERE position = 0 AND record = ''") == 10)
    }

    @Test func `a group of twelve megabytes is taken, and read in bounded steps`() throws {
        let journal = try first.open()
        var head = try journal.start
        var records: [JournalRecord] = []
        for number in 1...4 {
            let record = JournalRecord(group(number, byteCount: 12_000_000), after: head)
            #expect(try journal.append(record, after: head) == .appended)
            records.append(record)
            head = record.head
        }
        let other = try second.open()
        let read = try other.records(after: 0, countMax: 64)
        #expect(read.count == 2 && read == Array(records[..<2]), "at most 16 MiB and the record that goes beyond")
        #expect(try other.records(after: 2, countMax: 64) == Array(records[2...]))
    }

    @Test func `a group that compresses takes less in the table`() throws {
        let journal = try first.open()
        let rules = JournalStep.rules([UInt8](repeating: 65, count: 1 << 20))
        let group = JournalGroup(baseVersion: 0, acceptedAt: Timestamp(microseconds: 1), steps: [rules])
        let record = JournalRecord(group, after: try journal.start)
        #expect(try journal.append(record, after: try journal.start) == .appended)
        #expect(try database.number("SELECT max(length(record)) FROM sluice.journal") < 10_000)
        #expect(try journal.records(after: 0, countMax: 1) == [record])
    }

    @Test func `a journal that was trimmed says so`() throws {
        let journal = try first.open()
        let end = try journal.appendAll(1...10)
        try database.run("DELETE FROM sluice.journal WHERE position <= 5")
        let error = #expect(throws: StorageError.self) { try journal.records(after: 3, countMax: 10) }
        #expect(error?.code == .logTrimmed)
        #expect(try journal.records(after: 5, countMax: 10).count == 5)
        // Who is behind what was trimmed is overtaken, not a stranger.
        let start = try journal.start
        #expect(try journal.append(JournalRecord(99, after: start), after: start) == .conflict)
        #expect(try journal.continues(end))
        let old = JournalHead(position: 3, chain: end.chain)
        // The chain of the next group would show whether it was there.
        #expect(try journal.continues(old))
    }

    @Test func `a replica of another history is refused`() throws {
        let journal = try first.open()
        let end = try journal.appendAll(1...3)
        var ahead = end
        for number in 4...5 { ahead = JournalRecord(number, after: ahead).head }
        var other = end
        other.chain[0] ^= 1
        for head in [ahead, other] {
            let error = #expect(throws: StorageError.self) {
                try journal.append(JournalRecord(9, after: head), after: head)
            }
            #expect(error?.code == .journal && error?.message.contains("made anew") == true)
            #expect(try !journal.continues(head))
        }
        #expect(try journal.continues(end) && journal.continues(journal.start) && journal.end() == end)
    }

    @Test func `a node that has stopped appends no more, and ends what waits at once`() async throws {
        let proxy = try Proxy(to: database.port)
        defer { proxy.stop() }
        let node = try database.node("third", port: proxy.port) {
            $0.answer = .seconds(100)
            $0.patience = .seconds(100)
        }
        let journal = try node.open()
        let start = try journal.start
        proxy.mode = .holds
        let waiting = Task { try await blocking { try journal.append(JournalRecord(1, after: start), after: start) } }
        try await proxy.waitForHeld()
        node.stop()
        await #expect(throws: StorageError.self) { try await waiting.value }
        #expect(throws: StorageError.self) { try journal.records(after: 0, countMax: 1) }
    }
}

#endif
