package import SluiceJSON

/// What has become of an identity since a login proved it.
package enum LoginStanding: Hashable, Sendable {
    /// It holds, and what is known about the user is the same.
    case unchanged
    /// It holds, and other claims are known about the user now.
    case changed(claims: JSONValue)
    /// It does not hold: the user was revoked or removed, or has another password.
    case over
}
