internal import SluiceWire

/// What of the server's messages a store keeps. Everything else concerns the session alone.
///
/// A message that is added to the protocol does not compile before ``init(_:)`` has decided what it is, and a kind of
/// content not before each part that handles content has.
enum ServerContent {
    case page(ServerMessage.Page)
    case commit(ServerMessage.Commit)
    case complete(ServerMessage.Complete)
    case rejected(ServerMessage.Rejected)
    case context(ServerMessage.Context)
    case withdrawn(KeptObjects)

    /// - Returns: nil if the message is no content.
    init?(_ message: ServerMessage) {
        switch message {
        case .page(let page): self = .page(page)
        case .commit(let commit): self = .commit(commit)
        case .complete(let complete): self = .complete(complete)
        case .rejected(let rejected): self = .rejected(rejected)
        case .context(let context): self = .context(context)
        case .withdrawn(let withdrawn): self = .withdrawn(withdrawn)
        case .hello, .opened, .schema, .listMembers, .digest, .login, .subscriptionError, .error, .moved, .message,
            .report, .reportError, .places:
            return nil
        }
    }

    var isPage: Bool { if case .page = self { true } else { false } }

    /// Whether this is a commit, or the last part of one.
    var endsCommit: Bool { if case .commit(let commit) = self { !commit.header.isContinued } else { false } }
}
