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

    init(_ message: ServerMessage) { self.init(type: message.type) }

    /// - Parameter type: the code of a message's type.
    init(type: UInt8) {
        self =
            switch type {
            case ServerMessage.Code.hello: .hello
            case ServerMessage.Code.opened: .session
            case ServerMessage.Code.schema: .schema
            case ServerMessage.Code.page: .page
            case ServerMessage.Code.complete: .complete
            case ServerMessage.Code.commit: .commit
            case ServerMessage.Code.rejected: .rejection
            case ServerMessage.Code.subscriptionError: .subscriptionError
            case ServerMessage.Code.error: .error
            default: .other
            }
    }
}
