/// To whom work and quotas count. All sessions of a holder have one holder's share together, on however many
/// connections they are.
package enum Holder: Hashable, Sendable {
    /// A user whom the login names.
    case user(String)
    /// Nobody in particular, at an address.
    case address(String)
    /// One session, where an engine is driven without a server that knows more.
    case session(SessionID)
    /// The server's own process.
    case server

    /// The holder of a session.
    ///
    /// - Parameter address: where the session comes from, for a user without an id.
    package init(_ user: User, at address: String) { self = user.id.map { .user($0) } ?? .address(address) }

    /// The user; nil for nobody in particular.
    var userID: String? { if case .user(let id) = self { id } else { nil } }
}
