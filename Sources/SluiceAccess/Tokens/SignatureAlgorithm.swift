/// How a token is signed (RFC 7518, section 3; RFC 8037). There is no `none`.
package enum SignatureAlgorithm: String, Hashable, Sendable, CaseIterable {
    /// RSA with the padding of PKCS #1, version 1.5, and SHA-256.
    case rs256 = "RS256"
    /// RSA with the padding PSS and SHA-256.
    case ps256 = "PS256"
    /// ECDSA on the curve P-256 with SHA-256.
    case es256 = "ES256"
    /// EdDSA on the curve Ed25519.
    case edDSA = "EdDSA"
    /// HMAC with SHA-256 and a secret that both sides know. No key set has such keys.
    case hs256 = "HS256"

    /// Those of issuers whose keys are public.
    package static let asymmetric: Set<SignatureAlgorithm> = [.rs256, .ps256, .es256, .edDSA]
}
