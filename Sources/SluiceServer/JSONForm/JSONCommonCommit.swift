internal import SluiceWire

/// A frame of whole commits that answers nobody: connections whose subscriptions are told alike are sent the same texts,
/// without a translation for each.
struct JSONCommonCommit {
    private let versions: [UInt64]
    /// The subscriptions that the commits change.
    private let subscriptions: [UInt64]
    /// The clients that have made the commits.
    private let authors: Set<UInt64>

    /// - Returns: nil for any other frame.
    init?(_ messages: [ServerMessage]) {
        var (versions, subscriptions): ([UInt64], [UInt64]) = ([], [])
        var authors: Set<UInt64> = []
        for message in messages {
            switch message {
            case .places: break
            case .commit(let commit) where !commit.header.isContinued && commit.header.acknowledged == nil:
                versions.append(commit.header.version)
                for block in commit.blocks {
                    subscriptions += block.subscriptions
                    for author in block.content.authors { authors.insert(author.clientID) }
                }
                for figures in commit.figures { subscriptions += figures.subscriptions }
            default: return nil
            }
        }
        guard !versions.isEmpty else { return nil }
        (self.versions, self.subscriptions, self.authors) = (versions, subscriptions, authors)
    }

    /// How a connection is told of each subscription, nil for one of which it is told nothing; nil where the frame says
    /// something else to this connection: it ends what others began, or its client has made a part.
    func audiences(in session: JSONSession) -> [JSONSubscription.Audience?]? {
        guard isCommon(to: session) else { return nil }
        return subscriptions.map { session.audience(of: $0) }
    }

    /// Whether a connection is told as one that has these audiences.
    func tells(_ session: JSONSession, like audiences: [JSONSubscription.Audience?]) -> Bool {
        guard isCommon(to: session) else { return false }
        for (subscription, audience) in zip(subscriptions, audiences)
        where session.audience(of: subscription) != audience {
            return false
        }
        return true
    }

    /// Notes in a session that its client was told.
    func note(in session: inout JSONSession) { for version in versions { session.note(version) } }

    private func isCommon(to session: JSONSession) -> Bool {
        session.begun.isEmpty && session.client.map { !authors.contains($0.identity.clientID) } ?? true
    }
}
