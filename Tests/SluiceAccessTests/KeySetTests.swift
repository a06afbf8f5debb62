import SluiceModel
import Testing

@testable import SluiceAccess

struct KeySetTests {
    private let fixtures: TokenFixtures

    init() throws { fixtures = try TokenFixtures() }

    @Test func aSetKeepsTheKeysThatCanVerifyAndLeavesOutTheOthers() throws {
        #expect(try KeySet(Array(fixtures.keySet.utf8)).count == 4)
    }

    @Test func aKeyThatDoesNotSayItsAlgorithmIsForTheIssuers() throws {
        let token = try SignedToken(Array(fixtures.unnamedToken.utf8))
        let rs256 = try #require(try KeySet(Array(fixtures.unnamedKeySet.utf8)).key(of: token))
        #expect(try fixtures.rules.identity(of: token, key: rs256, now: fixtures.now).userID == "user-1")
        let pss = try KeySet(Array(fixtures.unnamedKeySet.utf8), rsaAlgorithm: .ps256)
        #expect(pss.key(of: token) == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AAAA"}]}"#,
        #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, #"{"keys":[{"kty":"RSA"}]}"#, #"{"keys":[7]}"#,
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}"#, #"{"keys":[],"keys":[]}"#,
    ])
    func whatHasNoUsableKeyIsRefused(text: String) {
        #expect(throws: KeySetError.self) { try KeySet(Array(text.utf8)) }
    }

    @Test func twoKeysOfOneNameAreRefused() {
        let key = #"{"kty":"OKP","crv":"Ed25519","kid":"a","x":"\#(String(repeating: "A", count: 43))"}"#
        let error = #expect(throws: KeySetError.self) { try KeySet(Array(#"{"keys":[\#(key),\#(key)]}"#.utf8)) }
        #expect(error?.message.contains("kid") == true)
    }

    @Test func moreKeysOrBytesThanTheLimitAreRefused() {
        let many = "{\"keys\":[" + Array(repeating: "{}", count: KeySet.keyCountMax + 1).joined(separator: ",") + "]}"
        #expect(throws: KeySetError.self) { try KeySet(Array(many.utf8)) }
        #expect(throws: KeySetError.self) { try KeySet([UInt8](repeating: 0x20, count: KeySet.byteCountMax + 1)) }
    }

    @Test(arguments: [
        ("google", "https://accounts.google.com"), ("auth0/a.eu.auth0.com", "https://a.eu.auth0.com/"),
        ("microsoft/0f-1", "https://login.microsoftonline.com/0f-1/v2.0"),
        ("firebase/my-app", "https://securetoken.google.com/my-app"),
        ("supabase/abc", "https://abc.supabase.co/auth/v1"),
        ("google/x", nil), ("microsoft", nil), ("microsoft/", nil), ("auth0/a/b", nil), ("", nil),
    ])
    func aPresetStandsForItsIssuer(name: String, issuer: String?) {
        #expect(Discovery.preset(name) == issuer)
    }

    @Test func discoveryTakesTheKeysOfTheVeryIssuer() throws {
        let issuer = "https://a.example/x"
        #expect(Discovery.url(of: issuer) == "https://a.example/x/.well-known/openid-configuration")
        #expect(Discovery.url(of: issuer + "/") == "https://a.example/x/.well-known/openid-configuration")
        func keys(_ page: String) throws -> String { try Discovery.keysURL(Array(page.utf8), issuer: issuer) }
        #expect(
            try keys(#"{"issuer":"https://a.example/x","jwks_uri":"https://k.example/k"}"#) == "https://k.example/k")
        for page in [
            #"{"issuer":"https://a.example/x/","jwks_uri":"https://k.example/k"}"#,
            #"{"issuer":"https://a.example/x","jwks_uri":"http://k.example/k"}"#,
            #"{"issuer":"https://a.example/x"}"#, "<html>", "",
        ] {
            #expect(throws: KeySetError.self) { try keys(page) }
        }
    }
}
