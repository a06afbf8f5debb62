import Foundation
import SluiceJSON
import SluiceModel
import SluiceStorage
import Testing

@testable import SluiceAccess

/// What ends with a revocation, whatever clocks say; and what becomes of identities when a user's record changes.
struct RevocationTests {
    private let clock = TestClock()

    private func directory(_ path: String? = nil) throws -> UserDirectory {
        try UserDirectory(
            path, parameters: .init(costExponent: 4, blockSize: 8, parallelism: 1), now: { [clock] in clock.now })
    }

    /// The identity of a token whose `iat` is so many seconds ahead of the server's clock.
    private func token(ahead seconds: Int64?, method: LoginIdentity.Method = .token) -> LoginIdentity {
        LoginIdentity(
            userID: "ada", method: method,
            issuedAt: seconds.map { Timestamp(microseconds: clock.now.microseconds + $0 * 1_000_000) })
    }

    private func admit(_ identity: LoginIdentity, _ directory: UserDirectory) async -> LoginIdentity? {
        await withCheckedContinuation { continuation in
            directory.admit(identity) { continuation.resume(returning: try? $0.get().identity) }
        }
    }

    @Test(arguments: [-3_600, -1, 0, 1, 30, 300, 600, nil] as [Int64?])
    func aTokenOfBeforeTheRevocationIsOverForEver(ahead: Int64?) async throws {
        let directory = try directory()
        let token = token(ahead: ahead)
        let session = try #require(await admit(token, directory))
        #expect(try directory.standing(of: session) == .unchanged)
        clock.advance(seconds: 1)
        try directory.revoke("ada")
        #expect(try directory.standing(of: session) == .over)
        for wait in [0, 10, 300, 3_600] as [Int64] {
            clock.advance(seconds: wait)
            #expect(await admit(token, directory) == nil, "\(wait)")
        }
    }

    @Test func aTokenOfTheFutureThatComesForTheFirstTimeAfterTheRevocationIsRefused() async throws {
        let directory = try directory()
        try directory.revoke("ada")
        clock.advance(seconds: 1)
        #expect(await admit(token(ahead: 300), directory) == nil)
        // The clock of the issuer is not that far ahead.
        clock.advance(seconds: 601)
        #expect(await admit(token(ahead: 300), directory) != nil)
    }

    @Test(arguments: [0, 5, 300] as [Int64])
    func aTokenOfAfterTheRevocationIsTaken(ahead: Int64) async throws {
        let directory = try directory()
        _ = await admit(token(ahead: ahead), directory)
        try directory.revoke("ada")
        clock.advance(seconds: 1)
        let next = token(ahead: ahead)
        // Where the issuer's clock is ahead, nobody knows before the token's time has come.
        clock.advance(seconds: ahead)
        let session = try #require(await admit(next, directory))
        #expect(try directory.standing(of: session) == .unchanged)
    }

    @Test(arguments: [0, -3_600, 3_600] as [Int64])
    func aSessionEndsWithTheRevocationHoweverTheClockIsSetMeanwhile(step: Int64) async throws {
        for method: LoginIdentity.Method in [.token, .custom] {
            let directory = try directory()
            try directory.revoke("ada")
            clock.advance(seconds: 10)
            let session = try #require(await admit(token(ahead: 0, method: method), directory))
            clock.advance(seconds: step)
            try directory.revoke("ada")
            #expect(try directory.standing(of: session) == .over, "\(method)")
        }
    }

    @Test func whoeverIsRevokedWhileAFunctionDecidesIsRefused() async throws {
        let directory = try directory()
        let asked = token(ahead: 0, method: .custom)
        #expect(await admit(asked, directory) != nil)
        clock.advance(seconds: 1)
        try directory.revoke("ada")
        #expect(await admit(asked, directory) == nil)
        #expect(await admit(token(ahead: 0, method: .custom), directory) != nil)
    }

    @Test func revocationsByAnotherProcessKnowWhatTheServerHasSeen() async throws {
        let path = NSTemporaryDirectory() + "users-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try directory(path)
        let token = token(ahead: 300)
        _ = await admit(token, directory)
        let command = try UserFile(path)
        try command.revoke("ada", now: clock.now.microseconds)
        command.close()
        clock.advance(seconds: 301)
        #expect(await admit(token, directory) == nil)
        directory.close()
    }

    @Test func theTimeOfARevocationAscendsThoughTheClockDoesNot() throws {
        let file = try UserFile(nil)
        var times: [Int64] = []
        for now in [100, 100, 50, 101, 500] as [Int64] {
            try file.revoke("ada", now: now)
            times.append(try #require(try file.revocation(of: "ada")))
        }
        #expect(times == [100, 101, 102, 103, 500])
    }

    @Test func otherClaimsAreTheUsersAtOnce() async throws {
        let directory = try directory()
        let parameters = PasswordHash.Parameters(costExponent: 4, blockSize: 8, parallelism: 1)
        let hash = try #require(PasswordHash(of: Array("correct horse".utf8), parameters: parameters))
        let admin = #"{"role":"admin"}"#
        _ = try directory.access {
            try $0.add(UserRecord(name: "ada", password: hash.text, claims: admin, createdAt: 0))
        }
        let admission = await withCheckedContinuation { continuation in
            directory.logIn(name: "ada", password: Array("correct horse".utf8), from: "1") {
                continuation.resume(returning: try? $0.get())
            }
        }
        var identity = try #require(admission?.identity)
        #expect(try directory.standing(of: identity) == .unchanged)
        _ = try directory.access { try $0.setClaims("{}", of: "ada") }
        #expect(try directory.standing(of: identity) == .changed(claims: .object([])))
        identity.claims = .object([])
        #expect(try directory.standing(of: identity) == .unchanged)
        _ = try directory.access { try $0.remove("ada", now: clock.now.microseconds) }
        #expect(try directory.standing(of: identity) == .over)
    }
}
