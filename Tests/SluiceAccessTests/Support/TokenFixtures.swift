import Foundation
import SluiceAccess
import SluiceJSON
import SluiceModel
import Testing

/// Tokens and key sets that other implementations have made; see `Tests/Tokens/make_tokens.py`.
struct TokenFixtures {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let token: String
        let expected: String

        var testDescription: String { name }
    }

    static let shared: TokenFixtures? = try? TokenFixtures()

    let now: Timestamp
    let rules: TokenRules
    let keySet: String
    let unnamedKeySet: String
    let unnamedToken: String
    let secret: [UInt8]
    let secretToken: String
    let cases: [Case]

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Tokens/tokens.json")
        let json = try JSONParser.parse(try String(contentsOf: file, encoding: .utf8))
        func text(_ name: String, in value: JSONValue? = nil) -> String { (value ?? json)[name]?.string ?? "" }
        guard case .integer(let seconds)? = json["now"] else { throw CocoaError(.fileReadCorruptFile) }
        now = Timestamp(microseconds: seconds * 1_000_000)
        rules = TokenRules(issuer: text("issuer"), audiences: [text("audience")])
        keySet = text("keySet")
        unnamedKeySet = text("unnamedKeySet")
        unnamedToken = text("unnamedToken")
        secret = Hexadecimal.decode(text("secret")) ?? []
        secretToken = text("secretToken")
        cases = (json["cases"]?.array ?? []).map {
            Case(name: text("name", in: $0), token: text("token", in: $0), expected: text("expected", in: $0))
        }
    }

    /// A token that is taken.
    var good: [UInt8] { Array((cases.first { $0.name == "ES256 by PyJWT" }?.token ?? "").utf8) }
}
