package import SluiceJSON
package import SluiceModel

/// Who the rules are bound for.
package struct RuleUser: Hashable, Sendable {
    /// `$user.id`; nil for a user without one, of whom it is unset.
    package var id: String?
    /// `$user.claims`: an object, what the token or the user's record says.
    package var claims: JSONValue

    package init(id: String?, claims: JSONValue = .object([])) {
        self.id = id
        self.claims = claims
    }
}

/// The values of `$client`, by name: scalars, or lists of them. The client chooses them.
package typealias ClientVariables = [String: Value]
