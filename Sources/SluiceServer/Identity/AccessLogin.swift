package import SluiceAccess
package import SluiceWire

/// The login of servers that know their users.
package struct AccessLogin: Login {
    private let authenticator: Authenticator
    private let mayExtendSchema: Bool

    /// - Parameter mayExtendSchema: whether every user may add classes and properties.
    package init(_ authenticator: Authenticator, mayExtendSchema: Bool) {
        self.authenticator = authenticator
        self.mayExtendSchema = mayExtendSchema
    }

    package func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? { nil }

    package func identify(
        _ credentials: [WireCredentials], of peer: LoginPeer,
        completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void
    ) {
        // Where the request's credentials are a gateway's and not ours, the session may still be anonymous.
        let presented = credentials.isEmpty ? peer.requestCredentials + [WireCredentials(.anonymous)] : credentials
        authenticator.identify(
            presented.map { Credential($0) }, from: peer.address, peer.wait, wantsToken: peer.wantsToken
        ) { result in
            switch result {
            case .success(let admission):
                completion(
                    .success(
                        LoginOutcome(
                            User(admission.identity, mayExtendSchema: mayExtendSchema),
                            credential: admission.sessionToken.map { WireCredentials(.session, Array($0.utf8)) })))
            case .failure(let refusal): completion(.failure(LoginError(refusal)))
            }
        }
    }

    package func standings(of users: [User]) throws -> [LoginStanding] {
        try authenticator.standings(of: users.map(\.identity))
    }
}

extension Credential {
    /// What a message of the protocol presents.
    init(_ credentials: WireCredentials) {
        switch credentials.kind {
        case .anonymous: self = .anonymous
        case .token: self = .token(credentials.payload)
        case .sharedSecret: self = .sharedSecret(credentials.payload)
        case .session: self = .session(credentials.payload)
        case .password:
            guard let zero = credentials.payload.firstIndex(of: 0),
                let name = String(validating: credentials.payload[..<zero], as: UTF8.self)
            else {
                self = .unknown
                return
            }
            // What is longer than any password is not hashed.
            let password = credentials.payload[(zero + 1)...]
            self =
                password.count <= PasswordPolicy.byteCountMax
                ? .password(user: name, password: Array(password)) : .unknown
        default: self = .unknown
        }
    }
}
