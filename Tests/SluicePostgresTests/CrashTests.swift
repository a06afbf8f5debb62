#if PostgreSQL

import Foundation
import SluiceModel
import SluiceStorage
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

/// A PostgreSQL that is killed again and again under two nodes that write.
struct CrashTests {
    /// A node that appends numbered groups, each once, and applies what the journal has, as an engine does.
    private final class Writer: Sendable {
        let acknowledged = Mutex<[Int]>([])
        let epochs = Atomic(0)
        private let journal: PostgresJournal
        private let base: Int
        private let isDone: Atomic<Bool> = Atomic(false)

        init(_ journal: PostgresJournal, base: Int) {
            self.journal = journal
            self.base = base
        }

        func finish() { isDone.store(true, ordering: .relaxed) }

        func run() throws {
            var (head, number) = (try journal.start, base)
            func acknowledge() {
                let found = number
                acknowledged.withLock { $0.append(found) }
                number += 1
            }
            while !isDone.load(ordering: .relaxed) {
                let record = JournalRecord(number, after: head)
                do {
                    try journal.appendSurely(record, after: head)
                    head = record.head
                    acknowledge()
                } catch is JournalConflict {
                    // Without a turn the other, which is not behind, would be first again.
                    _ = try? journal.takeTurn()
                    for record in (try? journal.records(after: head.position, countMax: 1_000)) ?? [] {
                        #expect(head.following(record.bytes) == record.head, "the chain goes on")
                        head = record.head
                        // It was appended without an answer.
                        if try Self.clients(record).contains(UInt64(number)) { acknowledge() }
                    }
                } catch is JournalHistoryChanged {
                    let begun = JournalGroup(
                        baseVersion: 0, acceptedAt: Timestamp(microseconds: 1),
                        steps: [.epoch(.random(in: 1 ... .max))])
                    if case .appended? = try? journal.append(JournalRecord(begun, after: head), after: head) {
                        epochs.add(1, ordering: .relaxed)
                    }
                } catch let error as StorageError where error.code == .busy {}
            }
        }

        static func clients(_ record: JournalRecord) throws -> [UInt64] {
            try JournalGroup.decode(record.bytes).steps.compactMap { step in
                if case .confirmation(let client, _) = step { client } else { nil }
            }
        }
    }

    @Test func `killing PostgreSQL loses nothing and repeats nothing`() async throws {
        let killCount = ProcessInfo.processInfo.environment["SLUICE_KILLS"].flatMap { Int($0) } ?? 10
        let server = try await PostgresServer()
        let database = try server.database()
        func change(_ timeouts: inout PostgresTimeouts) {
            timeouts.reconnectMin = .milliseconds(1)
            timeouts.reconnectMax = .milliseconds(20)
        }
        let writers = try (1...2).map { number in
            Writer(try database.node("node \(number)", change).open(), base: number * 1_000_000)
        }
        let runs = writers.map { writer in Task { try await blocking { try writer.run() } } }
        for _ in 0..<killCount {
            // Each has got on since the last start.
            let before = writers.map { $0.acknowledged.withLock(\.count) }
            try await wait(for: "both writers to get on") {
                zip(writers, before).allSatisfy { $0.acknowledged.withLock(\.count) > $1 + 5 }
            }
            try await server.kill()
            try await server.start()
        }
        for writer in writers { writer.finish() }
        for run in runs { try await run.value }
        var found: [UInt64: Int] = [:]
        let journal = try database.node("reader").open()
        var head = try journal.start
        while true {
            let records = try journal.records(after: head.position, countMax: 1_000)
            guard let last = records.last else { break }
            for client in try records.flatMap(Writer.clients) { found[client, default: 0] += 1 }
            head = last.head
        }
        #expect(found.values.allSatisfy { $0 == 1 }, "nothing is there twice")
        for writer in writers {
            let numbers = writer.acknowledged.withLock { $0 }
            #expect(numbers.allSatisfy { found[UInt64($0)] == 1 }, "nothing is lost")
        }
        let epochs = writers.reduce(0) { $0 + $1.epochs.load(ordering: .relaxed) }
        #expect(epochs <= killCount, "one epoch for each start, at most")
        print("\(killCount) kills, \(found.count) groups, \(epochs) epochs")
        try await server.stop()
    }
}

#endif
