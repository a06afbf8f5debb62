#if PostgreSQL

import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

struct TurnTests {
    private let database: TestDatabase

    init() async throws { database = try await PostgresServer.shared.value.database() }

    private func open(_ node: String, _ timeout: Duration = .seconds(100)) throws -> PostgresJournal {
        try database.node(node) {
            $0.statement = timeout
            $0.answer = .seconds(100)
        }.open()
    }

    /// Waits until a statement waits for another's lock.
    private func waitForLock() async throws {
        let waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        try await wait(for: "a lock") { try database.number(waiting) > 0 }
    }

    @Test func `who has the turn is not overtaken, and who waits appends after it`() async throws {
        let first = try open("first")
        let second = try open("second")
        let start = try first.start
        try first.takeTurn()
        let late = Task { try await blocking { try second.append(JournalRecord(2, after: start), after: start) } }
        try await waitForLock()
        let record = JournalRecord(1, after: start)
        #expect(try first.records(after: 0, countMax: 10).isEmpty)
        #expect(try first.append(record, after: start) == .appended)
        #expect(try await late.value == .conflict)
        #expect(try second.records(after: 0, countMax: 10) == [record])
    }

    @Test func `a turn that is given back lets others append`() async throws {
        let first = try open("first")
        let second = try open("second")
        let start = try first.start
        first.endTurn()
        try first.takeTurn()
        try first.takeTurn()
        let late = Task { try await blocking { try second.append(JournalRecord(2, after: start), after: start) } }
        try await waitForLock()
        first.endTurn()
        #expect(try await late.value == .appended)
        // Who takes a turn and is behind is told, and has the turn no more.
        try first.takeTurn()
        #expect(try first.append(JournalRecord(1, after: start), after: start) == .conflict)
        try second.takeTurn()
        second.endTurn()
    }

    @Test func `turns are taken one after the other`() async throws {
        let first = try open("first")
        let second = try open("second")
        try first.takeTurn()
        let other = Task { try await blocking { try second.takeTurn() } }
        try await waitForLock()
        let head = try first.appendAll([1])
        try await other.value
        #expect(try second.records(after: 0, countMax: 10).map(\.head) == [head])
        #expect(try second.append(JournalRecord(2, after: head), after: head) == .appended)
    }

    @Test func `a turn that is kept too long is refused to others, and a holder that stands still loses it`() throws {
        let first = try open("first", .milliseconds(500))
        let second = try open("second")
        let impatient = try open("third", .milliseconds(500))
        let start = try first.start
        // A holder that does something all the time keeps it.
        try second.takeTurn()
        let error = #expect(throws: StorageError.self) { try impatient.takeTurn() }
        #expect(error?.code == .busy && error?.message.contains("keeps the turn") == true)
        second.endTurn()
        // A holder that does nothing, as one that was stopped would.
        try first.takeTurn()
        let record = JournalRecord(2, after: start)
        #expect(try second.append(record, after: start) == .appended)
        // What it appends afterwards is appended without the turn, and so is too late.
        #expect(throws: JournalConflict.self) { try first.appendAll([1], after: start) }
        #expect(try first.records(after: 0, countMax: 10) == [record])
    }

    @Test func `an answer to COMMIT that is lost is found out`() async throws {
        let proxy = try Proxy(to: database.port)
        defer { proxy.stop() }
        let journal = try database.node("first", port: proxy.port) {
            $0.answer = .seconds(100)
            $0.reconnectMax = .milliseconds(100)
            $0.patience = .seconds(100)
        }.open()
        var head = try journal.start
        for number in 0..<5 {
            try journal.takeTurn()
            proxy.cut()
            let record = JournalRecord(number, after: head)
            #expect(try journal.append(record, after: head) == .unknown)
            try journal.appendSurely(record, after: head)
            head = record.head
        }
        #expect(try journal.end() == head && head.position == 5)
    }

    @Test func `two nodes that take turns both get on`() async throws {
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...2 {
                let journal = try open("node \(number)")
                group.addTask {
                    try await blocking {
                        var (head, count) = (try journal.start, 0)
                        while count < 50 {
                            try journal.takeTurn()
                            head = try journal.records(after: head.position, countMax: 1_000).last?.head ?? head
                            let record = JournalRecord(number * 1_000 + count, after: head)
                            if try journal.append(record, after: head) == .appended {
                                head = record.head
                                count += 1
                            }
                        }
                        return count
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == [50, 50])
        #expect(try open("third").end().position == 100)
    }
}

#endif
