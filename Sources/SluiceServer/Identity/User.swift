package import SluiceAccess

/// The user for whom a session acts.
package struct User: Hashable, Sendable {
    /// How the user was proved, with what is known about the user.
    package var identity: LoginIdentity
    /// Whether the user may add classes and properties.
    package var mayExtendSchema: Bool
    /// Whether the user may give rules to a database that has none. Where there are rules, they say who may change
    /// them.
    package var mayBeginRules = false

    package init(_ identity: LoginIdentity, mayExtendSchema: Bool) {
        self.identity = identity
        self.mayExtendSchema = mayExtendSchema
    }

    package init(id: String?, mayExtendSchema: Bool) {
        self.init(LoginIdentity(userID: id, method: id == nil ? .anonymous : .custom), mayExtendSchema: mayExtendSchema)
    }

    /// The user as it is known now; nil if the login is over.
    func after(_ standing: LoginStanding) -> User? {
        switch standing {
        case .unchanged: return self
        case .changed(let claims):
            var user = self
            user.identity.claims = claims
            return user
        case .over: return nil
        }
    }

    /// Who writes for the server's own process.
    package static let serverID = "server"

    /// The user's id; nil for a login that names nobody.
    package var id: String? {
        get { identity.userID }
        set { identity.userID = newValue }
    }
}
