#if PostgreSQL

import Foundation
import Sluice
import Synchronization
import TestSupport
import Testing

/// What a command changes about users holds at every node, also in the sessions that are open there.
struct SharedUsersTests {
    /// Runs `sluice users` on a cluster.
    private struct Users {
        let cluster: NodeCluster

        @discardableResult
        func run(_ action: String, _ name: String? = nil, password: String? = nil, claims: String? = nil) async throws
            -> [String]
        {
            var arguments = ["users", action, "--journal=\(cluster.database.url)"]
            if let name { arguments.append("--name=\(name)") }
            if let claims { arguments.append("--claims=\(claims)") }
            if let password {
                let file = cluster.nodes[0].folder + "/password"
                try password.write(toFile: file, atomically: true, encoding: .utf8)
                arguments.append("--password-file=\(file)")
            }
            let exit = try await Tool.run(arguments)
            #expect(exit.code == 0, "\(exit)")
            return exit.lines
        }
    }

    /// A store that shows the entries, and remembers all that it has ever shown.
    private final class Reader: Sendable {
        let store: Store
        private let seen = Seen()
        private let observation: NotificationToken

        private final class Seen: Sendable { let names = Mutex<Set<String>>([]) }

        init(_ url: String, _ credentials: Credentials) async throws {
            store = try await Ledger.store([url], access: .readOnly, credentials: credentials)
            observation = try store.records("Entry").observe { [seen] change in
                seen.names.withLock { $0.formUnion(change.results.compactMap { $0["name"]?.text }) }
            }
        }

        var names: Set<String> { seen.names.withLock { $0 } }

        func waitToSee(_ name: String) async throws { try await wait(for: "an entry \(name)") { names.contains(name) } }

        /// Waits until no server takes the store's credentials.
        func waitForRefusal() async throws {
            try await wait(for: "a refusal") { store.session?.status.state == .needsCredentials }
        }
    }

    private func write(_ name: String, to store: Store, writer: Int64 = 0) async throws {
        let entry = try Record(Ledger.entry.get(), ["name": .string(name), "writer": .int(writer)])
        try await store.write { try $0.upsert(entry) }
        try await store.uploaded(timeout: waitMax)
    }

    @Test func `who has another password, is revoked or removed has no session at any node`() async throws {
        try await NodeCluster.with(2, options: ["--users", "--allow-everything"]) { cluster in
            let users = Users(cluster: cluster)
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            try await users.run("add", "eve", password: "correct horse")
            let author = try await Ledger.store(
                [first.url()], credentials: .password(user: "eve", password: "correct horse"))
            let witness = try await Reader(second.url(), .session(try await token(of: author)))
            for action in ["passwd", "revoke", "remove"] {
                let name = "user-\(action)"
                try await users.run("add", name, password: "battery staple")
                // The login is made at one node, and its token is presented at the other.
                let login = try await Ledger.store(
                    [first.url()], credentials: .password(user: name, password: "battery staple"))
                let token = try await token(of: login)
                await login.close()
                let reader = try await Reader(second.url(), .session(token))
                try await write("before \(action)", to: author)
                try await reader.waitToSee("before \(action)")
                try await users.run(action, name, password: action == "passwd" ? "another staple" : nil)
                // Nothing else happens at the second node than what the first one commits.
                try await second.logged("a session ended", "\"user\":\"\(name)\"")
                try await write("after \(action)", to: author)
                try await witness.waitToSee("after \(action)")
                try await reader.waitForRefusal()
                #expect(!reader.names.contains("after \(action)"))
                for node in cluster.nodes {
                    let again = try await Reader(node.url(), .session(token))
                    try await again.waitForRefusal()
                    #expect(again.names.isEmpty)
                    await again.store.close()
                }
                await reader.store.close()
            }
            // A login whose answer came too late was made again.
            let listed = try await users.run("list")
            #expect(listed.first?.hasPrefix("eve\t") == true && listed.first != "eve\t0 logins", "\(listed)")
            let others = listed.dropFirst().map { $0.split(separator: "\t").prefix(2).joined(separator: " ") }
            #expect(others == ["user-passwd 0 logins", "user-revoke 0 logins", "user-remove no user"], "\(listed)")
            for store in [author, witness.store] { await store.close() }
        }
    }

    private func token(of store: Store) async throws -> String {
        try await store.connected(timeout: waitMax)
        return try #require(try store.sessionToken)
    }

    @Test func `other claims of a user are those of the sessions at all nodes`() async throws {
        let rules = """
            {"database": {"schema": true},
             "classes": {"Entry": {"read": "writer == 0 OR $user.claims.role == 'boss'", "create": true, "update": true}}}
            """
        try await withFolder { folder in
            let file = folder + "/rules.json"
            try rules.write(toFile: file, atomically: true, encoding: .utf8)
            try await NodeCluster.with(2, options: ["--users", "--rules=\(file)"]) { cluster in
                let users = Users(cluster: cluster)
                try await users.run("add", "ada", password: "correct horse", claims: #"{"role":"boss"}"#)
                let credentials = Credentials.password(user: "ada", password: "correct horse")
                let author = try await Ledger.store([cluster.nodes[0].url()], credentials: credentials)
                try await write("0", to: author)
                try await write("1", to: author, writer: 1)
                let reader = try await Reader(cluster.nodes[1].url(), credentials)
                try await reader.waitToSee("1")
                try await users.run("claims", "ada", claims: "{}")
                try await wait(for: "the hidden entry to go") {
                    try reader.store.records("Entry").fetch().map { $0["name"] } == [.string("0")]
                }
                try await write("2", to: author, writer: 1)
                try await write("3", to: author)
                try await reader.waitToSee("3")
                #expect(!reader.names.contains("2"))
                for store in [author, reader.store] { await store.close() }
            }
        }
    }

    @Test func `users are those of a folder or of a cluster, and a node's folder has none`() async throws {
        try await NodeCluster.with(1, options: ["--users", "--allow-everything"]) { cluster in
            let (node, journal) = (cluster.nodes[0], "--journal=\(cluster.database.url)")
            let both = try await Tool.run("users", "list", journal, "--data=\(node.folder)")
            #expect(both.code == 64 && both.diagnostics.contains("contradict each other"), "\(both)")
            let none = try await Tool.run("users", "list")
            #expect(none.code == 64 && none.diagnostics.contains("--journal=URL"), "\(none)")
            let folder = try await Tool.run("users", "list", "--data=\(node.folder)")
            #expect(folder.code == 1 && folder.diagnostics.contains("--journal=URL in place of --data"), "\(folder)")
            let nobody = try await Tool.run("users", "revoke", journal)
            #expect(nobody.code == 64 && nobody.diagnostics.contains("--name=NAME"), "\(nobody)")
            let unknown = try await Tool.run("users", "remove", journal, "--name=ada")
            #expect(unknown.code == 1 && unknown.diagnostics.contains("there is no user 'ada'"), "\(unknown)")
            let users = Users(cluster: cluster)
            try await users.run("add", "ada", password: "correct horse")
            let again = try await Tool.run(
                "users", "add", journal, "--name=ada", "--password-file=\(node.folder)/password")
            #expect(again.code == 1 && again.diagnostics.contains("there is a user 'ada' already"), "\(again)")
            // A file of users in the folder of a node is named in the log, and left as it is.
            try await node.kill()
            try Data("somebody's".utf8).write(to: URL(filePath: node.folder + "/server.users"))
            try await node.start()
            try await node.logged("file of users is not used", "--journal=URL")
            #expect(try Data(contentsOf: URL(filePath: node.folder + "/server.users")).count == 10)
            let absent = try await Tool.run(
                "users", "list", "--journal=postgres://sluice@127.0.0.1:\(try UnusedPort.next())/none")
            #expect(absent.code == 1 && absent.diagnostics.contains("does not answer"), "\(absent)")
        }
    }
}

#endif
