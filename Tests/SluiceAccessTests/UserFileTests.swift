import Foundation
import SluiceModel
import Synchronization
import TestSupport
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

    /// A file that holds a user and a login, on a disk that can then only be read.
    private func withReadOnlyDisk(
        prepare: (String) throws -> Void = { _ in }, _ body: (SmallDisk, String, DayClock) async throws -> Void
    ) async throws {
        guard let disk = SmallDisk() else { return }
        let path = disk.path + "/server.users"
        let store = try UserFile(path)
        let hash = try #require(PasswordHash(of: Array("correct horse".utf8), parameters: cheap))
        let user = UserRecord(name: "ada", password: hash.text, createdAt: 0)
        #expect(try store.write(about: "ada") { try $0.add(user) })
        store.close()
        try prepare(path)
        #expect(disk.remount(isReadOnly: true))
        try await body(disk, path, DayClock())
    }

    private final class DayClock: Sendable {
        private let time = Mutex<Int64>(1_700_000_000_000_000)

        var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

        func advance(days: Int64) { time.withLock { $0 += days * 86_400_000_000 } }
    }

    private func logIn(_ directory: UserDirectory, password: String) async -> Result<Admission, LoginRefusal> {
        await withCheckedContinuation { continuation in
            directory.logIn(name: "ada", password: Array(password.utf8), from: "1") {
                continuation.resume(returning: $0)
            }
        }
    }

    private func logIn(_ directory: UserDirectory, token: String) async -> Result<Admission, LoginRefusal> {
        await withCheckedContinuation { continuation in
            directory.logIn(token: Array(token.utf8)) { continuation.resume(returning: $0) }
        }
    }

    @Test func `users of a file that may not be written log in, and are changed once it may be`() async throws {
        try await withReadOnlyDisk { disk, path, clock in
            let recoveries = Mutex(0)
            let file = try UserFile(path) { recoveries.withLock { $0 += 1 } }
            let directory = UserDirectory(file, parameters: cheap, now: { clock.now })
            #expect(file.obstacle?.code == .readOnly && directory.obstacle?.message.contains(path) == true)
            let admission = try await logIn(directory, password: "correct horse").get()
            #expect(admission.identity.userID == "ada" && admission.sessionToken == nil)
            await #expect(throws: LoginRefusal.self) { try await logIn(directory, password: "wrong horse").get() }
            #expect(try directory.standings(of: [admission.identity]) == [.unchanged])
            let error = #expect(throws: StorageError.self) { try directory.revoke("ada") }
            #expect(error?.code == .readOnly && error?.message.contains("cannot be written") == true)
            #expect(try file.read { try $0.users().map(\.user.name) } == ["ada"])
            #expect(try file.read { try $0.locks() }.isEmpty)
            _ = try file.hasChanged()

            #expect(disk.remount(isReadOnly: false))
            // Whoever looks for changes finds out, and so does whoever writes.
            #expect(try file.hasChanged() && file.obstacle == nil)
            #expect(recoveries.withLock { $0 } == 1)
            #expect(try await logIn(directory, password: "correct horse").get().sessionToken != nil)
            try directory.revoke("ada")
            #expect(try directory.standings(of: [admission.identity]) == [.over])
            directory.close()
        }
    }

    @Test func `a session token holds as it is while its file may not be written`() async throws {
        let token = SessionToken()
        try await withReadOnlyDisk(prepare: { path in
            let store = try UserFile(path)
            _ = try store.write(about: "ada") {
                try $0.addLogin(of: "ada", hash: token.hash, now: 1_700_000_000_000_000)
            }
            store.close()
        }) { disk, path, clock in
            let directory = UserDirectory(try UserFile(path), parameters: cheap, now: { clock.now })
            let first = try await logIn(directory, token: token.text).get()
            // Old enough for a use to be noted, and then for another token.
            for _ in 0..<2 {
                clock.advance(days: 8)
                let again = try await logIn(directory, token: token.text).get()
                #expect(again.identity.loginID == first.identity.loginID && again.sessionToken == nil)
                #expect(try directory.standings(of: [first.identity]) == [.unchanged])
            }
            clock.advance(days: 30)
            await #expect(throws: LoginRefusal.self) { try await logIn(directory, token: token.text).get() }
            #expect(disk.remount(isReadOnly: false))
            directory.close()
        }
    }

    @Test func `a file that may not be written and lacks the table of locks is read all the same`() async throws {
        try await withReadOnlyDisk(prepare: { path in
            let older = try SQLiteConnection(path: path, access: .write)
            try older.execute("DROP TABLE locks")
            older.close()
        }) { _, path, _ in
            let file = try UserFile(path)
            #expect(try file.read { try ($0.locks(), $0.users().count) } == ([], 1))
            file.close()
        }
    }

    @Test func `a missing or empty file that may not be written is refused with the reason`() async throws {
        try await withReadOnlyDisk(prepare: { path in
            #expect(FileManager.default.createFile(atPath: path + "-empty", contents: nil))
        }) { _, path, _ in
            let missing = #expect(throws: StorageError.self) { try UserFile(path + "-missing") }
            #expect(missing?.message.contains("cannot be opened: Read-only file system") == true)
            let empty = #expect(throws: StorageError.self) { try UserFile(path + "-empty") }
            #expect(empty?.code == .readOnly && empty?.message.contains("is empty") == true)
        }
    }

    @Test func `a write that a crash has cut off is named where it cannot be undone`() async throws {
        try await withReadOnlyDisk(prepare: { path in
            // What SQLite leaves beside a file whose writer has died: the journal of the pages as they were.
            let writer = try SQLiteConnection(path: path, access: .write)
            try writer.execute("PRAGMA cache_size = 1")
            try writer.execute("PRAGMA cache_spill = 1")
            try writer.begin()
            let padding = String(repeating: "x", count: 100)
            for number in 0..<5_000 {
                try writer.execute("INSERT INTO revocations (user, at) VALUES ('\(padding) \(number)', 1)")
            }
            for suffix in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: path + "2" + suffix)
            }
            writer.rollback()
            writer.close()
        }) { disk, path, _ in
            let error = #expect(throws: StorageError.self) { try UserFile(path + "2") }
            #expect(error?.code == .readOnly && error?.message.contains("crashed") == true, "\(error?.message ?? "")")
            #expect(disk.remount(isReadOnly: false))
            let file = try UserFile(path + "2")
            #expect(try file.read { try $0.allDates() }.isEmpty)
            file.close()
        }
    }

    @Test func aFileOfAnotherKindIsLeftAsItIs() throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("not a database, and long enough to be looked at".utf8).write(to: URL(filePath: path))
        #expect(throws: StorageError.self) { try UserFile(path) }
        #expect(try Data(contentsOf: URL(filePath: path)).count == 47)
    }
}
