#if PostgreSQL

import Foundation
import SluiceModel
import SluiceStorage
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

private let pooler = "/usr/sbin/pgbouncer"

/// PgBouncer in transaction mode between a node and PostgreSQL, where it is installed.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: pooler)))
struct PoolerTests {
    /// Runs `body` with the port of a pooler before a server.
    private func withPooler(_ body: (TestDatabase, UInt16) async throws -> Void) async throws {
        let server = try await PostgresServer.shared.value
        let port = try UnusedPort.next()
        // Another user has to read it.
        let path = "/tmp/sluice-pooler-\(UUID().uuidString).ini"
        let settings = """
            [databases]
            * = host=127.0.0.1 port=\(server.port) user=sluice
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = 2
            """
        try settings.write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o644)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let script = """
            \(pooler) \(path) & pooler=$!
            cat > /dev/null
            kill -KILL $pooler
            """
        let program = try PostgresServer.start(script, input: nil, as: PostgresServer.asServer)
        defer { program.closeInput() }
        try await wait(for: "the pooler") { program.diagnostics.contains("process up") }
        try await body(try server.database(), port)
    }

    @Test func `a node behind a pooler appends, takes turns, and is told why it does not listen`() async throws {
        try await withPooler { database, port in
            let log = Mutex<[String]>([])
            let sink = LogSink(level: .warning) { line in log.withLock { $0.append(line.message) } }
            let node = try database.node("first", port: port, log: sink)
            defer { node.stop() }
            let journal = try node.open()
            let direct = try database.node("second").open()
            var head = try journal.appendAll(1...20)
            try journal.takeTurn()
            head = try journal.appendAll([21], after: head)
            #expect(try direct.end() == head)
            #expect(try direct.append(JournalRecord(22, after: head), after: head) == .appended)
            #expect(try journal.append(JournalRecord(23, after: head), after: head) == .conflict)
            node.watch { _ in }
            try await wait(for: "the warning") { log.withLock { $0.contains { $0.contains("--journal-listen") } } }
            // The limits of this node are not those of others who are given the same process.
            let limit = "SELECT count(*) FROM pg_settings WHERE name = 'statement_timeout' AND setting <> '0'"
            let other = try PostgresConnection(
                to: PostgresAddress(database.url(port: port)), timeouts: PostgresTimeouts(), stop: StopSignal())
            #expect(try other.execute(PostgresStatement(nil, limit)).integer(0) == 0)
        }
    }

    @Test func `a server that changes behind a pooler takes nothing but an epoch`() async throws {
        try await withPooler { database, port in
            let journal = try database.node("first", port: port).open()
            let head = try journal.appendAll([1])
            try database.run("UPDATE sluice.database SET history = '1/00000001/1/1'")
            #expect(throws: JournalHistoryChanged.self) {
                try journal.append(JournalRecord(2, after: head), after: head)
            }
        }
    }
}

#endif
