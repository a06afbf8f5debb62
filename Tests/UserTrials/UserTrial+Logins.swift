import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceStorage
import Synchronization

extension UserTrial {
    static let logins = [
        UserTrial("a password gives a token") { try await $0.aPasswordGivesASessionTokenThatLogsInAgain() },
        UserTrial("one answer") { try await $0.wrongPasswordsUnknownUsersAndMadeUpTokensGetOneAnswer() },
        UserTrial("the sixth try waits") { try await $0.theSixthTryHasToWait() },
        UserTrial("an account is unlocked") { try await $0.aLockedAccountIsSeenAndUnlockedByAnotherProcess() },
        UserTrial("other parameters") { try await $0.otherParametersAreStoredWithTheNextLoginAndEndNoSession() },
        UserTrial("another password") { try await $0.anotherPasswordEndsTheLoginsOfTheOldOne() },
        UserTrial("revoked and removed") { try await $0.revokingAndRemovingEndLogins() },
        UserTrial("30 days") { try await $0.aTokenThatIsNotUsedFor30DaysIsOverAndOneInUseIsNot() },
        UserTrial("a long session") { try await $0.aSessionThatStaysConnectedKeepsItsToken() },
        UserTrial("no token") { try await $0.whoWantsNoTokenLeavesNoLogin() },
        UserTrial("claims without a login") { try await $0.whoHasNoTokenHasTheClaimsOfNow() },
        UserTrial("a token's successor") { try await $0.anOldTokenHoldsUntilItsSuccessorIsUsedAndThenEndsTheLogin() },
        UserTrial("a stolen token") { try await $0.aStolenTokenHasOpenSessionsLookedAt() },
        UserTrial("a token used today") { try await $0.aTokenThatWasUsedTodayWritesNothing() },
        UserTrial("a token on two servers") { try await $0.aTokenThatFollowsOnTwoServersAtOnceIsOneLogin() },
        UserTrial("a password during a login") { try await $0.whoLogsInWhileThePasswordChangesHasNoLogin() },
    ]
}

extension UserBench {
    func aPasswordGivesASessionTokenThatLogsInAgain() async throws {
        let directory = directory()
        try add("ada", "correct horse", claims: #"{"role":"admin"}"#)
        let login = await directory.logIn("ada", "correct horse")
        let first = try login.get()
        try expect(first.identity.userID == "ada" && first.identity.method == .password)
        try expect(first.identity.claims["role"]?.string == "admin")
        let second = try await directory.logIn(login.token).get()
        try expect(second.identity.userID == "ada" && second.identity.method == .session)
        try expect(second.sessionToken == nil)
    }

    func wrongPasswordsUnknownUsersAndMadeUpTokensGetOneAnswer() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        for (name, password) in [("ada", "wrong horse"), ("eve", "correct horse"), ("", ""), ("a:b", "x")] {
            try expect(await directory.logIn(name, password, from: name).refusal == .refused, name)
        }
        let token = "sluice_session_" + String(repeating: "A", count: 43)
        try expect(await directory.logIn(token).refusal == .refused)
        try expect(await directory.logIn("").refusal == .refused)
    }

    func theSixthTryHasToWait() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        for _ in 0..<5 { try expect(await directory.logIn("ada", "wrong horse").refusal == .refused) }
        try expect(
            await directory.logIn("ada", "correct horse").refusal
                == .later(milliseconds: 1_000, reason: .tooManyTries))
        clock.advance(seconds: 1)
        try expect(await directory.logIn("ada", "correct horse").refusal == nil)
    }

    func aLockedAccountIsSeenAndUnlockedByAnotherProcess() async throws {
        let directory = directory()
        for name in ["ada", "bob"] { try add(name, "correct horse") }
        let locks = { [another] in try another.read { try $0.locks() } }
        // Each from another address, since addresses wait, too.
        func fail(_ name: String, _ number: Int) async throws {
            try expect(await directory.logIn(name, "wrong horse", from: "\(name) \(number)").refusal == .refused)
        }
        for name in ["ada", "bob", "eve"] { for number in 1...4 { try await fail(name, number) } }
        _ = await directory.logIn("nobody", "", from: "9")
        try expect(try locks().isEmpty)
        for name in ["ada", "bob", "eve"] { try await fail(name, 5) }
        // Its answer comes after what was to be stored before it.
        _ = await directory.logIn("nobody", "", from: "9")
        let until = now + 1_000_000
        try expect(
            try locks() == [
                UserLock(name: "ada", until: until, failureCount: 5),
                UserLock(name: "bob", until: until, failureCount: 5),
            ])
        try expect(try another.write(about: "ada") { try $0.unlock("ada") })
        try expect(try !another.write(about: "ada") { try $0.unlock("ada") })
        directory.releaseUnlocked()
        try expect(await directory.logIn("ada", "correct horse", from: "8").refusal == nil)
        try expect(await directory.logIn("bob", "correct horse", from: "8").refusal != nil)
        try expect(try directory.unlock("bob"))
        try expect(await directory.logIn("bob", "correct horse", from: "8").refusal == nil)
        // What is over is forgotten with the next lock.
        for number in 1...5 { try await fail("ada", number) }
        _ = await directory.logIn("nobody", "", from: "9")
        clock.advance(seconds: 3_600)
        for number in 1...5 { try await fail("bob", number) }
        _ = await directory.logIn("nobody", "", from: "9")
        try expect(try locks().map(\.name) == ["bob"])
    }

    func otherParametersAreStoredWithTheNextLoginAndEndNoSession() async throws {
        let directory = directory(costExponent: 5)
        try add("ada", "correct horse")
        let first = try await directory.logIn("ada", "correct horse").get()
        try expect(try store.read { try $0.user("ada")?.password.hasPrefix("$scrypt$5$") } == true)
        try expect(try directory.standing(of: first.identity) == .unchanged)
        try expect(await directory.logIn("ada", "correct horse").refusal == nil)
    }

    func anotherPasswordEndsTheLoginsOfTheOldOne() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let login = await directory.logIn("ada", "correct horse")
        let hash = try Self.hash("battery staple")
        try expect(try another.write(about: "ada") { try $0.setPassword(hash, of: "ada") })
        try expect(try directory.standing(of: try login.get().identity) == .over)
        try expect(await directory.logIn(try login.token).refusal == .refused)
        try expect(await directory.logIn("ada", "battery staple").refusal == nil)
    }

    func revokingAndRemovingEndLogins() async throws {
        let directory = directory()
        for name in ["ada", "eve"] { try add(name, "correct horse") }
        let ada = try await directory.logIn("ada", "correct horse").get()
        let eve = try await directory.logIn("eve", "correct horse").get()
        try directory.revoke("ada")
        try expect(try directory.standings(of: [eve.identity, ada.identity]) == [.unchanged, .over])
        try expect(await directory.logIn("ada", "correct horse").refusal == nil)
        let now = now
        try expect(try another.write(about: "eve") { try $0.remove("eve", now: now) })
        try expect(try directory.standing(of: eve.identity) == .over)
        try expect(await directory.logIn("eve", "correct horse").refusal == .refused)
        // A token is ended alone.
        let logins = [await directory.logIn("ada", "correct horse"), await directory.logIn("ada", "correct horse")]
        try directory.revoke(token: try logins[0].token)
        try expect(try directory.standings(of: try logins.map { try $0.get().identity }) == [.over, .unchanged])
        try expect(await directory.logIn(try logins[0].token).refusal == .refused)
        try expect(await directory.logIn(try logins[1].token).refusal == nil)
    }

    func aTokenThatIsNotUsedFor30DaysIsOverAndOneInUseIsNot() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        var token = try await directory.logIn("ada", "correct horse").token
        for _ in 0..<4 {
            clock.advance(seconds: 29 * 86_400)
            token = try await directory.logIn(token).get().sessionToken ?? token
        }
        clock.advance(seconds: 30 * 86_400)
        try expect(await directory.logIn(token).refusal == .refused)
    }

    func aSessionThatStaysConnectedKeepsItsToken() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let login = await directory.logIn("ada", "correct horse")
        for _ in 0..<3 {
            clock.advance(seconds: 20 * 86_400)
            try expect(try directory.standing(of: try login.get().identity) == .unchanged)
        }
        try expect(await directory.logIn(try login.token).refusal == nil)
    }

    func anOldTokenHoldsUntilItsSuccessorIsUsedAndThenEndsTheLogin() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let first = try await directory.logIn("ada", "correct horse").token
        clock.advance(seconds: 7 * 86_400)
        let lost = try await directory.logIn(first).token
        let second = try await directory.logIn(first).token
        try expect(await directory.logIn(lost).refusal == .refused)
        try expect(await directory.logIn(second).refusal == nil)
        // Whoever presents the old one now is not who got the new one.
        try expect(await directory.logIn(first).refusal == .refused)
        try expect(await directory.logIn(second).refusal == .refused)
    }

    func aStolenTokenHasOpenSessionsLookedAt() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let first = try await directory.logIn("ada", "correct horse").token
        clock.advance(seconds: 7 * 86_400)
        let second = try await directory.logIn(first).token
        let session = try await directory.logIn(second).get()
        let looks = Counter()
        directory.watch { looks.add() }
        try expect(await directory.logIn(first).refusal == .refused)
        try expect(looks.count > 0)
        try expect(try directory.standing(of: session.identity) == .over)
        directory.close()
    }

    func aTokenThatWasUsedTodayWritesNothing() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let login = await directory.logIn("ada", "correct horse")
        guard let id = try login.get().identity.loginID else { throw TrialFailure("no login") }
        func usedAt() throws -> Int64? { try store.read { try $0.logins([id])[0]?.login.usedAt } }
        let first = try usedAt()
        clock.advance(seconds: 86_399)
        try expect(await directory.logIn(try login.token).refusal == nil)
        try expect(try usedAt() == first)
        clock.advance(seconds: 1)
        try expect(await directory.logIn(try login.token).refusal == nil)
        try expect(try usedAt() == now)
    }

    func whoWantsNoTokenLeavesNoLogin() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        for _ in 0..<3 {
            let admission = try await directory.logIn("ada", "correct horse", wantsToken: false).get()
            try expect(admission.sessionToken == nil && admission.identity.loginID == nil)
            try expect(admission.identity.userID == "ada" && admission.identity.method == .password)
        }
        try expect(try store.read { try $0.allLogins() }.isEmpty)
        try expect(await directory.logIn("ada", "wrong horse", wantsToken: false).refusal == .refused)
        // A hash with other parameters is stored all the same, and the login is not.
        let other = self.directory(costExponent: 5)
        _ = try await other.logIn("ada", "correct horse", wantsToken: false).get()
        try expect(try store.read { try $0.allLogins() }.isEmpty)
        let stored = try store.read { try $0.user("ada") }
        try expect(stored?.password.hasPrefix("$scrypt$5$") == true, stored?.password ?? "")
    }

    func whoHasNoTokenHasTheClaimsOfNow() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let identity = try await directory.logIn("ada", "correct horse", wantsToken: false).get().identity
        try expect(try directory.standing(of: identity) == .unchanged)
        _ = try store.write(about: "ada") { try $0.setClaims(#"{"role":"admin"}"#, of: "ada") }
        guard case .changed(let claims) = try directory.standing(of: identity) else {
            throw TrialFailure("the claims have not changed")
        }
        try expect(claims["role"]?.string == "admin")
        try directory.revoke("ada")
        try expect(try directory.standing(of: identity) == .over)
    }

    /// However the two servers take turns, no token that either has given is taken for a stolen one before its successor
    /// was used.
    func aTokenThatFollowsOnTwoServersAtOnceIsOneLogin() async throws {
        let servers = [directory(), directory(of: another)]
        try add("ada", "correct horse")
        var token = try await servers[0].logIn("ada", "correct horse").token
        for _ in 0..<5 {
            clock.advance(seconds: 7 * 86_400)
            let presented = token
            async let one = servers[0].logIn(presented)
            async let other = servers[1].logIn(presented)
            let given = [try await one.token, try await other.token]
            // The one that was stored last holds.
            let held = [await servers[0].logIn(given[0]), await servers[1].logIn(given[1])]
            try expect(held.count { $0.refusal == nil } == 1, "\(held)")
            token = held[0].refusal == nil ? given[0] : given[1]
        }
    }

    /// The login is made before the new password, and ends with it, or is refused.
    func whoLogsInWhileThePasswordChangesHasNoLogin() async throws {
        let directory = directory()
        try add("ada", "correct horse")
        let hash = try Self.hash("correct horse")
        for _ in 0..<10 {
            async let login = directory.logIn("ada", "correct horse")
            try expect(try another.write(about: "ada") { try $0.setPassword(hash, of: "ada") })
            guard let token = try? await login.token, let identity = try? await login.get().identity else { continue }
            if try directory.standing(of: identity) == .over {
                try expect(await directory.logIn(token).refusal == .refused)
            }
        }
    }
}

/// Counts what several threads do.
final class Counter: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func add() { number.withLock { $0 += 1 } }
}
