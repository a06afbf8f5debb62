/// What a client presents to prove who its user is. Descriptions and mirrors leave the secret out.
package enum Credential: Sendable, CustomStringConvertible, CustomReflectable {
    case anonymous
    /// A JSON Web Token.
    case token([UInt8])
    case sharedSecret([UInt8])
    case password(user: String, password: [UInt8])
    /// A session token of this server.
    case session([UInt8])
    /// Of a kind that this server does not know, or malformed.
    case unknown

    package var description: String {
        switch self {
        case .anonymous: "no credentials"
        case .token: "a token"
        case .sharedSecret: "a shared secret"
        case .password: "a password"
        case .session: "a session token"
        case .unknown: "unknown credentials"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
