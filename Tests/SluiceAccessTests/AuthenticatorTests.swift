import SluiceJSON
import SluiceModel
import SluiceStorage
import Synchronization
import Testing

@testable import SluiceAccess

struct AuthenticatorTests {
    private let fixtures: TokenFixtures
    private let clock = TestClock()

    init() throws { fixtures = try TokenFixtures() }

    private func identify(
        _ credentials: [Credential], _ methods: Authenticator.Methods, log: LogSink? = nil
    ) async -> Result<Admission, LoginRefusal> {
        let authenticator = Authenticator(methods, now: { [clock] in clock.now }, log: log)
        return await withCheckedContinuation { continuation in
            authenticator.identify(credentials, from: "1") { continuation.resume(returning: $0) }
        }
    }

    private func method(_ result: Result<Admission, LoginRefusal>) -> String {
        switch result {
        case .success(let admission): admission.identity.method.rawValue
        case .failure(.refused): "refused"
        case .failure(.later(_, let reason)): "later: \(reason.rawValue)"
        }
    }

    private var everything: Authenticator.Methods {
        get throws {
            var methods = Authenticator.Methods()
            methods.allowsAnonymous = true
            methods.sharedSecret = SharedSecret(Array("0123456789abcdef0123456789abcdef".utf8))
            methods.hasUsers = true
            let store = try UserFile(nil)
            let parameters = PasswordHash.Parameters(costExponent: 4, blockSize: 8, parallelism: 1)
            methods.directory = UserDirectory(store, parameters: parameters, now: { [clock] in clock.now })
            let hash = try #require(PasswordHash(of: Array("correct horse".utf8), parameters: parameters))
            try store.write(about: "ada") {
                _ = try $0.add(UserRecord(name: "ada", password: hash.text, createdAt: 0))
            }
            methods.issuers = [.init(fixtures.rules, KeySource(try KeySet(Array(fixtures.keySet.utf8))))]
            return methods
        }
    }

    private var proofs: [(Credential, String)] {
        [
            (.anonymous, "anonymous"), (.sharedSecret(Array("0123456789abcdef0123456789abcdef".utf8)), "sharedSecret"),
            (.password(user: "ada", password: Array("correct horse".utf8)), "password"),
            (.token(fixtures.good), "token"),
        ]
    }

    @Test func eachMethodTakesItsProofAndNoOther() async throws {
        let everything = try everything
        for (proof, expected) in proofs {
            #expect(method(await identify([proof], everything)) == expected)
            #expect(method(await identify([proof], Authenticator.Methods())) == "refused")
        }
        for wrong: Credential in [
            .sharedSecret([]), .sharedSecret(Array("0123456789abcdef0123456789abcdeF".utf8)), .token([]), .unknown,
            .password(user: "ada", password: []), .session(Array("x".utf8)),
        ] {
            #expect(method(await identify([wrong], everything)) == "refused")
        }
    }

    @Test func theFirstThatFitsWins() async throws {
        let everything = try everything
        #expect(
            method(await identify([.unknown, .token([]), .token(fixtures.good), .anonymous], everything)) == "token")
        #expect(method(await identify([.sharedSecret([]), .anonymous], everything)) == "anonymous")
        #expect(method(await identify([], everything)) == "anonymous")
    }

    @Test func noMoreThanEightAreLookedAt() async throws {
        let many = [Credential](repeating: .unknown, count: 8) + [.anonymous]
        #expect(method(await identify(many, try everything)) == "refused")
    }

    @Test func aSecretHas32BytesAtLeast() {
        #expect(SharedSecret([UInt8](repeating: 1, count: 31)) == nil)
        #expect(SharedSecret([UInt8](repeating: 1, count: 32)) != nil)
    }

    @Test func aUserWhoIsRevokedNeedsAYoungerToken() async throws {
        let methods = try everything
        clock.advance(seconds: 10)
        try methods.directory?.revoke("user-1")
        #expect(method(await identify([.token(fixtures.good)], methods)) == "refused")
        try methods.directory?.revoke("somebody else")
        #expect(method(await identify([.token(fixtures.good)], try everything)) == "token")
    }

    @Test func keysThatCannotBeHadAreNoFaultOfTheToken() async throws {
        var methods = Authenticator.Methods()
        let source = KeySource(issuer: "x", now: { [clock] in clock.now }, log: nil) {
            $0(.failure(KeySetError("down")))
        }
        methods.issuers = [.init(fixtures.rules, source)]
        #expect(method(await identify([.token(fixtures.good)], methods)) == "later: unavailable")
        #expect(method(await identify([.token([])], methods)) == "refused")
    }

    @Test func aFunctionOfTheOwnerIsAskedLast() async throws {
        var methods = try everything
        let asked = Gathered<String>()
        methods.custom = { credential, completion in
            asked.append("\(credential)")
            completion(LoginIdentity(userID: "own", method: .custom))
        }
        #expect(method(await identify([.token(fixtures.good)], methods)) == "token")
        #expect(method(await identify([.token(Array("other".utf8))], methods)) == "custom")
        #expect(asked.all == ["a token"])
    }

    @Test func logsAndDescriptionsHaveNoSecrets() async throws {
        let lines = Gathered<String>()
        let log = LogSink(level: .verbose) { lines.append("\($0)") }
        let methods = try everything
        let secrets = ["0123456789abcdef0123456789abcdeX", "wrong-horse", "a-user-name"]
        let bad = fixtures.cases.filter { $0.expected != "accepted" }.map { Credential.token(Array($0.token.utf8)) }
        let presented: [Credential] =
            bad + [
                .sharedSecret(Array(secrets[0].utf8)),
                .password(user: secrets[2], password: Array(secrets[1].utf8)),
            ]
        for credential in presented {
            let result = await identify([credential], methods, log: log)
            var text = "\(credential) \(String(reflecting: credential)) \(result)"
            dump(credential, to: &text)
            lines.append(text)
        }
        let all = lines.all.joined()
        #expect(all.contains("a token was refused"))
        for secret in secrets + ["user-1", "editor", "eyJ"] { #expect(!all.contains(secret)) }
    }
}
