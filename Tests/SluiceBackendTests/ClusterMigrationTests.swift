import Foundation
import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// Databases of a server alone that become a cluster's, and come back.
struct ClusterMigrationTests {
    private let server: TestServer
    private let journals: MemoryJournals

    init() async throws {
        server = try TestServer()
        journals = try MemoryJournals()
        for name in ["a", "b"] {
            let database = try await server.database(name, models: models)
            try await database.putFlight("UA1", delay: 5)
        }
        await server.stop()
    }

    private func flights(_ name: String) async throws -> [String: Int] {
        let found = try await server.database(name, models: models).objects(Flight.self).fetch()
        return Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0.delay) })
    }

    private func adopt() throws -> [String] {
        var moved: [String] = []
        try ClusterMigration(server.folder).adopt(into: journals) { moved.append("\($0)") }
        return moved
    }

    @Test func `databases are adopted with what they have, and come back`() async throws {
        #expect(try adopt().count == 2)
        #expect(try journals.databaseNames == ["a", "b"])
        #expect(throws: ServerError.self) { try server.start() }
        let again = #expect(throws: ServerError.self) { try adopt() }
        #expect(again?.message.contains("already") == true)
        try ClusterMigration(server.folder).detach(nil, to: nil, from: journals) { _ in }
        try server.start()
        #expect(try await flights("a") == ["UA1": 5])
        let sealed = #expect(throws: StorageError.self) { try journals.journal(ofDatabase: "a") }
        #expect(sealed?.message.contains("detached") == true)
        await server.stop()
        #expect(try adopt().count == 2, "what has left may come again")
    }

    /// A folder with a database `a` that has nothing to do with the cluster's.
    private func otherServer() async throws -> TestServer {
        let other = try TestServer()
        try await other.database("a", models: models).putFlight("LH1", delay: 9)
        return other
    }

    private func detach(_ names: [String]?, to target: String?, isMovedAgain: Bool = false) throws -> [String] {
        var moved: [String] = []
        try ClusterMigration(server.folder).detach(names, to: target, isMovedAgain: isMovedAgain, from: journals) {
            moved.append("\($0)")
        }
        return moved
    }

    @Test func `what was detached goes into no other folder, unless somebody says that the first is lost`()
        async throws
    {
        #expect(try adopt().count == 2)
        try await withFolder { folder in
            let (first, second) = (folder + "/first", folder + "/second")
            #expect(try detach(["a"], to: first).count == 1)
            let refused = #expect(throws: StorageError.self) { try detach(["b", "a"], to: second) }
            #expect(refused?.code == .detached, "\(refused as Any)")
            #expect(refused?.message.contains(":\(first), so nothing was detached") == true, "\(refused as Any)")
            _ = try journals.journal(ofDatabase: "b")
            // Into the same one it can be repeated, by another name of it, too.
            #expect(try detach(["a"], to: folder + "/second/../first").count == 1)
            // Of all, what has left is left out, and nobody serves its replica as the database.
            let moved = try detach(nil, to: nil)
            #expect(moved.count == 2 && moved[0].hasPrefix("elsewhere(\"a\"") && moved[1].contains("\"b\""), "\(moved)")
            let names = try FileManager.default.contentsOfDirectory(atPath: server.folder)
            #expect(names.contains("b.sluicedb") && !names.contains("a.sluicedb"), "\(names)")
        }
    }

    @Test func `a detachment of all that is repeated into another folder does nothing, unless the first is lost`()
        async throws
    {
        #expect(try adopt().count == 2)
        try await withFolder { folder in
            #expect(try detach(nil, to: folder + "/first").count == 2)
            let refused = #expect(throws: StorageError.self) { try detach(nil, to: folder + "/second") }
            #expect(refused?.code == .detached && refused?.message.contains("--again") == true, "\(refused as Any)")
            try FileManager.default.removeItem(atPath: folder + "/first")
            #expect(try detach(nil, to: folder + "/second", isMovedAgain: true).count == 2)
            #expect(throws: StorageError.self) { try detach(["a"], to: folder + "/first") }
            // What comes back may leave to wherever it likes.
            try ClusterMigration(folder + "/second").adopt(into: journals) { _ in }
        }
    }

    @Test func `clients of a database that was detached are told what has happened, and what to do`() async throws {
        #expect(try adopt().count == 2)
        try await withFolder { folder in
            var configuration = ServerConfiguration(dataFolder: folder + "/node", port: 0, isDevelopment: true)
            configuration.journals = journals.another()
            let node = try SyncServer(configuration)
            let database = try await node.database("a", models: models)
            var changes = database.objects(Flight.self).changes.makeAsyncIterator()
            #expect(try await changes.next()?.isInitial == true)
            #expect(try detach(["a"], to: folder + "/alone").count == 1)
            do {
                while try await changes.next() != nil {}
                Issue.record("the changes go on")
            } catch let error as ServerError {
                #expect(error.message.contains("was detached from this cluster, and another server has it now"))
                #expect((error.cause as? StorageError)?.code == .detached)
            }
            await node.stop()
        }
    }

    @Test func `what has no place, or is not there, ends no journal`() async throws {
        #expect(try adopt().count == 2)
        let other = try await otherServer()
        let target = server.folder + "/target"
        #expect(throws: ServerError.self, "a server runs there") { try detach(["a"], to: other.folder) }
        await other.stop()
        let taken = #expect(throws: StorageError.self) { try detach(["b", "a"], to: other.folder) }
        #expect(taken?.code == .exists && taken?.message.contains("nothing was detached") == true)
        let absent = #expect(throws: StorageError.self) { try detach(["a", "c"], to: target) }
        #expect(absent?.code == .notFound)
        #expect(throws: ServerError.self, "below a file") { try detach(["a"], to: server.folder + "/server.lock/x") }
        try ReplicaFolder.mark(target, ReplicaFolder.Mark(cluster: journals.clusterID))
        let node = #expect(throws: ServerError.self) { try detach(["a"], to: target) }
        #expect(node?.message.contains("is a node's") == true)
        for name in ["a", "b"] { _ = try journals.journal(ofDatabase: name) }
        try ReplicaFolder.release(target)
        #expect(try detach(["a"], to: target).count == 1)
    }

    @Test func `what was detached already is left out, and users who are there stay`() async throws {
        #expect(try adopt().count == 2)
        for (name, password) in [("ada", "x"), ("bob", "y")] {
            _ = try journals.users.write(about: name) {
                try $0.add(UserRecord(name: name, password: password, createdAt: 1))
            }
        }
        try await withFolder { target in
            let own = try UserFile(target + "/server.users")
            _ = try own.write(about: "ada") { try $0.add(UserRecord(name: "ada", password: "own", createdAt: 1)) }
            own.close()
            #expect(try detach(["a"], to: target).last == "users([\"bob\"], known: [\"ada\"])")
            #expect(try detach(["a", "b"], to: target).count == 3)
            let users = try UserFile(target + "/server.users")
            defer { users.close() }
            #expect(try users.read { try [$0.user("ada")?.password, $0.user("bob")?.password] } == ["own", "y"])
        }
    }

    @Test func `if the cluster has another database of a name, nothing is adopted`() async throws {
        _ = try journals.journal(ofDatabase: "b")
        let error = #expect(throws: StorageError.self) { try adopt() }
        #expect(error?.code == .exists && error?.message.contains("nothing was adopted") == true)
        #expect(try journals.databaseNames == ["b"])
        try server.start()
        #expect(try await flights("a") == ["UA1": 5])
    }

    @Test func `an adoption that did not end is repeated, and no server starts before`() async throws {
        #expect(try adopt().count == 2)
        let cluster = journals.clusterID
        try ReplicaFolder.mark(server.folder, ReplicaFolder.Mark(cluster: cluster, isAdopting: true))
        let error = #expect(throws: ServerError.self) { try server.start() }
        #expect(error?.message.contains("not finished") == true)
        #expect(throws: ServerError.self) { try ReplicaFolder.claim(server.folder, for: cluster) }
        #expect(try adopt().count == 2)
        #expect(try ReplicaFolder.marked(server.folder) == ReplicaFolder.Mark(cluster: cluster))
        try ReplicaFolder.claim(server.folder, for: cluster)
    }

    @Test func `without journals the replicas become a server's as they are, with the users of the adoption`()
        async throws
    {
        let users = try UserFile(server.folder + "/server.users")
        _ = try users.write(about: "ada") { try $0.add(UserRecord(name: "ada", password: "x", createdAt: 1)) }
        users.close()
        #expect(try adopt().last == "users([\"ada\"], known: [])")
        #expect(try journals.users.read { try $0.user("ada")?.password } == "x")
        var moved: [String] = []
        try ClusterMigration(server.folder).detachOffline(nil, to: nil) { moved.append("\($0)") }
        #expect(moved.count == 3 && moved.last == "usersOfAdoption")
        let restored = try UserFile(server.folder + "/server.users")
        #expect(try restored.read { try $0.user("ada")?.password } == "x")
        restored.close()
        try server.start()
        #expect(try await flights("b") == ["UA1": 5])
    }
}
