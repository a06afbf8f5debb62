import SluiceServer
import SluiceTransport
import Testing

/// What a server that is not for development must be told before it starts.
struct ServerLoginConfigurationTests {
    private static let secret = [UInt8](repeating: 7, count: 32)

    private func refusal(_ change: (inout ServerConfiguration) -> Void) -> String {
        var configuration = ServerConfiguration(port: 0)
        configuration.allowsEverything = true
        change(&configuration)
        do {
            _ = try SyncServer(configuration)
            return "started"
        } catch {
            return "\(error)"
        }
    }

    @Test func aServerNeedsAWayToLogIn() {
        #expect(refusal { _ in }.contains("no login method"))
        #expect(refusal { $0.logins.allowsAnonymous = true } == "started")
    }

    @Test func aServerWithoutRulesMustBeToldThatEverythingIsAllowed() {
        let message = refusal {
            $0.logins.hasUsers = true
            $0.allowsEverything = false
        }
        #expect(message.contains("name a rules file"))
        #expect(
            refusal {
                $0.logins.hasUsers = true
                $0.allowsEverything = false
                $0.rules = "{}"
            } == "started")
        #expect(
            refusal {
                $0.logins.hasUsers = true; $0.rules = "{}"
            }.contains("contradict"))
    }

    @Test func rulesThatAreWrongAreRefusedWithThePlace() {
        let message = refusal {
            $0.logins.hasUsers = true
            $0.allowsEverything = false
            $0.rules = "{\"classes\": {\"Car\": {\"reed\": \"TRUEPREDICATE\"}}}"
        }
        #expect(message.contains("line 1") && message.contains("reed"))
    }

    @Test(arguments: [("127.0.0.1", true), ("::1", true), ("localhost", true), ("0.0.0.0", false), ("10.0.0.1", false)])
    func credentialsNeedTLSBeyondLoopback(host: String, starts: Bool) {
        func outcome(_ change: (inout ServerConfiguration) -> Void) -> String {
            refusal {
                $0.host = host
                change(&$0)
            }
        }
        #expect(outcome { $0.logins.hasUsers = true }.contains("in the clear") != starts)
        #expect(outcome { $0.logins.sharedSecret = Self.secret }.contains("in the clear") != starts)
        #expect(
            outcome {
                $0.logins.hasUsers = true
                $0.isBehindTLSProxy = true
            } == "started")
        #expect(
            outcome {
                $0.logins.hasUsers = true
                $0.certificate = .init(chainFile: "chain", keyFile: "key")
            } == "started")
        #expect(outcome { $0.logins.allowsAnonymous = true } == "started")
    }

    @Test func aSecretThatIsTooShortIsRefused() {
        #expect(refusal { $0.logins.sharedSecret = Array(Self.secret.dropLast()) }.contains("32 or more"))
    }

    @Test func usersOfTwoSourcesMustBeTold() {
        let issuer = TokenIssuer(issuer: "https://a.example", audiences: ["x"], keys: .secret(Self.secret))
        var named = issuer
        named.name = "a"
        #expect(refusal { $0.logins.issuers = [issuer] } == "started")
        for issuers in [[issuer], [named]] {
            let message = refusal {
                $0.logins.hasUsers = true
                $0.logins.issuers = issuers
            }
            #expect((message == "started") == (issuers == [named]), "\(message)")
        }
        #expect(refusal { $0.logins.issuers = [named, named] }.contains("twice"))
    }

    @Test(arguments: ["http://a.example", "a.example"])
    func anIssuerWhoseKeysCannotBeFetchedSafelyIsRefused(url: String) {
        let message = refusal { $0.logins.issuers = [TokenIssuer(issuer: url, audiences: ["x"])] }
        #expect(message.contains("https"))
    }

    @Test func anIssuerNeedsAnAudienceAndKeys() {
        #expect(refusal { $0.logins.issuers = [TokenIssuer(issuer: "https://a", audiences: [])] }.contains("audience"))
        let missing = TokenIssuer(issuer: "https://a", audiences: ["x"], keys: .file("/nowhere/keys"))
        #expect(refusal { $0.logins.issuers = [missing] }.contains("/nowhere/keys"))
        let short = TokenIssuer(issuer: "https://a", audiences: ["x"], keys: .secret([1]))
        #expect(refusal { $0.logins.issuers = [short] }.contains("32 or more"))
    }

    @Test func aDevelopmentServerHasNoLogins() {
        let message = refusal {
            $0.isDevelopment = true
            $0.allowsEverything = false
            $0.logins.hasUsers = true
        }
        #expect(message.contains("leave out"))
    }
}
