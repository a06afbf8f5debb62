import SluiceAccess
import SluiceModel

/// Tokens and key sets, as strangers and issuers send them: taken apart, and checked with what keys there are.
enum TokenTarget {
    private static let rules = TokenRules(issuer: "https://issuer.example", audiences: ["sluice"])
    private static let now = Timestamp(microseconds: 1_700_000_000_000_000)
    private static let key = VerificationKey(secret: [UInt8](repeating: 7, count: 32))

    static func run(_ bytes: [UInt8]) {
        guard let token = try? SignedToken(bytes), let key else { return }
        var rules = rules
        rules.algorithms = [.hs256]
        let identity = try? rules.identity(of: token, key: key, now: now)
        precondition(
            identity == nil || token.algorithm == .hs256, "a token was taken by an algorithm of its own choice")
    }

    static func runKeySet(_ bytes: [UInt8]) {
        guard let keys = try? KeySet(bytes) else { return }
        precondition((1...KeySet.keyCountMax).contains(keys.count))
        _ = try? Discovery.keysURL(bytes, issuer: "https://issuer.example")
    }
}
