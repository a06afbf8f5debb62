#if PostgreSQL

import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Duties as rows: one node has each, in terms that ascend, and only its groups are taken that need it.
struct DutyTests {
    private let database: TestDatabase
    private let first: PostgresJournals
    private let second: PostgresJournals
    private let duty = Duty("mailer", ofDatabase: "planes")

    init() async throws {
        database = try await PostgresServer.shared.value.database()
        first = try database.node("first")
        second = try database.node("second")
        _ = try first.open()
    }

    /// Ends a duty as time does.
    private func expire() throws { try database.run("UPDATE sluice.duty SET until = clock_timestamp()") }

    @Test func `one node has a duty until it gives it up, or its time is over`() throws {
        let held = try #require(try first.duties.take(duty))
        #expect(held.isHeld && held.term == 1)
        #expect(try second.duties.take(duty) == nil && first.duties.take(duty) == nil)
        #expect(try first.duties.renew(held))
        first.duties.giveUp(held)
        #expect(!held.isHeld)
        let others = try #require(try second.duties.take(duty))
        #expect(others.term == 2)
        #expect(try !first.duties.renew(held))
        try expire()
        #expect(try !second.duties.renew(others), "what is over is not renewed")
        #expect(!others.isHeld)
        #expect(try first.duties.take(duty)?.term == 3)
        #expect(try first.duties.take(Duty("another", ofDatabase: "planes"))?.term == 1)
        #expect(try first.duties.take(Duty("mailer", ofDatabase: "no such")) == nil)
    }

    @Test func `a group that needs a duty is taken from its holder alone`() throws {
        let (journal, other) = (try first.open(), try second.open())
        let held = try #require(try first.duties.take(duty))
        let start = try journal.start
        let one = JournalRecord(1, after: start)
        #expect(try journal.append(one, after: start, holding: held) == .appended)
        // The process stands still, and another has the duty: by its own clock it still has it.
        try expire()
        let others = try #require(try second.duties.take(duty))
        #expect(held.isHeld)
        let late = JournalRecord(2, after: one.head)
        #expect(throws: DutyLost.self) { try journal.append(late, after: one.head, holding: held) }
        try journal.takeTurn()
        #expect(throws: DutyLost.self) { try journal.append(late, after: one.head, holding: held) }
        journal.endTurn()
        let theirs = JournalRecord(3, after: one.head)
        #expect(try other.append(theirs, after: one.head, holding: others) == .appended)
        // Others are first, which says more than the duty.
        #expect(try journal.append(late, after: one.head, holding: held) == .conflict)
        #expect(try journal.end() == theirs.head)
    }

    @Test func `a silent server takes no duty and renews none`() async throws {
        let server = try await PostgresServer()
        let node = try server.database().node("alone")
        _ = try node.open()
        let held = try #require(try node.duties.take(duty))
        try await server.kill()
        let silent = #expect(throws: StorageError.self) { try node.duties.renew(held) }
        #expect(silent?.code == .busy)
        #expect(held.isHeld, "nobody else can have it yet")
        try await server.stop()
    }
}

#endif
