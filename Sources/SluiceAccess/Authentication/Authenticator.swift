package import SluiceModel

/// Finds out who a client's user is, by any of the methods that a server has.
package final class Authenticator: Sendable {
    /// An issuer whose tokens are taken, and its keys.
    package struct Issuer: Sendable {
        package var rules: TokenRules
        package var keys: KeySource

        package init(_ rules: TokenRules, _ keys: KeySource) {
            self.rules = rules
            self.keys = keys
        }
    }

    /// Decides by a function of the server's owner; nil refuses. It calls back once, on any thread.
    package typealias Custom = @Sendable (Credential, @escaping @Sendable (LoginIdentity?) -> Void) -> Void

    /// The methods of a server.
    package struct Methods: Sendable {
        package var allowsAnonymous = false
        package var sharedSecret: SharedSecret?
        /// The built-in users, and the revocations of all.
        package var directory: UserDirectory?
        /// Whether passwords and session tokens are taken.
        package var hasUsers = false
        package var issuers: [Issuer] = []
        package var custom: Custom?

        package init() {}
    }

    /// The most credentials that are looked at for one login.
    package static let credentialCountMax = 8

    private let methods: Methods
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?

    package init(_ methods: Methods, now: @escaping @Sendable () -> Timestamp, log: LogSink? = nil) {
        self.methods = methods
        self.now = now
        self.log = log
    }

    /// Tries credentials in their order; the first that proves something wins. No credentials at all are anonymous.
    ///
    /// - Parameters:
    ///   - address: where the client is, without its port.
    ///   - wait: whether the client still waits.
    ///   - wantsToken: whether the client wants a session token to present from then on.
    ///   - completion: called once, on any thread, perhaps at once.
    package func identify(
        _ credentials: [Credential], from address: String, _ wait: LoginWait = LoginWait(), wantsToken: Bool = true,
        completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        let presented = credentials.isEmpty ? [.anonymous] : credentials
        let client = Client(address: address, wait: wait, wantsToken: wantsToken)
        attempt(presented.prefix(Self.credentialCountMax), of: client, .refused, completion)
    }

    /// Who presents credentials.
    private struct Client: Sendable {
        let address: String
        let wait: LoginWait
        let wantsToken: Bool
    }

    private func attempt(
        _ credentials: ArraySlice<Credential>, of client: Client, _ refusal: LoginRefusal,
        _ completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        guard let credential = credentials.first else { return completion(.failure(refusal)) }
        check(credential, of: client) { [self] result in
            switch result {
            case .success: completion(result)
            case .failure(let error):
                // What may help later is worth more than what never will.
                attempt(credentials.dropFirst(), of: client, error == .refused ? refusal : error, completion)
            }
        }
    }

    private func check(
        _ credential: Credential, of client: Client,
        _ completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        let refuse: @Sendable () -> Void = { [self] in askOwner(credential, completion) }
        switch credential {
        case .anonymous where methods.allowsAnonymous:
            completion(.success(Admission(LoginIdentity(userID: nil, method: .anonymous))))
        case .sharedSecret(let secret) where methods.sharedSecret?.isEqual(to: secret) ?? false:
            completion(.success(Admission(LoginIdentity(userID: nil, method: .sharedSecret))))
        case .password(let name, let password):
            guard methods.hasUsers, let directory = methods.directory else { return refuse() }
            directory.logIn(
                name: name, password: password, from: client.address, client.wait, wantsToken: client.wantsToken
            ) { Self.pass($0, completion, refuse) }
        case .session(let token):
            guard methods.hasUsers, let directory = methods.directory else { return refuse() }
            directory.logIn(token: token) { Self.pass($0, completion, refuse) }
        case .token(let bytes):
            guard !methods.issuers.isEmpty else { return refuse() }
            check(bytes) { Self.pass($0, completion, refuse) }
        case .anonymous, .sharedSecret, .unknown:
            refuse()
        }
    }

    private static func pass(
        _ result: Result<Admission, LoginRefusal>,
        _ completion: @Sendable (Result<Admission, LoginRefusal>) -> Void, _ refuse: @Sendable () -> Void
    ) {
        if case .failure(.refused) = result { refuse() } else { completion(result) }
    }

    private func check(_ bytes: [UInt8], _ completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void) {
        let token: SignedToken
        do throws(TokenRefusal) {
            token = try SignedToken(bytes)
        } catch {
            return refuse(error, completion)
        }
        guard let issuer = methods.issuers.first(where: { $0.rules.concern(token) }) else {
            return refuse(.issuer, completion)
        }
        issuer.keys.key(of: token) { [self] found in
            do throws(TokenRefusal) {
                let identity = try issuer.rules.identity(of: token, key: try found.get(), now: now())
                admit(identity) { [self] result in
                    if case .failure(.refused) = result { return refuse(.revoked, completion) }
                    completion(result)
                }
            } catch {
                refuse(error, completion)
            }
        }
    }

    private func refuse(_ reason: TokenRefusal, _ completion: (Result<Admission, LoginRefusal>) -> Void) {
        log?(.info, "a token was refused", [("reason", reason.rawValue)])
        let isTransient = reason == .keysUnavailable
        completion(.failure(isTransient ? .later(milliseconds: 5_000, reason: .unavailable) : .refused))
    }

    private func askOwner(
        _ credential: Credential, _ completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        guard let custom = methods.custom else { return completion(.failure(.refused)) }
        custom(credential) { [self] identity in
            guard let identity else { return completion(.failure(.refused)) }
            admit(identity, completion)
        }
    }

    /// Lets in an identity that somebody else than the store of users has proved, unless its user was revoked.
    private func admit(
        _ identity: LoginIdentity, _ completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        guard identity.userID != nil, let directory = methods.directory else {
            return completion(.success(Admission(identity)))
        }
        directory.admit(identity, completion: completion)
    }

    /// What has become of identities that were proved earlier, in their order. It reads the store of users.
    ///
    /// - Throws: `StorageError` when that cannot be read at the moment.
    package func standings(of identities: [LoginIdentity]) throws -> [LoginStanding] {
        try methods.directory?.standings(of: identities) ?? identities.map { _ in .unchanged }
    }
}
