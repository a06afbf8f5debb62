package import SluiceAccess
package import SluiceWire

/// Decides who a client's user is, from the credentials that the client presents.
package protocol Login: Sendable {
    /// The decision, where it takes no time; nil where ``identify(_:of:completion:)`` must be asked.
    func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>?

    /// Finds out whose the credentials are.
    ///
    /// - Parameter completion: called once, on any thread, perhaps at once.
    func identify(
        _ credentials: [WireCredentials], of peer: LoginPeer,
        completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void)

    /// What has become of the logins of users who logged in earlier, in their order. It may block.
    ///
    /// - Throws: where that cannot be found out at the moment.
    func standings(of users: [User]) throws -> [LoginStanding]
}

/// What is known about a client before it logs in.
package struct LoginPeer: Sendable {
    /// The address, without its port; of IPv6, the network.
    package var address: String
    /// What the request that opened the connection had in `Authorization`. It counts where a session presents nothing.
    package var requestCredentials: [WireCredentials]
    /// Whether the session wants a session token to present the next time.
    package var wantsToken = true
    /// Whether the client still waits for an answer.
    package let wait = LoginWait()

    package init(address: String, requestCredentials: [WireCredentials] = []) {
        self.address = address
        self.requestCredentials = requestCredentials
    }
}

/// A login that succeeded.
package struct LoginOutcome: Sendable {
    package var user: User
    /// What the client is to present from now on; nil if it keeps what it has.
    package var credential: WireCredentials?

    package init(_ user: User, credential: WireCredentials? = nil) {
        self.user = user
        self.credential = credential
    }
}

/// Why a login was rejected, as a message that reveals nothing about users.
package struct LoginError: Error, Hashable, Sendable {
    package var message: String
    /// When to try again with the same credentials, in milliseconds; nil if that would not help.
    package var retryAfter: UInt64?

    package init(message: String, retryAfter: UInt64? = nil) {
        self.message = message
        self.retryAfter = retryAfter
    }

    /// What the client of a session is told whose user was revoked.
    static let revoked =
        "the login of the session was revoked: the user was removed, has another password or has to log in anew; log in "
        + "again, or ask who runs the server"

    /// What a client is told whose login cannot be checked at the moment.
    static var unavailable: LoginError { LoginError(.later(milliseconds: 1_000, reason: .unavailable)) }

    init(_ refusal: LoginRefusal) {
        self.init(message: refusal.message)
        if case .later(let milliseconds, _) = refusal { retryAfter = UInt64(max(0, milliseconds)) }
    }
}

/// The login of development servers: everybody is the anonymous user, and may add to the schema and give rules to a
/// database that has none.
package struct DevelopmentLogin: Login {
    package init() {}

    package func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? {
        guard credentials.allSatisfy({ $0.kind == .anonymous }) else {
            return .failure(
                LoginError(message: "this server runs in development mode and takes anonymous logins only"))
        }
        var user = User(id: nil, mayExtendSchema: true)
        user.mayBeginRules = true
        return .success(LoginOutcome(user))
    }

    package func identify(
        _ credentials: [WireCredentials], of peer: LoginPeer,
        completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void
    ) {
        if let decision = decide(credentials) { completion(decision) }
    }

    package func standings(of users: [User]) -> [LoginStanding] { users.map { _ in .unchanged } }
}
