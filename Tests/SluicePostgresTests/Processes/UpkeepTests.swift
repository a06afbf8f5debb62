#if PostgreSQL

import CSQLite
import Foundation
import Glibc
import Sluice
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Snapshots, comparisons and migrations with real processes.
struct UpkeepTests {
    /// Writes until a snapshot that was asked for is proved.
    private func snapshot(_ cluster: NodeCluster) async throws {
        let exit = try await Tool.run(
            "cluster", "snapshot", NodeCluster.databaseName, "--journal=\(cluster.database.url)")
        #expect(exit.code == 0 && exit.lines.first?.contains("is proved") == true, "\(exit)")
    }

    /// Changes a replica behind its node's back.
    private func alter(_ sql: String, _ path: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        try #require(sqlite3_changes(handle) == 1)
    }

    @Test func `a node that was away until the journal is trimmed loads a snapshot, and its writers go on`()
        async throws
    {
        try await NodeCluster.with(3) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                try await writers.getOn()
                try await cluster.nodes[2].kill()
                for _ in 0..<3 {
                    try await writers.getOn()
                    try await snapshot(cluster)
                }
                try await wait(for: "the journal to be trimmed") {
                    try cluster.database.number("SELECT min(position) FROM sluice.journal") > 0
                }
                try await cluster.nodes[2].start()
                try await writers.getOn()
            }
            let names = try await Ledger.content(cluster.nodes[2].url()).names
            #expect(Set(names) == writers.names)
            try await cluster.nodes[2].logged("a database was made of a snapshot")
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `the node that has the duty of snapshots may be killed at any time`() async throws {
        try await NodeCluster.with(3) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for _ in NodeCluster.kills(2) {
                    try await writers.getOn()
                    let command = [
                        "cluster", "snapshot", NodeCluster.databaseName, "--journal=\(cluster.database.url)",
                    ]
                    async let asked = Tool.run(command)
                    let holder = """
                        SELECT node FROM sluice.duty WHERE name = 'snapshot' AND until > clock_timestamp()
                        """
                    var node: NodeProcess?
                    try await wait(for: "somebody to have the duty") {
                        let found = try cluster.database.connect().execute(PostgresStatement(nil, holder))
                        guard found.rowCount == 1 else { return false }
                        node = cluster.nodes.first { $0.name == found.text(0) }
                        node?.signal(SIGKILL)
                        return node != nil
                    }
                    try await node?.restart()
                    // Whoever began it, somebody ends it.
                    let exit = try await asked
                    #expect(exit.code == 0, "\(exit)")
                }
                try await snapshot(cluster)
            }
            #expect(try cluster.database.number("SELECT count(*) FROM sluice.snapshot WHERE state = 2") > 0)
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `verify finds that replicas agree, and which do not`() async throws {
        try await NodeCluster.with(2) { cluster in
            let writers = try await cluster.writers()
            for writer in writers { try await writer.writeOne() }
            let command = ["cluster", "verify", NodeCluster.databaseName, "--journal=\(cluster.database.url)"]
            let right = try await Tool.run(command)
            #expect(right.code == 0 && right.lines.count == 3, "\(right)")
            #expect(right.lines.last?.contains("all have the same") == true, "\(right)")
            try alter("UPDATE o_Entry SET p_writer = 77 WHERE p_name = '0/0'", cluster.nodes[1].replica())
            let wrong = try await Tool.run(command)
            #expect(wrong.code != 0 && wrong.lines.last?.contains("they differ") == true, "\(wrong)")
            let absent = try await Tool.run("cluster", "verify", "none", "--journal=\(cluster.database.url)")
            #expect(absent.code != 0 && absent.diagnostics.contains("no database 'none'"), "\(absent)")
            for writer in writers { await writer.store.close() }
        }
    }

    @Test func `a server's databases become a cluster's and a server's again, and stores go on`() async throws {
        let database = try await PostgresServer.shared.value.database()
        try await withFolder { folder in
            let journal = "--journal=\(database.url)"
            let port = try UnusedPort.next()
            func serve(_ options: [String] = []) async throws -> ServerProcess {
                try await ServerProcess.start(folder: folder + "/data", port: port, options: options)
            }
            func stop(_ server: ServerProcess) async throws {
                server.process.signal(SIGTERM)
                #expect(try await server.process.finish().code == 0)
            }
            let url = "ws://127.0.0.1:\(port)/\(NodeCluster.databaseName)"
            var server = try await serve()
            try await Ledger.begin(url)
            let writer = try await LedgerWriter(0, [url])
            try await writer.writeOne()
            for round in 0..<2 {
                let running = try await Tool.run("cluster", "adopt", journal, "--data=\(folder)/data")
                #expect(running.code != 0 && running.diagnostics.contains("another server has it open"), "\(running)")
                try await stop(server)
                try await writer.writeLocally()
                let adopted = try await Tool.run("cluster", "adopt", journal, "--data=\(folder)/data")
                #expect(adopted.code == 0 && adopted.lines.count == 1, "\(adopted)")
                let twice = try await Tool.run("cluster", "adopt", journal, "--data=\(folder)/data")
                #expect(twice.code != 0 && twice.diagnostics.contains("of this cluster already"), "\(twice)")
                server = try await serve([journal, "--node=a\(round)"])
                let other = try await ServerProcess.start(
                    folder: folder + "/other\(round)", options: [journal, "--node=b\(round)"])
                try await writer.writeOne()
                #expect(try await Set(Ledger.content(other.url()).names) == writer.names)
                try await stop(server)
                try await writer.writeLocally()
                let detached = try await Tool.run("cluster", "detach", journal, "--data=\(folder)/data")
                #expect(detached.code == 0 && detached.lines.count == 1, "\(detached)")
                server = try await serve()
                try await writer.writeOne()
                #expect(try await Set(Ledger.content(url).names) == writer.names)
                try await stop(other)
            }
            #expect(writer.resetCount == 0)
            await writer.store.close()
            try await stop(server)
        }
    }

    @Test func `a replica alone becomes a server's database when PostgreSQL is lost`() async throws {
        try await withFolder { folder in
            let journal = "--journal=\(try await PostgresServer.shared.value.database().url)"
            let node = try await ServerProcess.start(folder: folder + "/data", options: [journal, "--node=a"])
            try await Ledger.begin(node.url())
            let writer = try await LedgerWriter(0, [node.url()])
            for _ in 0..<3 { try await writer.writeOne() }
            await writer.store.close()
            node.process.signal(SIGKILL)
            _ = try await node.process.finish()
            let copied = try await Tool.run(
                "cluster", "detach", NodeCluster.databaseName, "--offline", "--data=\(folder)/data",
                "--to=\(folder)/copy")
            #expect(copied.code == 0, "\(copied)")
            let detached = try await Tool.run("cluster", "detach", "--offline", "--data=\(folder)/data")
            #expect(detached.code == 0 && detached.lines.count == 1, "\(detached)")
            for name in ["data", "copy"] {
                let server = try await ServerProcess.start(folder: "\(folder)/\(name)")
                #expect(try await Set(Ledger.content(server.url()).names) == writer.names)
                server.process.signal(SIGKILL)
                _ = try await server.process.finish()
            }
        }
    }
}

#endif
