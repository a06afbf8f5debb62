#if PostgreSQL

import Foundation
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// A server whose history may have forked: the next group of each database is an epoch.
struct HistoryTests {
    private let database: TestDatabase
    private let first: PostgresJournal
    private let second: PostgresJournal

    init() async throws {
        database = try await PostgresServer.shared.value.database()
        first = try database.node("first").open()
        second = try database.node("second").open()
    }

    private func epoch(_ number: UInt64, after head: JournalHead) -> JournalRecord {
        JournalRecord(
            JournalGroup(
                baseVersion: 0, acceptedAt: Timestamp(microseconds: 1),
                steps: [.confirmation(client: 1, sequence: 1), .epoch(number)]), after: head)
    }

    /// Has the database a history that its server does not have, as after a failover.
    private func fork() throws { try database.run("UPDATE sluice.database SET history = '1/00000001/1/1'") }

    @Test func `after a change of the history only an epoch is taken, and once`() throws {
        let head = try first.appendAll([1])
        #expect(try !first.needsEpoch && !second.needsEpoch)
        try fork()
        #expect(try first.needsEpoch && second.needsEpoch)
        #expect(throws: JournalHistoryChanged.self) { try first.append(JournalRecord(2, after: head), after: head) }
        #expect(try first.end() == head)
        let begun = epoch(7, after: head)
        #expect(try first.append(begun, after: head) == .appended)
        #expect(try !first.needsEpoch && !second.needsEpoch)
        // The other's epoch comes too late, and its groups go on after the first.
        #expect(try second.append(epoch(8, after: head), after: head) == .conflict)
        #expect(try first.append(begun, after: head) == .appended, "the same bytes again are there")
        try second.appendAll([3], after: begun.head)
        #expect(try first.records(after: 1, countMax: 10).first == begun)
    }

    @Test func `an epoch without need is a group as others are`() throws {
        let head = try first.appendAll([1])
        #expect(try first.append(epoch(7, after: head), after: head) == .appended)
        #expect(try database.number("SELECT count(DISTINCT history) FROM sluice.database") == 1)
    }

    @Test func `an engine that is behind begins no epoch, and the history stays`() throws {
        let start = try first.start
        let head = try second.appendAll([1, 2])
        try fork()
        #expect(try first.append(epoch(7, after: start), after: start) == .conflict)
        #expect(try first.needsEpoch)
        #expect(try first.append(epoch(7, after: head), after: head) == .appended)
    }

    @Test func `of two epochs at once one is taken`() async throws {
        var head = try first.start
        for number in 0..<10 as Range<UInt64> {
            try fork()
            let (mine, theirs) = (epoch(2 * number, after: head), epoch(2 * number + 1, after: head))
            let before = head
            async let one = blocking { [first] in try first.append(mine, after: before) }
            async let two = blocking { [second] in try second.append(theirs, after: before) }
            let outcomes = try await [one, two]
            #expect(Set(outcomes) == [.appended, .conflict])
            head = outcomes[0] == .appended ? mine.head : theirs.head
        }
        #expect(try first.end() == head && head.position == 10)
    }

    @Test func `within a turn, too, an epoch comes first`() throws {
        let head = try first.appendAll([1])
        try fork()
        try first.takeTurn()
        #expect(throws: JournalHistoryChanged.self) { try first.append(JournalRecord(2, after: head), after: head) }
        try first.takeTurn()
        let begun = epoch(7, after: head)
        #expect(try first.append(begun, after: head) == .appended)
        #expect(try second.end() == begun.head && !second.needsEpoch)
    }

    @Test func `tables that were made anew are another history, also for who is connected`() throws {
        let head = try first.appendAll([1])
        try second.appendAll([2], after: head)
        // As a dump of an hour ago that is put back while the server and the nodes run.
        try database.run(
            """
            BEGIN;
            ALTER TABLE sluice.database RENAME TO before;
            CREATE TABLE sluice.database (LIKE sluice.before INCLUDING ALL);
            INSERT INTO sluice.database OVERRIDING SYSTEM VALUE SELECT * FROM sluice.before;
            DROP TABLE sluice.before;
            DELETE FROM sluice.journal WHERE position = 2;
            COMMIT
            """)
        for journal in [first, second] {
            #expect(throws: JournalHistoryChanged.self) {
                try journal.appendSurely(JournalRecord(3, after: head), after: head)
            }
            #expect(try journal.needsEpoch)
        }
        let begun = epoch(7, after: head)
        try first.appendSurely(begun, after: head)
        try second.appendAll([4], after: begun.head)
        #expect(try !first.needsEpoch && !second.needsEpoch)
    }

    @Test func `an old primary that comes back is refused`() throws {
        let present = try #require(PostgresHistory(try PostgresCluster.status(database.url).history))
        var seen = present
        seen.timeline += 1
        let node = try database.node("third", remembering: seen)
        let error = #expect(throws: StorageError.self) { try node.open() }
        #expect(error?.code == .journal && error?.message.contains("old primary") == true)
        // One of another system, or on a later timeline, is not.
        seen.system += 1
        _ = try database.node("third", remembering: seen).open()
        let older = PostgresHistory(system: present.system, timeline: 0, start: 0, tables: 0)
        let served = try database.node("third", remembering: older)
        _ = try served.open()
        #expect(served.history == present)
    }

    @Test func `a node remembers over restarts which server it saw, until an administrator accepts another`()
        async throws
    {
        let present = try #require(PostgresHistory(try PostgresCluster.status(database.url).history))
        try await withFolder { folder in
            let node = try database.node("third")
            node.remember(in: folder)
            _ = try node.open()
            try node.join()
            #expect(HistoryFile(path: folder + "/server.history").read() == present)
            var later = present
            later.timeline += 1
            HistoryFile(path: folder + "/server.history").write(later)
            let restarted = try database.node("third")
            restarted.remember(in: folder)
            let error = #expect(throws: StorageError.self) { try restarted.open() }
            #expect(error?.message.contains("sluice cluster epoch") == true)
            let head = try first.appendAll([1])
            #expect(try PostgresCluster.beginEpoch(database.url) == 1)
            #expect(throws: JournalHistoryChanged.self) { try first.append(JournalRecord(2, after: head), after: head) }
            let again = try database.node("third") { $0.reconnectMin = .milliseconds(1) }
            again.remember(in: folder)
            _ = try again.open()
            try again.join()
            #expect(HistoryFile(path: folder + "/server.history").read() == present)
            // Something else in the file is nothing that counts.
            try Data("12 monkeys".utf8).write(to: URL(filePath: folder + "/server.history"))
            let puzzled = try database.node("third")
            puzzled.remember(in: folder)
            _ = try puzzled.open()
        }
        let unknown = #expect(throws: StorageError.self) {
            try PostgresCluster.beginEpoch(database.url, database: "boats")
        }
        #expect(unknown?.code == .notFound)
    }

    @Test func `a server that is another cluster meanwhile is refused`() throws {
        let node = try database.node("third") { $0.reconnectMax = .milliseconds(1) }
        let journal = try node.open()
        try database.run("UPDATE sluice.cluster SET id = 'another'")
        try database.killBackends()
        let error = #expect(throws: StorageError.self) { try journal.records(after: 0, countMax: 1) }
        #expect(
            error?.code == .journal && error?.message.contains("another cluster") == true,
            "\(error as Any)")
    }
}

#endif
