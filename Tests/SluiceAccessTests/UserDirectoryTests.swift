import Foundation
import SluiceJSON
import SluiceModel
import Synchronization
import Testing

@testable import SluiceAccess
@testable import SluiceStorage

struct UserDirectoryTests {
    private let clock = TestClock()
    private let cheap = PasswordHash.Parameters(costExponent: 4, blockSize: 8, parallelism: 1)

    private func directory(_ path: String? = nil, costExponent: Int = 4) throws -> UserDirectory {
        try UserDirectory(
            path, parameters: .init(costExponent: costExponent, blockSize: 8, parallelism: 1),
            now: { [clock] in clock.now })
    }

    private func add(_ name: String, _ password: String, to directory: UserDirectory, claims: String = "{}") throws {
        let hash = try #require(PasswordHash(of: Array(password.utf8), parameters: cheap))
        let user = UserRecord(name: name, password: hash.text, claims: claims, createdAt: 0)
        #expect(try directory.access { try $0.add(user) })
    }

    private func logIn(
        _ name: String, _ password: String, _ directory: UserDirectory, from address: String = "1"
    ) async -> Result<Admission, LoginRefusal> {
        await withCheckedContinuation { continuation in
            directory.logIn(name: name, password: Array(password.utf8), from: address) {
                continuation.resume(returning: $0)
            }
        }
    }

    private func logIn(_ token: String, _ directory: UserDirectory) async -> Result<Admission, LoginRefusal> {
        await withCheckedContinuation { continuation in
            directory.logIn(token: Array(token.utf8)) { continuation.resume(returning: $0) }
        }
    }

    private func refusal(_ result: Result<Admission, LoginRefusal>) -> LoginRefusal? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test func aPasswordGivesASessionTokenThatLogsInAgain() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory, claims: #"{"role":"admin"}"#)
        let first = try await logIn("ada", "correct horse", directory).get()
        #expect(first.identity.userID == "ada" && first.identity.method == .password)
        #expect(first.identity.claims["role"]?.string == "admin")
        let second = try await logIn(try #require(first.sessionToken), directory).get()
        #expect(second.identity.userID == "ada" && second.identity.method == .session)
        #expect(second.sessionToken == nil)
    }

    @Test func wrongPasswordsUnknownUsersAndMadeUpTokensGetOneAnswer() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory)
        for (name, password) in [("ada", "wrong horse"), ("eve", "correct horse"), ("", ""), ("a:b", "x")] {
            #expect(refusal(await logIn(name, password, directory, from: name)) == .refused)
        }
        #expect(refusal(await logIn("sluice_session_" + String(repeating: "A", count: 43), directory)) == .refused)
        #expect(refusal(await logIn("", directory)) == .refused)
    }

    @Test func theSixthTryHasToWait() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory)
        for _ in 0..<5 { #expect(refusal(await logIn("ada", "wrong horse", directory)) == .refused) }
        #expect(
            refusal(await logIn("ada", "correct horse", directory))
                == .later(milliseconds: 1_000, reason: .tooManyTries))
        clock.advance(seconds: 1)
        #expect(refusal(await logIn("ada", "correct horse", directory)) == nil)
    }

    @Test func otherParametersAreStoredWithTheNextLoginAndEndNoSession() async throws {
        let directory = try directory(costExponent: 5)
        try add("ada", "correct horse", to: directory)
        let first = try await logIn("ada", "correct horse", directory).get()
        #expect(try directory.access { try $0.user("ada")?.password.hasPrefix("$scrypt$5$") } == true)
        #expect(try directory.standing(of: first.identity) == .unchanged)
        #expect(refusal(await logIn("ada", "correct horse", directory)) == nil)
    }

    @Test func anotherPasswordEndsTheLoginsOfTheOldOne() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory)
        let login = try await logIn("ada", "correct horse", directory).get()
        let hash = try #require(PasswordHash(of: Array("battery staple".utf8), parameters: cheap)).text
        #expect(try directory.access { try $0.setPassword(hash, of: "ada") })
        #expect(try directory.standing(of: login.identity) == .over)
        #expect(refusal(await logIn(try #require(login.sessionToken), directory)) == .refused)
        #expect(refusal(await logIn("ada", "battery staple", directory)) == nil)
    }

    @Test func revokingAndRemovingEndLogins() async throws {
        let directory = try directory()
        for name in ["ada", "eve"] { try add(name, "correct horse", to: directory) }
        let ada = try await logIn("ada", "correct horse", directory).get()
        let eve = try await logIn("eve", "correct horse", directory).get()
        try directory.revoke("ada")
        #expect(try directory.standing(of: ada.identity) == .over)
        #expect(try directory.standing(of: eve.identity) == .unchanged)
        #expect(refusal(await logIn("ada", "correct horse", directory)) == nil)
        #expect(try directory.access { try $0.remove("eve", now: 1) })
        #expect(try directory.standing(of: eve.identity) == .over)
        #expect(refusal(await logIn("eve", "correct horse", directory)) == .refused)
    }

    @Test func aTokenThatIsNotUsedFor30DaysIsOverAndOneInUseIsNot() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory)
        var token = try #require(try await logIn("ada", "correct horse", directory).get().sessionToken)
        for _ in 0..<4 {
            clock.advance(seconds: 29 * 86_400)
            token = try await logIn(token, directory).get().sessionToken ?? token
        }
        clock.advance(seconds: 30 * 86_400)
        #expect(refusal(await logIn(token, directory)) == .refused)
    }

    @Test func aSessionThatStaysConnectedKeepsItsToken() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory)
        let login = try await logIn("ada", "correct horse", directory).get()
        for _ in 0..<3 {
            clock.advance(seconds: 20 * 86_400)
            #expect(try directory.standing(of: login.identity) == .unchanged)
        }
        #expect(refusal(await logIn(try #require(login.sessionToken), directory)) == nil)
    }

    @Test func anOldTokenHoldsUntilItsSuccessorIsUsedAndThenEndsTheLogin() async throws {
        let directory = try directory()
        try add("ada", "correct horse", to: directory)
        let first = try #require(try await logIn("ada", "correct horse", directory).get().sessionToken)
        clock.advance(seconds: 7 * 86_400)
        let lost = try #require(try await logIn(first, directory).get().sessionToken)
        let second = try #require(try await logIn(first, directory).get().sessionToken)
        #expect(refusal(await logIn(lost, directory)) == .refused)
        #expect(refusal(await logIn(second, directory)) == nil)
        // Whoever presents the old one now is not who got the new one.
        #expect(refusal(await logIn(first, directory)) == .refused)
        #expect(refusal(await logIn(second, directory)) == .refused)
    }

    @Test func theFileHasNeitherPasswordsNorTokens() async throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try directory(path)
        try add("ada", "correct horse", to: directory)
        let token = try #require(try await logIn("ada", "correct horse", directory).get().sessionToken)
        directory.close()
        let bytes = try Data(contentsOf: URL(filePath: path))
        for secret in ["correct horse", token, String(token.suffix(43))] {
            #expect(bytes.range(of: Data(secret.utf8)) == nil)
        }
        #expect(bytes.range(of: Data("ada".utf8)) != nil)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func whatAnotherProcessChangesIsSeen() throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (server, command) = (try UserFile(path), try UserFile(path))
        _ = try server.hasChanged()
        #expect(try !server.hasChanged())
        try command.revoke("ada", now: 5)
        #expect(try server.hasChanged())
        #expect(try !server.hasChanged())
        #expect(try server.revocation(of: "ada") == 5)
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
