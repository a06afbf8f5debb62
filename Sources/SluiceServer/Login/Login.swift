package import SluiceWire

/// Decides who a client's user is, from the credentials that the client presents.
package protocol Login: Sendable {
    /// The user whom the credentials prove, or the reason of a rejection, as a message to the client.
    func user(for credentials: [Credentials]) -> Result<User, LoginError>
}

/// Why a login was rejected, as a message that reveals nothing about other users.
package struct LoginError: Error, Hashable, Sendable {
    package var message: String

    package init(message: String) { self.message = message }
}

/// The login of development servers: everybody is the anonymous user, and may add to the schema.
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
