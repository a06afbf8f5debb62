package import SluiceWire

/// Decides who a client is from the credentials it presents.
package protocol Login: Sendable {
    /// The user whom the credentials prove, or why not, in words for the client.
    func user(for credentials: [Credentials]) -> Result<User, LoginError>
}

/// Why a login was refused, in words that reveal nothing about other users.
package struct LoginError: Error, Hashable, Sendable {
    package var message: String

    package init(message: String) { self.message = message }
}

/// Development: everybody is the anonymous user and may add to the schema.
package struct DevelopmentLogin: Login {
    package init() {}

    package func user(for credentials: [Credentials]) -> Result<User, LoginError> {
        guard credentials.allSatisfy({ $0.kind == .anonymous }) else {
            return .failure(
                LoginError(message: "this server runs in development mode and takes anonymous logins only"))
        }
        return .success(User(id: nil, mayExtendSchema: true))
    }
}
