#if PostgreSQL

import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Appends of which the answer is late, lost or another one than usual.
struct OutcomeTests {
    private let database: TestDatabase
    private let proxy: Proxy

    init() async throws {
        database = try await PostgresServer.shared.value.database()
        proxy = try Proxy(to: database.port)
    }

    /// A node behind the proxy.
    private func node(answer: Duration = .seconds(100)) throws -> PostgresJournals {
        try database.node("first", port: proxy.port) {
            $0.answer = answer
            $0.reconnectMax = .milliseconds(100)
            $0.patience = .seconds(100)
        }
    }

    @Test func `a group whose answer is lost is there once`() async throws {
        let node = try node(answer: .seconds(1))
        defer { proxy.stop() }
        let journal = try node.open()
        let start = try journal.start
        let record = JournalRecord(1, after: start)
        // The connection has prepared the statements before.
        let first = try journal.appendAll([1], after: start)
        #expect(first == record.head)
        let next = JournalRecord(2, after: first)
        proxy.mode = .dropsReplies
        #expect(try journal.append(next, after: first) == .unknown)
        try await proxy.waitForDropped()
        // Nobody answers: it stays unknown, whatever went wrong this time.
        #expect(try journal.append(next, after: first) == .unknown)
        proxy.mode = .refuses
        proxy.cut()
        #expect(try journal.append(next, after: first) == .unknown)
        proxy.mode = .forwards
        try journal.appendSurely(next, after: first)
        #expect(try journal.records(after: 0, countMax: 10) == [record, next])
    }

    @Test func `a group that arrives after another has its place is refused`() async throws {
        let node = try node(answer: .seconds(100))
        let other = try database.node("second").open()
        defer { proxy.stop() }
        let journal = try node.open()
        let start = try journal.appendAll([1])
        proxy.mode = .holds
        let late = JournalRecord(2, after: start)
        let outcome = Task { try await blocking { try journal.append(late, after: start) } }
        try await proxy.waitForHeld()
        try other.appendAll([3], after: start)
        proxy.mode = .forwards
        #expect(try await outcome.value == .conflict)
        #expect(try other.end().position == 2)
    }

    @Test func `a group that arrives after it was appended again is there once`() async throws {
        let node = try node(answer: .seconds(1))
        let other = try database.node("second").open()
        defer { proxy.stop() }
        let journal = try node.open()
        let start = try journal.appendAll([1])
        proxy.mode = .holds
        let record = JournalRecord(2, after: start)
        #expect(try journal.append(record, after: start) == .unknown)
        // The same engine by another way, before the first try arrives.
        try other.appendSurely(record, after: start)
        proxy.mode = .forwards
        try journal.appendSurely(record, after: start)
        #expect(try other.records(after: 1, countMax: 10) == [record])
    }

    @Test func `after every connection was cut, the next appends make new ones`() async throws {
        let node = try node()
        defer { proxy.stop() }
        let journal = try node.open()
        var head = try journal.start
        for number in 0..<10 {
            proxy.cut()
            head = try journal.appendAll([number], after: head)
        }
        #expect(try journal.end() == head && head.position == 10)
    }

    @Test func `backends that are killed lose nothing`() async throws {
        let node = try node()
        defer { proxy.stop() }
        let journal = try node.open()
        var head = try journal.start
        for number in 0..<10 {
            try database.killBackends()
            head = try journal.appendAll([number], after: head)
        }
        #expect(try journal.end() == head)
    }

    @Test func `a journal that never answers keeps the group unknown for as long as patience lasts`() throws {
        let node = try database.node("first", port: proxy.port) {
            $0.answer = .seconds(1)
            $0.patience = .milliseconds(10)
        }
        defer { proxy.stop() }
        let journal = try node.open()
        let start = try journal.start
        proxy.mode = .holds
        let error = #expect(throws: StorageError.self) { try journal.appendAll([1], after: start) }
        #expect(error?.code == .outcomeUnknown)
        let read = #expect(throws: StorageError.self) { try journal.records(after: 0, countMax: 1) }
        #expect(read?.code == .busy && read?.message.contains("does not answer") == true)
    }

    @Test func `what PostgreSQL refuses is surely not there`() throws {
        let journal = try node().open()
        defer { proxy.stop() }
        let start = try journal.start
        try database.run("ALTER TABLE sluice.journal ADD CHECK (position < 1)")
        let error = #expect(throws: StorageError.self) {
            try journal.append(JournalRecord(1, after: start), after: start)
        }
        #expect(error?.message.contains("23514") == true && error?.code == .journal)
        #expect(try journal.end() == start)
    }
}

#endif
