import Foundation
import SluiceModel
import Testing
import UserTrials

@testable import SluiceAccess
@testable import SluiceStorage

struct UserFileTests {
    private let cheap = PasswordHash.Parameters(costExponent: 4, blockSize: 8, parallelism: 1)

    private func withFile(_ body: (String) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test(arguments: UserTrial.all)
    func `a file of users does what every store of users has to do`(_ trial: UserTrial) async throws {
        try await trial.run(UserBench(try UserFile(nil)))
        try await withFile { path in
            let (store, another) = (try UserFile(path), try UserFile(path))
            try await trial.run(UserBench(store, another: another))
            store.close()
            another.close()
        }
    }

    @Test func theFileHasNeitherPasswordsNorTokens() async throws {
        try await withFile { path in
            let store = try UserFile(path)
            let directory = UserDirectory(store, parameters: cheap, now: { TestClock().now })
            let hash = try #require(PasswordHash(of: Array("correct horse".utf8), parameters: cheap))
            let user = UserRecord(name: "ada", password: hash.text, createdAt: 0)
            #expect(try store.write(about: "ada") { try $0.add(user) })
            let admission = await withCheckedContinuation { continuation in
                directory.logIn(name: "ada", password: Array("correct horse".utf8), from: "1") {
                    continuation.resume(returning: try? $0.get())
                }
            }
            let token = try #require(admission?.sessionToken)
            directory.close()
            let bytes = try Data(contentsOf: URL(filePath: path))
            for secret in ["correct horse", token, String(token.suffix(43))] {
                #expect(bytes.range(of: Data(secret.utf8)) == nil)
            }
            #expect(bytes.range(of: Data("ada".utf8)) != nil)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func whatAnotherProcessChangesIsSeen() throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (server, command) = (try UserFile(path), try UserFile(path))
        _ = try server.hasChanged()
        #expect(try !server.hasChanged())
        try command.write(about: "ada") { try $0.revoke("ada", now: 5) }
        #expect(try server.hasChanged())
        #expect(try !server.hasChanged())
        #expect(try server.read { try $0.revocation(of: "ada") } == 5)
    }

    @Test func `a file of a newer format is refused`() throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try UserFile(path).close()
        let newer = try SQLiteConnection(path: path, access: .write)
        try newer.execute("PRAGMA user_version = 2")
        newer.close()
        let error = #expect(throws: StorageError.self) { try UserFile(path) }
        #expect(error?.code == .newerFormat)
        #expect(error?.message.contains("has format 2, and this version reads up to 1") == true)
    }

    @Test func aFileOfAnotherKindIsLeftAsItIs() throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("not a database, and long enough to be looked at".utf8).write(to: URL(filePath: path))
        #expect(throws: StorageError.self) { try UserFile(path) }
        #expect(try Data(contentsOf: URL(filePath: path)).count == 47)
    }
}
