package import SluiceJSON

/// A JSON Web Token in its compact form (RFC 7515, section 3.1), taken apart and not yet believed.
package struct SignedToken: Sendable {
    /// The longest token, in bytes.
    package static let byteCountMax = 16_384

    /// What the header says that the signature is. The key decides; this must agree with it.
    package let algorithm: SignatureAlgorithm
    /// Which of the issuer's keys signed it; nil where the token does not say.
    package let keyID: String?
    package let claims: JSONValue
    /// What the signature is about.
    let message: [UInt8]
    let signature: [UInt8]

    /// Takes a token apart.
    ///
    /// - Throws: ``TokenRefusal`` for anything but three parts of canonical base64url without padding, whose first two
    ///   are JSON objects without duplicate names, with a known algorithm and without extensions (`crit`). Members that
    ///   would bring a key along (`jwk`, `jku`, `x5u`, `x5c`) are not looked at.
    package init(_ bytes: [UInt8]) throws(TokenRefusal) {
        guard bytes.count <= Self.byteCountMax else { throw .tooLong }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]), !signature.isEmpty
        else { throw .malformed }
        let names = try Self.object(header)
        guard let algorithm = names["alg"]?.string.flatMap({ SignatureAlgorithm(rawValue: $0) }) else {
            throw .algorithm
        }
        guard names["crit"] == nil, names["b64"] == nil else { throw .extensions }
        guard Self.isAccessToken(names) else { throw .kind }
        if let id = names["kid"] {
            guard let text = id.string else { throw .malformed }
            keyID = text
        } else {
            keyID = nil
        }
        self.algorithm = algorithm
        self.signature = signature
        claims = try Self.object(payload)
        message = Array(bytes[..<parts[1].endIndex])
    }

    /// Whether the header names no other kind of token than one for access or identity (RFC 8725, section 3.11), and
    /// no token within the token.
    private static func isAccessToken(_ header: JSONValue) -> Bool {
        guard header["cty"] == nil else { return false }
        guard let kind = header["typ"] else { return true }
        guard let name = kind.string?.lowercased() else { return false }
        return ["jwt", "at+jwt", "application/at+jwt"].contains(name)
    }

    private static func object(_ bytes: [UInt8]) throws(TokenRefusal) -> JSONValue {
        let value = bytes.withUnsafeBufferPointer { bytes in try? JSONParser.parse(bytes) }
        guard let value, case .object = value else { throw .malformed }
        return value
    }
}

/// Why a token is refused. It is for the operator's log, and has nothing of the token; a client is told only that its
/// login was refused.
package enum TokenRefusal: String, Error, Hashable, Sendable {
    /// It is longer than 16 KiB.
    case tooLong
    /// It is not three parts of base64url with JSON objects without duplicate names.
    case malformed
    /// The algorithm is `none`, unknown, or not that of the key.
    case algorithm
    /// It has extensions that must be understood (`crit`).
    case extensions
    /// It is a token for another purpose than a login (`typ`, `cty`).
    case kind
    /// No configured issuer has the name in `iss`.
    case issuer
    /// The issuer has no such key.
    case unknownKey
    /// The issuer's keys cannot be had at the moment.
    case keysUnavailable
    case signature
    /// `aud` names others.
    case audience
    /// `sub` is missing, empty, or longer than 255 bytes.
    case subject
    /// `exp` is missing, or the time is over.
    case expired
    /// `nbf` has not come yet, or `iat` is more than ten minutes ahead.
    case notYetValid
    /// The user was revoked after the token was made.
    case revoked
}
