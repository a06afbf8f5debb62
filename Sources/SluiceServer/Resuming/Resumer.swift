internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Brings subscriptions of returning clients up to date from what the clients have, where that is possible.
final class Resumer {
    private let database: Database
    private let replays: Replays
    private let digests: ViewDigests
    private(set) var starts = StartCounts()

    private var storage: SQLiteServerStorage { database.storage }

    init(_ database: Database, _ replays: Replays, _ digests: ViewDigests) {
        self.database = database
        self.replays = replays
        self.digests = digests
    }

    /// Counts a subscription that is sent everything.
    func noteStartAnew() { starts[.anew] += 1 }

    /// Counts a subscription that is sent what it has beyond a smaller one.
    func noteGrowth() { starts[.compared] += 1 }

    /// Brings a subscription up to date, or begins a comparison with what the client has.
    ///
    /// - Parameters:
    ///   - isAnnounced: whether the client has said how many members it has.
    ///   - resumed: collects the messages for the client.
    ///   - mayReplay: whether the reader may be told of what there was before some changes.
    /// - Returns: whether that is possible.
    func resume(
        _ subscription: ViewSubscription, _ resume: ClientMessage.Resume, isAnnounced: Bool,
        with resumed: inout Resumption,
        where mayReplay: (CommitDelta) throws -> Bool, now: Timestamp
    ) throws -> Bool {
        let live = subscription.view.live
        if resume.isWhole, resume.version <= storage.version,
            let content = try replays.replay(
                live, since: resume.version, byteCountMax: resumed.byteCountLeft, where: mayReplay)
        {
            starts[content.isEmpty ? .current : .replayed] += 1
            resumed.add(
                try messages(subscription, content: content, now: now), byteCount: content.estimatedSize)
            return true
        }
        if let digest = resume.digest, try digest == digests.digest(of: subscription.view) {
            starts[.equal] += 1
            resumed.add(try messages(subscription, content: ViewBlock(), now: now), byteCount: 0)
            return true
        }
        // A client that keeps no store lists nothing.
        guard !subscription.subscriber.isLight, canCompare(resume, by: subscription.subscriber) else { return false }
        starts[.compared] += 1
        subscription.become(
            .listing(Comparison(announcedCount: Int(resume.memberCount), isAnnounced: isAnnounced)))
        resumed.ask(.listMembers(session: subscription.session.session, subscription: subscription.id))
        return true
    }

    /// Whether to ask a client to list its members, rather than to send everything.
    private func canCompare(_ resume: ClientMessage.Resume, by subscriber: Subscriber) -> Bool {
        resume.version > 0 && resume.version <= storage.version && resume.memberCount > 0
            && resume.memberCount <= UInt64(database.limits.comparedMemberCountMax - subscriber.comparedMemberCount)
    }

    private func messages(
        _ subscription: ViewSubscription, content: ViewBlock, now: Timestamp
    ) throws -> [ServerMessage] {
        let session = subscription.session.session
        let digest = try digests.digest(of: subscription.view)
        let complete = ServerMessage.Complete(
            session: session, subscription: subscription.id, version: storage.version,
            acceptedAt: storage.acceptedAt ?? now, kind: .resumed, digest: digest,
            figures: subscription.figuresToSend())
        guard !content.isEmpty else { return [.complete(complete)] }
        let page = ServerMessage.Page(
            session: session, subscriptions: [subscription.id], version: storage.version, progress: 1, kind: .resumed,
            content: content)
        guard subscription.subscriber.isLight else { return [.page(page), .complete(complete)] }
        let places = ServerMessage.Places(
            session: session, subscriptions: [subscription.id],
            rows: try subscription.view.places(in: storage).rows(of: content, movesOthers: true))
        return [.places(places), .page(page), .complete(complete)]
    }
}
