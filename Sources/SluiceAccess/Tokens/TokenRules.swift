internal import SluiceJSON
package import SluiceModel

/// What the tokens of one issuer must say.
package struct TokenRules: Hashable, Sendable {
    /// How far ahead of the server's clock `iat` may be, in microseconds. It says from when a revocation counts, and
    /// gives no right, so it may differ by more than the times that do (``LoginIdentity/skew``).
    static let leadMax: Int64 = 600_000_000

    /// What `iss` must be, byte for byte.
    package var issuer: String
    /// What `aud` must name one of.
    package var audiences: [String]
    /// Which algorithms the issuer's keys may have.
    package var algorithms: Set<SignatureAlgorithm>
    /// What the ids of the issuer's users begin with, so that no other login gives the same id to somebody else.
    package var prefix: String

    package init(
        issuer: String, audiences: [String], algorithms: Set<SignatureAlgorithm> = SignatureAlgorithm.asymmetric,
        prefix: String = ""
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.prefix = prefix
    }

    /// Whether a token claims to be of this issuer.
    package func concern(_ token: SignedToken) -> Bool {
        token.claims["iss"]?.string.map { UTF8Order.equal($0, issuer) } ?? false
    }

    /// Checks a token with the key that its issuer has for it.
    ///
    /// - Throws: ``TokenRefusal``.
    package func identity(
        of token: SignedToken, key: VerificationKey, now: Timestamp
    ) throws(TokenRefusal) -> LoginIdentity {
        guard concern(token) else { throw .issuer }
        guard token.algorithm == key.algorithm, algorithms.contains(key.algorithm) else { throw .algorithm }
        guard key.verifies(token.signature, of: token.message) else { throw .signature }
        guard isAudience(token.claims["aud"]) else { throw .audience }
        guard let subject = token.claims["sub"]?.string, !subject.isEmpty, subject.utf8.count <= 255,
            subject.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw .subject }
        guard let expiry = Self.time(token.claims["exp"]), now.microseconds < Self.later(expiry, LoginIdentity.skew)
        else {
            throw .expired
        }
        if let start = token.claims["nbf"] {
            guard let time = Self.time(start), time <= Self.later(now.microseconds, LoginIdentity.skew) else {
                throw .notYetValid
            }
        }
        let madeAt = Self.time(token.claims["iat"])
        if let madeAt, madeAt > Self.later(now.microseconds, Self.leadMax) { throw .notYetValid }
        return LoginIdentity(
            userID: prefix + subject, method: .token, claims: token.claims,
            expiresAt: Timestamp(microseconds: expiry), issuedAt: madeAt.map { Timestamp(microseconds: $0) })
    }

    private func isAudience(_ claim: JSONValue?) -> Bool {
        let named = claim?.string.map { [$0] } ?? claim?.array?.compactMap(\.string) ?? []
        return named.contains { name in audiences.contains { UTF8Order.equal($0, name) } }
    }

    /// A time in seconds since 1970, as microseconds; nil for anything else.
    private static func time(_ claim: JSONValue?) -> Int64? {
        switch claim {
        case .integer(let seconds):
            let (product, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000)
            return isOver ? (seconds < 0 ? .min : .max) : product
        case .number(let text):
            guard let seconds = Double(text), seconds.isFinite else { return nil }
            return Int64(exactly: (seconds * 1_000_000).rounded(.down)) ?? (seconds < 0 ? .min : .max)
        default: return nil
        }
    }

    private static func later(_ time: Int64, _ duration: Int64) -> Int64 {
        let (sum, isOver) = time.addingReportingOverflow(duration)
        return isOver ? .max : sum
    }
}
