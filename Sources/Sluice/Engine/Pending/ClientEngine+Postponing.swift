internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Acknowledgements that need no transaction of their own.
///
/// In a store without subscriptions a commit message often says nothing but that uploads were accepted. It is noted in
/// memory and stored by the next transaction, whatever that is for: a write, a frame with content, the end of the
/// session, or a timer if nothing else comes. Until then the outbox keeps the changesets, so a crash loses nothing: the
/// next session begins with the server saying what it has.
extension ClientEngine {
    /// How long acknowledgements wait for another transaction.
    private static let settlingDelay = Duration.milliseconds(50)
    /// The maximum number of acknowledged changesets that wait in the outbox.
    private static let postponedCountMax: UInt64 = 256

    /// Notes messages that change nothing that anybody can see.
    ///
    /// - Returns: false, and nothing is noted, if they have to be applied now.
    func postpones(_ messages: [ServerMessage]) -> Bool {
        guard storage.subscriptionCount == 0, subscriptions.isEmpty, !session.awaitsCatchUp, uploadWaiters.isEmpty,
            session.rejections.isEmpty
        else { return false }
        var version: UInt64 = 0
        var acknowledged = session.acknowledged
        for message in messages {
            guard case .commit(let commit) = message, commit.blocks.isEmpty, !commit.header.isContinued else {
                return false
            }
            version = max(version, commit.header.version)
            acknowledged = max(acknowledged, commit.header.acknowledged ?? 0)
        }
        guard acknowledged - min(retiredSequence, acknowledged) <= Self.postponedCountMax else { return false }
        noteAcknowledged(acknowledged)
        session.postponedVersion = max(session.postponedVersion ?? 0, version)
        if !isSettlingScheduled {
            isSettlingScheduled = true
            actions.append(.settle(after: Self.settlingDelay))
        }
        return true
    }

    /// Stores what was postponed, in the open transaction.
    func storePostponed() throws {
        guard let version = session.postponedVersion else { return }
        try advance(to: version)
        try retireUnasked()
    }

    /// Stores what was postponed, in a transaction of its own.
    func settle() {
        guard session.postponedVersion != nil, !storage.isInTransaction else { return }
        recording("acknowledgements could not be stored") { try transaction(.local) { _ in } }
    }
}
