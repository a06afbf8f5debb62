package import SluiceJSON
package import SluiceModel

/// Who a session acts for, as a login has proved it. Descriptions and mirrors have the method alone, so that no claim
/// reaches a log.
package struct LoginIdentity: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// How the identity was proved.
    package enum Method: String, Hashable, Sendable {
        case anonymous, sharedSecret, password, session, token, custom
    }

    /// How far the clocks of issuer and server may differ, in microseconds.
    package static let skew: Int64 = 60_000_000

    /// The user's id; nil for a login that names nobody: anonymous, or with the shared secret.
    package var userID: String?
    package var method: Method
    /// What the token or the user's record says about the user: an object.
    package var claims: JSONValue
    /// When the proof ends; nil if it does not. The session lasts for ``skew`` longer.
    package var expiresAt: Timestamp?
    /// When the proof was made; nil if it does not say.
    package var issuedAt: Timestamp?
    /// The login of a built-in user that a session token belongs to.
    package var loginID: Int64?
    /// Of a login of a built-in user, which password it was: a new one, and a revocation, raise the number. Of others,
    /// the time of the user's last revocation when the login was checked; nil if there was none.
    package var generation: Int64?

    package init(
        userID: String?, method: Method, claims: JSONValue = .object([]), expiresAt: Timestamp? = nil,
        issuedAt: Timestamp? = nil, loginID: Int64? = nil, generation: Int64? = nil
    ) {
        self.userID = userID
        self.method = method
        self.claims = claims
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.loginID = loginID
        self.generation = generation
    }

    /// When a session with this identity ends; nil if it need not.
    package var endsAt: Timestamp? {
        expiresAt.map { time in
            let (sum, isOver) = time.microseconds.addingReportingOverflow(Self.skew)
            return Timestamp(microseconds: isOver ? .max : sum)
        }
    }

    package var description: String { "an identity by \(method.rawValue)" }

    package var customMirror: Mirror { Mirror(self, children: ["method": method]) }
}
