/// A login that succeeded.
package struct Admission: Sendable {
    package var identity: LoginIdentity
    /// A token for the client to present from now on; nil if it keeps what it has.
    package var sessionToken: String?

    package init(_ identity: LoginIdentity, sessionToken: String? = nil) {
        self.identity = identity
        self.sessionToken = sessionToken
    }
}

/// What a client is told about a login that failed. It says nothing about users, tokens and passwords.
package enum LoginRefusal: Error, Hashable, Sendable {
    /// Why another try may help.
    package enum Reason: String, Hashable, Sendable {
        case tooManyTries, busy, unavailable
    }

    /// Whatever was wrong with the credentials.
    case refused
    /// The credentials were not looked at.
    case later(milliseconds: Int64, reason: Reason)

    package var message: String {
        switch self {
        case .refused: "the login was refused: the credentials are missing, wrong or over"
        case .later(_, .tooManyTries): "too many logins failed; wait before the next one"
        case .later(_, .busy): "the server has too many logins to check; try again in a moment"
        case .later(_, .unavailable): "the server cannot check logins at the moment; try again later"
        }
    }
}
