#if PostgreSQL

import Foundation
import Glibc
import Sluice
import SluiceModel
import TestSupport
import Testing

@testable import SluicePostgres

/// How nodes reach PostgreSQL, and what administrators do beside them, as processes.
struct NodeOptionTests {
    @Test func `a node listens at the address that is named for that`() async throws {
        try await NodeCluster.with(2) { cluster in
            let node = cluster.nodes[0]
            try await node.kill()
            node.moreOptions = ["--journal-listen=\(cluster.database.url)?application_name=listener"]
            try await node.start()
            let writers = try await cluster.writers()
            try await writers.whileWriting { try await writers.getOn() }
            let listeners = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                  AND application_name = 'listener'
                """
            #expect(try cluster.database.number(listeners) == 1)
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `a node takes six connections at most`() async throws {
        try await NodeCluster.with(2) { cluster in
            let writers = try await cluster.writers()
            let count =
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'a' AND datname = current_database()"
            var most: Int64 = 0
            try await writers.whileWriting {
                for _ in 0..<10 {
                    // More databases than connections, which are opened at once.
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<8 {
                            let url = cluster.nodes[0].url("other-\(number)")
                            group.addTask { try await Ledger.begin(url) }
                        }
                        try await group.waitForAll()
                    }
                    try await writers.getOn(by: 1)
                    most = max(most, try cluster.database.number(count))
                }
            }
            #expect(most > 2 && most <= 6, "\(most)")
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `the password comes from the file that PGPASSFILE names`() async throws {
        let database = try await PostgresServer.shared.value.database()
        // The server asks this user alone for one.
        let isThere = try database.number("SELECT count(*) FROM pg_roles WHERE rolname = 'with_password'") == 1
        if !isThere {
            // Another test may make it meanwhile.
            _ = try? database.run("CREATE ROLE with_password LOGIN SUPERUSER PASSWORD 'r1ght'")
        }
        try await withFolder { folder in
            let file = folder + "/passwords"
            let made = FileManager.default.createFile(
                atPath: file, contents: Data("127.0.0.1:*:*:with_password:r1ght\n".utf8),
                attributes: [.posixPermissions: 0o600])
            try #require(made)
            let options = ["--journal=\(database.url(user: "with_password"))", "--node=a"]
            let refused = try await Tool.run(
                ["serve", "--data=\(folder)/without", "--listen=127.0.0.1:0", "--dev"] + options)
            #expect(refused.code != 0 && refused.diagnostics.contains("check user, password"), "\(refused)")
            let server = try await ServerProcess.start(
                folder: folder + "/node", options: options, environment: ["PGPASSFILE": file])
            try await Ledger.begin(server.url())
            try await server.kill()
        }
    }

    @Test func `an epoch is for the owner of the tables, and costs each store one return`() async throws {
        try await NodeCluster.with(2) { cluster in
            let role = "user_of_\(cluster.database.name)"
            try cluster.database.run("CREATE ROLE \(role) LOGIN")
            try PostgresCluster.initialize(cluster.database.url, role: role)
            try await Ledger.begin(cluster.nodes[0].url())
            let client = try await CountingClient(cluster.urls(from: 0))
            try await client.write()
            func epoch(as user: String, _ more: String...) async throws -> ChildProcess.Exit {
                try await Tool.run(["cluster", "epoch", "--journal=\(cluster.database.url(user: user))"] + more)
            }
            let refused = try await epoch(as: role)
            #expect(refused.code != 0 && refused.diagnostics.contains("owner of the tables"), "\(refused)")
            let begun = try await epoch(as: "sluice")
            #expect(begun.code == 0 && begun.lines == ["an epoch begins in 1 database"], "\(begun)")
            try await client.write()
            try await wait(for: "the client to come again") { client.openingCount == 2 }
            let named = try await epoch(as: "sluice", NodeCluster.databaseName)
            #expect(named.code == 0 && named.lines == ["database test: an epoch begins"], "\(named)")
            try await client.write()
            try await wait(for: "the client to come again") { client.openingCount == 3 }
            #expect(client.resetCount == 0)
            await client.store.close()
            for node in cluster.nodes { #expect(try await Ledger.content(node.url()).names.count == 3) }
            try await cluster.compare()
        }
    }

    @Test func `some databases leave a cluster for another folder, and the others go on`() async throws {
        try await NodeCluster.with(2) { cluster in
            let node = cluster.nodes[0]
            for name in [NodeCluster.databaseName, "leaving"] { try await Ledger.begin(node.url(name)) }
            try await node.stop()
            let target = node.folder + "-alone"
            let detached = try await Tool.run(
                "cluster", "detach", "leaving", "--journal=\(cluster.database.url)", "--data=\(node.folder)",
                "--to=\(target)")
            #expect(detached.code == 0 && detached.lines.count == 1, "\(detached)")
            let alone = try await ServerProcess.start(folder: target)
            #expect(try await Ledger.content(alone.url("leaving")).names.isEmpty)
            try await alone.kill()
            try await node.start()
            let writer = try await LedgerWriter(0, [node.url()])
            try await writer.writeOne()
            // The cluster has it no more.
            #expect(
                try PostgresCluster.status(cluster.database.url).databases.first { $0.name == "leaving" }?.isDetached
                    == true)
            try await cluster.checkAgreement([writer])
        }
    }

    @Test func `the users of a cluster leave it with its databases`() async throws {
        let options = ["--users", "--allow-everything"]
        try await NodeCluster.with(1, options: options) { cluster in
            let node = cluster.nodes[0]
            let file = node.folder + "-password"
            try "correct horse".write(toFile: file, atomically: true, encoding: .utf8)
            let added = try await Tool.run(
                "users", "add", "--journal=\(cluster.database.url)", "--name=ada", "--password-file=\(file)")
            #expect(added.code == 0, "\(added)")
            let credentials = Credentials.password(user: "ada", password: "correct horse")
            let store = try await Ledger.store([node.url()], credentials: credentials)
            try await store.write {
                try $0.insert(Record(Ledger.entry.get(), ["name": .string("x"), "writer": .int(0)]))
            }
            try await store.uploaded(timeout: waitMax)
            await store.close()
            try await node.stop()
            let detached = try await Tool.run(
                "cluster", "detach", "--journal=\(cluster.database.url)", "--data=\(node.folder)")
            #expect(detached.code == 0, "\(detached)")
            let alone = try await ServerProcess.start(folder: node.folder, options: options, isDevelopment: false)
            let again = try await Ledger.store([alone.url()], access: .readOnly, credentials: credentials)
            #expect(try await again.records("Entry").synced(timeout: waitMax).count == 1)
            await again.close()
            try await alone.kill()
        }
    }
}

#endif
