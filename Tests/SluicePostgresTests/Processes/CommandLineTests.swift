#if PostgreSQL

import Foundation
import Glibc
import TestSupport
import Testing

@testable import SluicePostgres

/// What `sluice` says about a cluster, and what it refuses.
struct CommandLineTests {
    private let server: PostgresServer

    init() async throws { server = try await PostgresServer.shared.value }

    /// The complaint of a server that does not start.
    private func refusal(_ folder: String, journal: String?) async throws -> String {
        let options = journal.map { ["--journal=\($0)", "--node=refused"] } ?? []
        let exit = try await Tool.run(["serve", "--data=\(folder)", "--listen=127.0.0.1:0", "--dev"] + options)
        #expect(exit.code != 0 && exit.lines.isEmpty, "\(exit.lines)")
        return exit.diagnostics
    }

    /// Serves a folder until it has a database.
    private func fill(_ folder: String, journal: String?) async throws {
        let options = journal.map { ["--journal=\($0)"] } ?? []
        let server = try await ServerProcess.start(folder: folder, options: options)
        defer { server.process.signal(SIGKILL) }
        try await Ledger.begin(server.url())
        server.process.signal(SIGTERM)
        #expect(try await server.process.finish().code == 0)
    }

    @Test func `a journal that does not answer, or has no tables, is refused with what to do`() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            let absent = try await refusal(folder + "/a", journal: "postgres://sluice@127.0.0.1:\(port)/none")
            #expect(absent.contains("does not answer"), "\(absent)")
            let empty = try await refusal(folder + "/b", journal: try server.emptyDatabase().url)
            #expect(empty.contains("sluice cluster init"), "\(empty)")
            let unreadable = try await refusal(folder + "/c", journal: "mysql://sluice@127.0.0.1/none")
            #expect(unreadable.contains("postgres://"), "\(unreadable)")
        }
    }

    @Test func `a folder is served as what it is: databases, or replicas of one cluster`() async throws {
        let journal = try server.database().url
        try await withFolder { folder in
            try await fill(folder + "/own", journal: nil)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/own")
            let own = try await refusal(folder + "/own", journal: journal)
            #expect(own.contains("has databases that are no replicas"), "\(own)")
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder + "/own")) == Set(files))
            try await fill(folder + "/own", journal: nil)

            try await fill(folder + "/replicas", journal: journal)
            let alone = try await refusal(folder + "/replicas", journal: nil)
            #expect(alone.contains("has replicas of a cluster") && alone.contains("--journal=URL"), "\(alone)")
            let history = try #require(FileManager.default.contents(atPath: folder + "/replicas/server.history"))
            try Data("1:7\n".utf8).write(to: URL(filePath: folder + "/replicas/server.history"))
            let other = try await refusal(folder + "/replicas", journal: try server.database().url)
            #expect(other.contains("replicas of another cluster"), "\(other)")
            // What the node knows of its own server is kept.
            #expect(FileManager.default.contents(atPath: folder + "/replicas/server.history") == Data("1:7\n".utf8))
            try history.write(to: URL(filePath: folder + "/replicas/server.history"))
            try await fill(folder + "/replicas", journal: journal)
        }
    }

    @Test func `init makes the tables once, and prints SQL that psql runs`() async throws {
        let database = try server.emptyDatabase()
        for said in ["were made", "are there"] {
            let exit = try await Tool.run("cluster", "init", "--journal=\(database.url)")
            #expect(exit.code == 0 && exit.lines == ["the cluster's tables \(said)"], "\(exit)")
        }
        let byHand = try server.emptyDatabase()
        let role = "role_\(byHand.name)"
        try byHand.run("CREATE ROLE \(role) LOGIN")
        let printed = try await Tool.run("cluster", "init", "--print", "--role=\(role)")
        #expect(printed.code == 0)
        let sql = printed.lines.joined(separator: "\n")
        let psql = try await run(
            "psql", ["-X", "-v", "ON_ERROR_STOP=1", "-q", "-d", byHand.url, "-c", sql])
        guard let psql else { return print("skipped: there is no psql") }
        #expect(psql.code == 0, "\(psql.diagnostics)")
        try await withFolder { try await fill($0 + "/node", journal: byHand.url(user: role)) }
    }

    @Test func `a node whose role has no rights says which command gives them, and serves after it`() async throws {
        let database = try server.database()
        let role = "told_\(database.name)"
        try database.run("CREATE ROLE \(role) LOGIN")
        try await withFolder { folder in
            let said = try await refusal(folder + "/node", journal: database.url(user: role))
            #expect(said.contains("sluice cluster init --role=\(role)"), "\(said)")
            let exit = try await Tool.run("cluster", "init", "--journal=\(database.url)", "--role=\(role)")
            #expect(exit.code == 0 && exit.lines.last == "the role \(role) has the rights of a node", "\(exit)")
            try await fill(folder + "/node", journal: database.url(user: role))
        }
    }

    /// PostgreSQL only warns a role that gives rights which it cannot give.
    @Test func `a role that does not own the tables cannot say that another one has its rights`() async throws {
        let database = try server.database()
        let (member, other) = ("member_\(database.name)", "other_\(database.name)")
        for role in [member, other] { try database.run("CREATE ROLE \(role) LOGIN") }
        try PostgresCluster.initialize(database.url, role: member)
        let journal = "--journal=\(database.url(user: member))"
        let refused = try await Tool.run("cluster", "init", journal, "--role=\(other)")
        #expect(refused.code == 1 && refused.lines.isEmpty, "\(refused)")
        #expect(refused.diagnostics.contains("owner of the tables"), "\(refused)")
        let has = try await Tool.run("cluster", "init", journal, "--role=\(member)")
        #expect(has.code == 0 && has.lines.last == "the role \(member) has the rights of a node", "\(has)")
    }

    @Test func `import and rules deploy make databases of a cluster, and other commands do not`() async throws {
        try await NodeCluster.with(1) { cluster in
            let node = cluster.nodes[0]
            let (rows, rules) = (node.folder + "-rows.csv", node.folder + "-rules.json")
            try "key,n\na,1\n".write(toFile: rows, atomically: true, encoding: .utf8)
            try #"{"classes": {"Row": {"read": true}}}"#.write(toFile: rules, atomically: true, encoding: .utf8)
            let asked = try await Tool.run("query", node.url("rows"), "Row")
            #expect(asked.code == 1 && asked.diagnostics.contains("has no database 'rows'"), "\(asked)")
            let imported = try await Tool.run("import", node.url("rows"), "Row", rows, "--key=key")
            #expect(imported.code == 0, "\(imported)")
            #expect(try await Tool.run("query", node.url("rows"), "Row", "--format=csv").lines.count == 2)
            let deployed = try await Tool.run("rules", "deploy", node.url("ruled"), rules, "--create")
            #expect(deployed.code == 0, "\(deployed)")
            let names = try PostgresCluster.status(cluster.database.url).databases.map(\.name)
            #expect(names.sorted() == ["rows", "ruled"])
            // A node that starts again says which server it has met, though it is the one from before.
            try await node.stop()
            try await node.start()
            try await node.logged("the journal's server is connected")
        }
    }

    @Test func `a name or an address of a node that others could not use is refused`() async throws {
        let journal = "postgres://sluice@127.0.0.1/none"
        for option in [
            "--node=" + String(repeating: "n", count: 256), "--node=two\nlines", "--node= ",
            "--node-url=http://a.example", "--node-url=ws://a.example:99999", "--node-url=ws://a.example/shop",
        ] {
            let exit = try await Tool.run(
                "serve", "--data=/nowhere", "--listen=127.0.0.1:0", "--dev", "--journal=\(journal)", option)
            #expect(exit.code == 64 && exit.diagnostics.contains(option.prefix { $0 != "=" }), "\(option): \(exit)")
        }
    }

    @Test func `status says which nodes and databases there are, in words and as JSON`() async throws {
        try await NodeCluster.with(2) { cluster in
            for node in cluster.nodes { try await Ledger.begin(node.url()) }
            try await cluster.waitForOneHead()
            let journal = "--journal=\(cluster.database.url)"
            let text = try await Tool.run("cluster", "status", journal)
            #expect(text.code == 0)
            for words in ["node a: alive", "node b: alive", "database test: position", "a lacks 0, b lacks 0"] {
                #expect(text.lines.contains { $0.contains(words) }, "\(words): \(text.lines)")
            }
            let json = try await Tool.run("cluster", "status", journal, "--format=json")
            let status = try JSONDecoder().decode(
                ClusterStatus.self, from: Data(json.lines.joined(separator: "\n").utf8))
            #expect(json.code == 0 && status.tables == ClusterTables.version)
            #expect(status.nodes.map(\.name) == ["a", "b"] && status.nodes.allSatisfy(\.isAlive))
            let database = try #require(status.databases.first)
            #expect(database.name == "test" && database.position > 0)
            #expect(status.nodes.allSatisfy { status.lag(of: $0, in: database) == 0 })
        }
        let absent = try await Tool.run("cluster", "status", "--journal=\(try server.emptyDatabase().url)")
        #expect(absent.code != 0 && absent.diagnostics.contains("sluice cluster init"), "\(absent)")
    }
}

#endif
