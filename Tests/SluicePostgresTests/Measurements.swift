#if PostgreSQL

import Foundation
import SluiceModel
import SluiceStorage
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

/// What an append, a turn and a bell cost, on a PostgreSQL that syncs: `SLUICE_MEASURE=1 make test-cluster`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SLUICE_MEASURE"] != nil), .serialized)
struct Measurements {
    private func report(_ what: String, _ times: [Duration]) {
        let sorted = times.sorted()
        func text(_ share: Double) -> String {
            String(format: "%.2f ms", sorted[Int(Double(sorted.count - 1) * share)] / .milliseconds(1))
        }
        print("\(what): p50 \(text(0.5)), p99 \(text(0.99)) of \(sorted.count)")
    }

    @Test func appendsTurnsAndBells() async throws {
        let server = try await PostgresServer()
        try TestDatabase(server: server, name: "postgres", port: server.port).run("ALTER SYSTEM SET fsync = on")
        try TestDatabase(server: server, name: "postgres", port: server.port).run("SELECT pg_reload_conf()")
        let database = try server.database()
        let node = try database.node("writer")
        let journal = try node.open()
        var head = try journal.start
        let clock = ContinuousClock()
        func append(_ number: Int, byteCount: Int) throws {
            let record = JournalRecord(group(number, byteCount: byteCount), after: head)
            try journal.appendSurely(record, after: head)
            head = record.head
        }
        for byteCount in [0, 400, 40_000] {
            report(
                "append of \(byteCount) bytes",
                try (0..<2_000).map { number in try clock.measure { try append(number, byteCount: byteCount) } })
        }
        report(
            "turn and append",
            try (0..<2_000).map { number in
                try clock.measure {
                    try journal.takeTurn()
                    try append(number, byteCount: 400)
                }
            })
        report(
            "append of 12 MB",
            try (0..<5).map { number in try clock.measure { try append(number, byteCount: 12_000_000) } })
        report(
            "reading 12 MB",
            try (0..<5).map { _ in
                try clock.measure { _ = try journal.records(after: head.position - 1, countMax: 1) }
            })
        let heard = DispatchSemaphore(value: 0)
        let reader = try database.node("reader")
        let followed = try reader.open()
        _ = try followed.records(after: head.position, countMax: 1)
        reader.watch { _ in heard.signal() }
        node.watch { _ in }
        var times: [Duration] = []
        for number in 0..<500 {
            let start = clock.now
            try append(number, byteCount: 400)
            repeat { heard.wait() } while try followed.records(after: head.position - 1, countMax: 1).isEmpty
            times.append(clock.now - start)
        }
        report("append until another node has read it", times)
        for node in [node, reader] { node.stop() }
        try await server.stop()
    }
}

#endif
