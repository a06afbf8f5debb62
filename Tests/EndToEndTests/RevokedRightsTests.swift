import Foundation
import Glibc
import Sluice
import TestSupport
import Testing

/// A user of a production server with a store in a file loses the right to read most of what it has: whatever happens
/// meanwhile, the store ends with what the user may have, and is told why.
@Suite(.serialized)
struct RevokedRightsTests {
    /// What happens to the client or the server when the right is taken away.
    enum Moment: CaseIterable, Sendable, Codable {
        case connected, away, killed, serverKilled
    }

    private static let rules = """
        {"roles": {"admin": "$user.id == 'root'", "editor": "ANY Editor.user == $user.id"},
         "database": {"schema": "$role.admin"},
         "classes": {
          "Plane": {"read": "$role.admin OR $role.editor OR seats == 1", "create": "$role.admin",
                    "update": "$role.admin", "delete": "$role.admin"},
          "Editor": {"read": "$role.admin", "create": "$role.admin", "update": "$role.admin",
                     "delete": "$role.admin"}}}
        """

    private static let (count, publicCount): (Int64, Int64) = (4_000, 5)

    private static func store(_ url: String, _ user: String, path: String? = nil) async throws -> Store {
        var sync = SyncConfiguration(url: url, credentials: .password(user: user, password: "\(user)'s own secret"))
        sync.reconnectDelay = .milliseconds(20)
        sync.reconnectDelayMax = .milliseconds(200)
        let editor = try ClassSchema(
            "Editor", primaryKey: "user", properties: [Property("user", .scalar(.string))])
        let classes = user == "root" ? [try Fixture.plane.get(), editor] : [try Fixture.plane.get()]
        return try await Store.open(StoreConfiguration(path: path, schema: Schema(classes), sync: sync))
    }

    private func withStore<Result>(
        _ url: String, _ user: String, path: String? = nil, _ body: (Store) async throws -> Result
    ) async throws -> Result {
        let store = try await Self.store(url, user, path: path)
        do {
            let result = try await body(store)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }

    /// Gives the planes and takes the role of an editor.
    private func fill(_ url: String) async throws {
        try await withStore(url, "root") { store in
            try await store.write { transaction in
                for number in 0..<Self.count {
                    try transaction.insert(
                        Record(
                            Fixture.plane.get(),
                            [
                                "tail": .string("N\(number)"),
                                "seats": .int(number < Self.publicCount ? 1 : 2 + number),
                            ]))
                }
            }
            let editor = try #require(store.schema.classSchema(named: "Editor"))
            let ada = try Record(editor, ["user": .string("ada")])
            try await store.write { try $0.insert(ada) }
            try await store.uploaded(timeout: waitMax)
        }
    }

    private func revoke(_ url: String) async throws {
        try await withStore(url, "root") { store in
            _ = try await store.found("Editor")
            try await store.write { try $0.delete(Identity(className: "Editor", key: .string("ada"))) }
            try await store.uploaded(timeout: waitMax)
        }
    }

    /// Waits until a store has what its user may have, and nothing else.
    private func checkRest(_ store: Store) async throws {
        let token = try store.records("Plane").observe { _ in }
        defer { token.stop(stopSyncing: false, purgeLocal: false) }
        try await wait(for: "what ada may have") {
            try store.records(ofClass: "Plane").count() == Int(Self.publicCount)
        }
        let found = try await store.found("Plane")
        #expect(found.allSatisfy { $0["seats"] == .int(1) } && found.count == Int(Self.publicCount))
    }

    @Test(arguments: Moment.allCases) func aStoreEndsWithWhatItsUserMayHave(moment: Moment) async throws {
        try await withFolder { folder in
            try Self.rules.write(toFile: folder + "/rules.json", atomically: true, encoding: .utf8)
            for user in ["root", "ada"] {
                let file = "\(folder)/\(user).password"
                try "\(user)'s own secret".write(toFile: file, atomically: true, encoding: .utf8)
                let added = try await Tool.run(
                    "users", "add", "--data=\(folder)/data", "--name=\(user)", "--password-file=\(file)")
                try #require(added.code == 0, "\(added.diagnostics)")
            }
            let port = try UnusedPort.next()
            func start() async throws -> ServerProcess {
                try await ServerProcess.start(
                    folder: folder + "/data", port: port, options: ["--users", "--rules=\(folder)/rules.json"],
                    isDevelopment: false)
            }
            var server = try await start()
            defer { server.process.signal(SIGKILL) }
            let (url, path) = (server.url(), folder + "/ada.sluice")
            try await fill(url)
            switch moment {
            case .connected, .serverKilled:
                try await withStore(url, "ada", path: path) { store in
                    #expect(try await store.found("Plane").count == Int(Self.count))
                    let token = try store.records("Plane").observe { _ in }
                    defer { token.stop(stopSyncing: false, purgeLocal: false) }
                    try await revoke(url)
                    if moment == .serverKilled {
                        try await server.kill()
                        server = try await start()
                    }
                    try await checkRest(store)
                }
            case .away, .killed:
                await #expect(processExitsWith: moment == .killed ? .signal(SIGKILL) : .success) {
                    [url = url as String, path = path as String, moment = moment as Moment] in
                    let store = try await Self.store(url, "ada", path: path)
                    let results = try store.records("Plane")
                    let token = try results.observe { _ in }
                    guard try await results.synced(timeout: waitMax).count == Int(Self.count) else { exit(2) }
                    if moment == .killed { kill(getpid(), SIGKILL) }
                    token.stop(stopSyncing: false, purgeLocal: false)
                    await store.close()
                    exit(0)
                }
                try await revoke(url)
                try await withStore(url, "ada", path: path) { try await checkRest($0) }
            }
            // What is in the file is what remains without a server.
            try await server.kill()
            let count = try await withStore(url, "ada", path: path) { try $0.records(ofClass: "Plane").count() }
            #expect(count == Int(Self.publicCount))
        }
    }
}
