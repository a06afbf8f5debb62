import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceStorage

extension UserTrial {
    static let revocations = [
        UserTrial("a token of before") { try await $0.aTokenOfBeforeTheRevocationIsOverForEver() },
        UserTrial("a token of the future") {
            try await $0.aTokenOfTheFutureThatComesForTheFirstTimeAfterTheRevocationIsRefused()
        },
        UserTrial("a token of after") { try await $0.aTokenOfAfterTheRevocationIsTaken() },
        UserTrial("the clock is set") { try await $0.aSessionEndsWithTheRevocationHoweverTheClockIsSetMeanwhile() },
        UserTrial("a function decides") { try await $0.whoeverIsRevokedWhileAFunctionDecidesIsRefused() },
        UserTrial("another process revokes") { try await $0.revocationsByAnotherProcessKnowWhatTheServerHasSeen() },
        UserTrial("both at once") { try await $0.aTokenOfTheFutureIsOverHoweverItMeetsTheRevocation() },
        UserTrial("ascending times") { try await $0.theTimeOfARevocationAscendsThoughTheClockDoesNot() },
        UserTrial("other claims") { try await $0.otherClaimsAreTheUsersAtOnce() },
        UserTrial("a revocation is undone") { try await $0.aRevocationThatIsUndoneRefusesNothing() },
        UserTrial("nobody's session") { try await $0.aSessionOfNobodyGoesOn() },
    ]
}

/// What ends with a revocation, whatever clocks say; and what becomes of identities when a user's record changes.
extension UserBench {
    /// The identity of a token whose `iat` is so many seconds ahead of the server's clock.
    private func token(
        ahead seconds: Int64?, of name: String = "ada", method: LoginIdentity.Method = .token
    ) -> LoginIdentity {
        LoginIdentity(
            userID: name, method: method,
            issuedAt: seconds.map { Timestamp(microseconds: now + $0 * 1_000_000) })
    }

    private func admitted(_ identity: LoginIdentity, _ directory: UserDirectory) async throws -> LoginIdentity {
        guard let admitted = await directory.admit(identity) else { throw TrialFailure("\(identity) was refused") }
        return admitted
    }

    func aTokenOfBeforeTheRevocationIsOverForEver() async throws {
        let directory = directory()
        for (number, ahead) in ([-3_600, -1, 0, 1, 30, 300, 600, nil] as [Int64?]).enumerated() {
            let name = "user-\(number)"
            let token = token(ahead: ahead, of: name)
            let session = try await admitted(token, directory)
            try expect(try directory.standing(of: session) == .unchanged)
            clock.advance(seconds: 1)
            try directory.revoke(name)
            try expect(try directory.standing(of: session) == .over)
            for wait in [0, 10, 300, 3_600] as [Int64] {
                clock.advance(seconds: wait)
                try expect(await directory.admit(token) == nil, "\(wait)")
            }
        }
    }

    func aTokenOfTheFutureThatComesForTheFirstTimeAfterTheRevocationIsRefused() async throws {
        let directory = directory()
        try directory.revoke("ada")
        clock.advance(seconds: 1)
        try expect(await directory.admit(token(ahead: 300)) == nil)
        // The clock of the issuer is not that far ahead.
        clock.advance(seconds: 601)
        try expect(await directory.admit(token(ahead: 300)) != nil)
    }

    func aTokenOfAfterTheRevocationIsTaken() async throws {
        let directory = directory()
        for ahead in [0, 5, 300] as [Int64] {
            let name = "user-\(ahead)"
            _ = await directory.admit(token(ahead: ahead, of: name))
            try directory.revoke(name)
            clock.advance(seconds: 1)
            let next = token(ahead: ahead, of: name)
            // Where the issuer's clock is ahead, nobody knows before the token's time has come.
            clock.advance(seconds: ahead)
            try expect(try directory.standing(of: try await admitted(next, directory)) == .unchanged)
        }
    }

    func aSessionEndsWithTheRevocationHoweverTheClockIsSetMeanwhile() async throws {
        let directory = directory()
        for step in [0, -3_600, 3_600] as [Int64] {
            for method: LoginIdentity.Method in [.token, .custom] {
                let name = "\(method) \(step)"
                try directory.revoke(name)
                clock.advance(seconds: 10)
                let session = try await admitted(token(ahead: 0, of: name, method: method), directory)
                clock.advance(seconds: step)
                try directory.revoke(name)
                try expect(try directory.standing(of: session) == .over, name)
            }
        }
    }

    func aRevocationThatIsUndoneRefusesNothing() async throws {
        let directory = directory()
        let token = token(ahead: 0)
        clock.advance(seconds: 1)
        try directory.revoke("ada")
        try expect(await directory.admit(token) == nil)
        clock.advance(seconds: 1)
        let later = try await admitted(self.token(ahead: 0), directory)
        try expect(try another.write(about: "ada") { try $0.restore("ada") })
        try expect(try !another.write(about: "ada") { try $0.restore("ada") })
        try expect(try store.read { try $0.revocation(of: "ada") } == nil)
        let session = try await admitted(token, directory)
        try expect(try directory.standings(of: [session, later]) == [.unchanged, .unchanged])
        try directory.revoke("ada")
        try expect(try directory.standings(of: [session, later]) == [.over, .over])
        try expect(await directory.admit(token) == nil)
    }

    func whoeverIsRevokedWhileAFunctionDecidesIsRefused() async throws {
        let directory = directory()
        let asked = token(ahead: 0, method: .custom)
        try expect(await directory.admit(asked) != nil)
        clock.advance(seconds: 1)
        try directory.revoke("ada")
        try expect(await directory.admit(asked) == nil)
        try expect(await directory.admit(token(ahead: 0, method: .custom)) != nil)
    }

    func revocationsByAnotherProcessKnowWhatTheServerHasSeen() async throws {
        let directory = directory()
        let token = token(ahead: 300)
        _ = await directory.admit(token)
        let now = now
        try another.write(about: "ada") { try $0.revoke("ada", now: now) }
        clock.advance(seconds: 301)
        try expect(await directory.admit(token) == nil)
    }

    /// A token that was taken just before the revocation was noted in time, and one that comes just after is refused.
    func aTokenOfTheFutureIsOverHoweverItMeetsTheRevocation() async throws {
        let directory = directory()
        let now = now
        var taken: [LoginIdentity] = []
        for number in 0..<20 {
            let name = "user-\(number)"
            let token = token(ahead: 300, of: name)
            async let admission = directory.admit(token)
            try another.write(about: name) { try $0.revoke(name, now: now) }
            guard let session = await admission else { continue }
            try expect(try directory.standing(of: session) == .over)
            taken.append(token)
        }
        clock.advance(seconds: 301)
        for token in taken { try expect(await directory.admit(token) == nil) }
    }

    func theTimeOfARevocationAscendsThoughTheClockDoesNot() async throws {
        var times: [Int64?] = []
        for now in [100, 100, 50, 101, 500] as [Int64] {
            try store.write(about: "ada") { try $0.revoke("ada", now: now) }
            times.append(try another.read { try $0.revocation(of: "ada") })
        }
        try expect(times == [100, 101, 102, 103, 500], "\(times)")
    }

    func otherClaimsAreTheUsersAtOnce() async throws {
        let directory = directory()
        try add("ada", "correct horse", claims: #"{"role":"admin"}"#)
        var identity = try await directory.logIn("ada", "correct horse").get().identity
        try expect(try directory.standing(of: identity) == .unchanged)
        try expect(try another.write(about: "ada") { try $0.setClaims("{}", of: "ada") })
        try expect(try directory.standing(of: identity) == .changed(claims: .object([])))
        identity.claims = .object([])
        try expect(try directory.standing(of: identity) == .unchanged)
        let now = now
        try expect(try another.write(about: "ada") { try $0.remove("ada", now: now) })
        try expect(try directory.standing(of: identity) == .over)
    }

    func aSessionOfNobodyGoesOn() async throws {
        let directory = directory()
        let nobody = LoginIdentity(userID: nil, method: .anonymous)
        let ada = try await admitted(token(ahead: 0), directory)
        try directory.revoke("ada")
        try expect(try directory.standings(of: [nobody, ada, nobody]) == [.unchanged, .over, .unchanged])
    }
}
