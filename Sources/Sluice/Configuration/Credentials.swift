internal import SluiceWire

/// How a store proves who its user is. Several in an array are tried by the server in their order.
///
/// Descriptions and mirrors leave passwords and tokens out.
public struct Credentials: Sendable, Hashable, ExpressibleByArrayLiteral, CustomStringConvertible, CustomReflectable {
    /// Makes a token whenever one is needed.
    final class Provider: Sendable {
        let token: @Sendable () async throws -> String

        init(_ token: @escaping @Sendable () async throws -> String) { self.token = token }
    }

    enum Proof: Sendable {
        case anonymous
        case sharedSecret([UInt8])
        case password(user: String, password: String)
        case session(String)
        case token(String)
        case provider(Provider)
    }

    private(set) var proofs: [Proof]

    private init(_ proof: Proof) { proofs = [proof] }

    /// Several, which the server tries in this order. None at all are anonymous.
    public init(_ credentials: [Credentials]) { proofs = credentials.flatMap(\.proofs) }

    /// Several, which the server tries in this order. None at all are anonymous.
    public init(arrayLiteral elements: Credentials...) { self.init(elements) }

    /// No credentials. A server accepts them in development, or where it says that anybody may connect.
    public static let anonymous = Credentials(.anonymous)

    /// A secret that the server shares with all its clients.
    ///
    /// - Parameter secret: 32 bytes or more.
    public static func sharedSecret(_ secret: [UInt8]) -> Credentials { Credentials(.sharedSecret(secret)) }

    /// The name and password of one of the server's own users. After the first login the store uses a session token
    /// that the server gives it; see ``Store/sessionToken``.
    public static func password(user: String, password: String) -> Credentials {
        Credentials(.password(user: user, password: password))
    }

    /// A session token that the server gave at an earlier login.
    public static func session(_ token: String) -> Credentials { Credentials(.session(token)) }

    /// A JSON Web Token of an issuer that the server trusts. When it expires, syncing ends with
    /// `notAuthenticated` until ``Store/authenticate(_:)`` brings another.
    public static func jwt(_ token: String) -> Credentials { Credentials(.token(token)) }

    /// JSON Web Tokens of an issuer that the server trusts. The store asks for one before it connects, and again before
    /// the last one expires.
    ///
    /// - Parameter provider: returns a token. If it throws, the store tries again later.
    public static func jwt(_ provider: @escaping @Sendable () async throws -> String) -> Credentials {
        Credentials(.provider(Provider(provider)))
    }

    /// Whether new proofs can be had at any time.
    var areRenewable: Bool { proofs.contains { if case .provider = $0 { true } else { false } } }

    /// Two credentials are equal if they would prove the same: the same texts, or the very same provider.
    public static func == (left: Credentials, right: Credentials) -> Bool {
        left.proofs.count == right.proofs.count
            && zip(left.proofs, right.proofs).allSatisfy { $0.wire == $1.wire && $0.provider === $1.provider }
    }

    public func hash(into hasher: inout Hasher) { for proof in proofs { hasher.combine(proof.wire) } }

    /// The kinds, without anything secret.
    public var description: String { proofs.map(\.name).joined(separator: ", ") }

    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The credentials as messages carry them, with tokens from their providers.
    ///
    /// - Throws: what a provider throws.
    func resolved() async throws -> [WireCredentials] {
        var result: [WireCredentials] = []
        for proof in proofs {
            if let wire = proof.wire {
                result.append(wire)
            } else if let provider = proof.provider {
                let token = try await provider.token()
                result.append(WireCredentials(.token, Array(token.utf8)))
            }
        }
        return result.map(\.kind) == [.anonymous] ? [] : result
    }

    /// The credentials as messages carry them, if no provider is needed.
    var wire: [WireCredentials] {
        let known = proofs.compactMap(\.wire)
        return known.map(\.kind) == [.anonymous] ? [] : known
    }
}

extension Credentials.Proof {
    fileprivate var provider: Credentials.Provider? { if case .provider(let provider) = self { provider } else { nil } }

    /// Nil for a token that is not known yet.
    fileprivate var wire: WireCredentials? {
        switch self {
        case .anonymous: WireCredentials(.anonymous)
        case .sharedSecret(let secret): WireCredentials(.sharedSecret, secret)
        case .password(let user, let password):
            WireCredentials(.password, Array(user.utf8) + [0] + Array(password.utf8))
        case .session(let token): WireCredentials(.session, Array(token.utf8))
        case .token(let token): WireCredentials(.token, Array(token.utf8))
        case .provider: nil
        }
    }

    fileprivate var name: String {
        switch self {
        case .anonymous: "anonymous"
        case .sharedSecret: "shared secret"
        case .password: "password"
        case .session: "session token"
        case .token, .provider: "JWT"
        }
    }
}
