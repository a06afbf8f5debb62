import SluiceJSON
import SluiceModel
import Testing

@testable import SluiceAccess

struct TokenTests {
    private let fixtures: TokenFixtures

    init() throws { fixtures = try TokenFixtures() }

    @Test(arguments: try TokenFixtures().cases)
    func aTokenOfAnotherImplementationIsTakenOrRefusedForItsReason(example: TokenFixtures.Case) throws {
        let keys = try KeySet(Array(fixtures.keySet.utf8))
        #expect(outcome(example.token, keys) == example.expected)
    }

    @Test func theTableHasEveryAlgorithmAndEveryReasonOfATokenAlone() {
        let reasons = Set(fixtures.cases.map(\.expected))
        #expect(
            reasons == [
                "accepted", "tooLong", "malformed", "algorithm", "extensions", "kind", "issuer", "unknownKey",
                "signature", "audience", "subject", "expired", "notYetValid",
            ])
    }

    @Test func aTokenThatIsCutAnywhereIsRefused() throws {
        let keys = try KeySet(Array(fixtures.keySet.utf8))
        let whole = String(decoding: fixtures.good, as: UTF8.self)
        for length in 0..<whole.utf8.count {
            #expect(outcome(String(whole.prefix(length)), keys) != "accepted")
        }
        #expect(outcome(whole, keys) == "accepted")
    }

    @Test func aTokenWithAnyCharacterChangedIsRefused() throws {
        let keys = try KeySet(Array(fixtures.keySet.utf8))
        for index in fixtures.good.indices {
            var bytes = fixtures.good
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(outcome(String(decoding: bytes, as: UTF8.self), keys) != "accepted", "byte \(index)")
        }
    }

    @Test func aSecretIsAKindOfKeyOfItsOwn() throws {
        var rules = fixtures.rules
        let key = try #require(VerificationKey(secret: fixtures.secret))
        let token = try SignedToken(Array(fixtures.secretToken.utf8))
        #expect(throws: TokenRefusal.algorithm) { try rules.identity(of: token, key: key, now: fixtures.now) }
        rules.algorithms = [.hs256]
        #expect(try rules.identity(of: token, key: key, now: fixtures.now).userID == "user-1")
        #expect(VerificationKey(secret: Array(fixtures.secret.dropLast())) == nil)
    }

    @Test(arguments: [(0, true), (600, true), (601, false)] as [(Int64, Bool)])
    func aTokenIsMadeTenMinutesAheadAtMost(seconds: Int64, isTaken: Bool) throws {
        let token = try SignedToken(fixtures.good)
        let key = try #require(try KeySet(Array(fixtures.keySet.utf8)).key(of: token))
        let now = Timestamp(microseconds: fixtures.now.microseconds - seconds * 1_000_000)
        if isTaken {
            #expect(try fixtures.rules.identity(of: token, key: key, now: now).issuedAt == fixtures.now)
        } else {
            #expect(throws: TokenRefusal.notYetValid) { try fixtures.rules.identity(of: token, key: key, now: now) }
        }
    }

    @Test func anIssuerMayAllowFewerAlgorithms() throws {
        var rules = fixtures.rules
        rules.algorithms = [.rs256]
        let keys = try KeySet(Array(fixtures.keySet.utf8))
        let token = try SignedToken(fixtures.good)
        let key = try #require(keys.key(of: token))
        #expect(throws: TokenRefusal.algorithm) { try rules.identity(of: token, key: key, now: fixtures.now) }
    }

    @Test func anIdentityHasTheClaimsAndTellsNobody() throws {
        var rules = fixtures.rules
        rules.prefix = "corp:"
        let token = try SignedToken(fixtures.good)
        let key = try #require(try KeySet(Array(fixtures.keySet.utf8)).key(of: token))
        let identity = try rules.identity(of: token, key: key, now: fixtures.now)
        #expect(identity.userID == "corp:user-1")
        #expect(identity.claims["role"]?.string == "editor")
        #expect(identity.expiresAt == Timestamp(microseconds: fixtures.now.microseconds + 3_600_000_000))
        #expect(identity.endsAt == Timestamp(microseconds: fixtures.now.microseconds + 3_660_000_000))
        var dumped = "\(identity) \(String(reflecting: identity))"
        dump(identity, to: &dumped)
        #expect(!dumped.contains("editor") && !dumped.contains("user-1"))
    }

    private func outcome(_ text: String, _ keys: KeySet) -> String {
        do throws(TokenRefusal) {
            let token = try SignedToken(Array(text.utf8))
            guard fixtures.rules.concern(token) else { return TokenRefusal.issuer.rawValue }
            guard let key = keys.key(of: token) else { return TokenRefusal.unknownKey.rawValue }
            _ = try fixtures.rules.identity(of: token, key: key, now: fixtures.now)
            return "accepted"
        } catch {
            return error.rawValue
        }
    }
}
