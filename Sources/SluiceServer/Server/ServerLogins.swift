public import FoundationEssentials

/// How the users of a server log in. Several ways may be open at once; the first that fits a client's credentials
/// counts.
public struct ServerLogins: Sendable {
    /// Whether clients without credentials may connect. Their user id is nil.
    public var allowsAnonymous = false
    /// A secret of 32 bytes or more that all clients share; nil for none. Their user id is nil.
    public var sharedSecret: [UInt8]?
    /// Whether the server has users of its own, with passwords, whom `sluice users` manages.
    public var hasUsers = false
    /// Who issues tokens (JWT) that are taken.
    public var issuers: [TokenIssuer] = []
    /// Decides about credentials that nothing else here fits; nil for none. It returns nil to refuse them.
    public var custom: (@Sendable (LoginRequest) async throws -> LoginUser?)?

    /// No way to log in.
    public init() {}

    /// Whether somebody may log in.
    var isEmpty: Bool { !allowsAnonymous && !provesUsers }

    /// Whether credentials travel that others must not see.
    var provesUsers: Bool { sharedSecret != nil || hasUsers || !issuers.isEmpty || custom != nil }
}

/// An issuer of JSON Web Tokens, such as an OpenID provider.
public struct TokenIssuer: Sendable, Hashable {
    /// Where the issuer's keys come from.
    public enum Keys: Sendable, Hashable {
        /// OpenID Connect Discovery: `ISSUER/.well-known/openid-configuration` names their URL.
        case discovered
        /// A file with a JWK Set, read when the server starts.
        case file(String)
        /// An `https` URL of a JWK Set.
        case url(String)
        /// A secret of 32 bytes or more, with which the issuer signs by HS256.
        case secret([UInt8])
    }

    /// What a token's `iss` must be, byte for byte.
    public var issuer: String
    /// What a token's `aud` must name one of.
    public var audiences: [String]
    /// Where the issuer's keys come from.
    public var keys: Keys
    /// A short name that distinguishes the issuer's users: with the name `corp` the subject `7` is the user `corp:7`.
    /// Nil where users come from this issuer alone: the subject is the user's id.
    public var name: String?

    /// - Parameters:
    ///   - issuer: what a token's `iss` must be, byte for byte.
    ///   - audiences: what a token's `aud` must name one of; at least one.
    ///   - keys: where the issuer's keys come from.
    ///   - name: distinguishes the issuer's users; see ``name``.
    public init(issuer: String, audiences: [String], keys: Keys = .discovered, name: String? = nil) {
        self.issuer = issuer
        self.audiences = audiences
        self.keys = keys
        self.name = name
    }

    /// Whether a text can be the name of an issuer: it has no blanks, colons and characters beyond ASCII.
    package static func isName(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
    }
}

/// What a client presents to ``ServerLogins/custom``.
public enum LoginRequest: Sendable {
    /// Nothing.
    case anonymous
    /// A token that no issuer's rules accept.
    case token(String)
    /// Bytes that are not the shared secret.
    case sharedSecret([UInt8])
    /// The name and password of nobody whom the server knows.
    case password(user: String, password: String)
}

/// Whom ``ServerLogins/custom`` has recognised.
public struct LoginUser: Sendable {
    /// The user's id; nil for nobody in particular.
    public var id: String?
    /// What rules may know about the user: a JSON object.
    public var claims: String
    /// When the login ends; nil if it does not. The session lasts up to a minute longer.
    public var expiresAt: Date?

    /// - Parameters:
    ///   - id: the user's id; nil for nobody in particular.
    ///   - claims: what rules may know about the user: a JSON object.
    ///   - expiresAt: when the login ends; nil if it does not.
    public init(id: String?, claims: String = "{}", expiresAt: Date? = nil) {
        self.id = id
        self.claims = claims
        self.expiresAt = expiresAt
    }
}
