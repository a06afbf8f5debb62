internal import SluiceWire

/// A kind of message from the server, before which a test can hold a store. See ``TestServer/hold(_:before:)``.
public enum ServerMessageKind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The server has greeted the store.
    case hello
    /// The session is open.
    case session
    /// The server's schema has grown.
    case schema
    /// Rows of a bootstrap or a catch-up: the subscription is `bootstrapping` once the first are here.
    case page
    /// Every row is here: the subscription is `complete`.
    case complete
    /// A commit, or the acknowledgement of a write.
    case commit
    /// The server has rejected a write.
    case rejection
    /// The server has rejected a query.
    case subscriptionError
    /// The session or the connection has a problem.
    case error
    /// Anything else.
    case other

    public var description: String { rawValue }

    init(_ message: ServerMessage) { self.init(message.code) }

    /// - Parameter code: the code of a message's type; nil if there is none of it.
    init(_ code: ServerMessage.Code?) {
        self =
            switch code {
            case .hello: .hello
            case .opened: .session
            case .schema: .schema
            case .page: .page
            case .complete: .complete
            case .commit: .commit
            case .rejected: .rejection
            case .subscriptionError: .subscriptionError
            case .error: .error
            case .report, .listMembers, .reportError, .withdrawn, .moved, .message, .digest, .login, .context, .places,
                nil:
                .other
            }
    }
}
