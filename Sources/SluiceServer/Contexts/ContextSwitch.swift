internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What one commit does to subscriptions beyond the changes of their views: their readers may read something else, or
/// the view takes longer to follow than others may be kept waiting. For most commits it does nothing: no rights have
/// changed, and no view is late.
///
/// A subscription leaves its view before that follows the commit, and goes on with another one after it. So no change of
/// the former view is sent any more, and none of the other is missed. There are two ways:
///
/// - A small difference is part of the commit. The view in the new context is made of the old one. All of them together
///   take the steps of ``DatabaseLimits/contextStepCountMax``.
/// - Else the subscription is interrupted with the commit, and served like that of a client that returns: it waits for
///   its turn, the client lists its members, and is sent in pages what differs. Where what the client has cannot be
///   compared, or some of its pages were sent, it is sent everything.
///
/// It is used in this order: ``leave(_:_:_:)``, ``setAside(_:_:)``, ``arrive()``, ``beginAgain(_:)``.
struct ContextSwitch {
    /// How a subscription goes on that has left its view.
    private enum Way {
        /// With the view in the new context. The client is sent the difference with the commit.
        case switched(LiveView)
        /// As one that was just requested, with what the client would present if it came back now.
        case again(ClientMessage.Resume?)
        /// With the list of members that the client is sending.
        case listing(Comparison)
        /// With everything, after departures of what was sent; nil if that is not known any more.
        case anew(recalling: Set<ObjectRef>?)
    }

    private struct Move {
        let subscription: ViewSubscription
        let query: Query
        let way: Way
        /// Why the session ends if the subscription cannot go on.
        let reason: SessionEnd
    }

    private static let changedRights = SessionEnd(
        .permissionDenied, "what the user may read has changed", action: .retry)
    private static let wideChange = SessionEnd(
        .overloaded, "a commit has changed more of a query's results than the server keeps", action: .retry)

    private let database: Database
    private let lifecycle: SubscriptionLifecycle
    private let commit: CommitDelta
    /// The version that the clients have.
    private let version: UInt64
    private var moves: [Move] = []

    /// - Parameter version: the version before the commit.
    init(_ database: Database, _ lifecycle: SubscriptionLifecycle, _ commit: CommitDelta, from version: UInt64) {
        self.database = database
        self.lifecycle = lifecycle
        self.commit = commit
        self.version = version
    }

    // MARK: Leaving

    /// Takes the subscriptions out of their views whose readers may read something else. The views are at the state
    /// before the commit, and the database at that after it.
    ///
    /// - Parameters:
    ///   - subscriptions: those of all sessions.
    ///   - publication: gets the differences of those that are complete.
    mutating func leave(
        _ changes: [Permissions.Change], _ subscriptions: Subscriptions, _ publication: inout Publication,
        _ output: inout TurnOutput
    ) {
        guard !changes.isEmpty else { return }
        var differences = ContextDifferences(commit, database)
        for change in changes {
            guard let subscriber = subscriptions[change.session] else { continue }
            guard case .success(let binding) = change.binding else {
                let reason = "what the user may do could not be found"
                lifecycle.content.fail(change.session, SessionEnd(.internalError, reason, action: .retry), &output)
                continue
            }
            subscriber.access = binding
            // Where only the right to write has changed the context is the same, and what the client was told of its
            // privileges is void.
            publication.add(binding.notice(to: change.session), for: change.session)
            let canCompare = binding.hidesSameFields(as: change.former)
            for subscription in Array(subscriber.subscriptions.all) {
                do throws(HiddenPropertyError) {
                    let query = try binding.query(subscription.view.query)
                    guard query.key != subscription.view.query.key else { continue }
                    // A light client is not told which properties to drop, and so has everything anew.
                    let mayDiffer = canCompare || !subscriber.isLight
                    let switched = mayDiffer ? switched(subscription, to: query, &differences, &publication) : nil
                    leave(
                        subscription, for: query, because: Self.changedRights,
                        switched ?? way(of: subscription, canCompare: canCompare, &publication))
                } catch {
                    lifecycle.content.end(subscription, because: error, &output)
                }
            }
        }
    }

    /// Sets a view aside that takes longer to follow the commit than others may be kept waiting.
    mutating func setAside(_ view: SharedView, _ publication: inout Publication) {
        for subscription in view.subscriptions {
            leave(
                subscription, for: view.query, because: Self.wideChange,
                way(of: subscription, canCompare: true, &publication))
        }
    }

    private mutating func leave(
        _ subscription: ViewSubscription, for query: Query, because reason: SessionEnd, _ way: Way
    ) {
        lifecycle.content.leave(subscription)
        moves.append(Move(subscription: subscription, query: query, way: way, reason: reason))
    }

    /// - Returns: nil if the difference is not to be found within the commit.
    private func switched(
        _ subscription: ViewSubscription, to query: Query, _ differences: inout ContextDifferences,
        _ publication: inout Publication
    ) -> Way? {
        guard subscription.isComplete else { return nil }
        do {
            let shape = lifecycle.content.hub.shape(of: query)
            guard let (live, delta) = try differences.switched(subscription.view, to: query, shape: shape) else {
                return nil
            }
            if let delta { try publication.add(delta, for: subscription, in: query.context) }
            return .switched(live)
        } catch {
            database.noteFailure("a subscription begins again, since its reader's rights changed", error, at: .debug)
            return nil
        }
    }

    /// How a subscription goes on like that of a client that returns. The client of a complete one is told that it is not
    /// complete any more, so that it does not resume what it has if its connection is lost now.
    ///
    /// - Parameter canCompare: whether the client may have what it does not list of an object: not where it could not
    ///   read some properties before.
    private func way(
        of subscription: ViewSubscription, canCompare: Bool, _ publication: inout Publication
    ) -> Way {
        switch subscription.state {
        case .complete:
            guard canCompare else {
                publication.interrupt(subscription, .bootstrap)
                return .again(nil)
            }
            publication.interrupt(subscription, .resumed)
            let live = subscription.view.live
            return .again(
                .init(
                    version: version, queryHash: live.query.hash, memberCount: UInt64(max(1, live.linkedCount)),
                    isWhole: false))
        case .listing(let comparison):
            if !canCompare { comparison.giveUp() }
            return .listing(comparison)
        case .sharing(let receiver): return .anew(recalling: receiver.sentObjects)
        case .comparing, .ended: return .again(nil)
        }
    }

    // MARK: Going on

    /// Lets the subscriptions arrive at their new views whose difference is part of the commit. The views are at the
    /// state after it.
    func arrive() {
        for move in moves where move.subscription.subscriber.has(move.subscription) {
            guard case .switched(let live) = move.way else { continue }
            lifecycle.content.replace(
                move.subscription, with: lifecycle.content.hub[move.query.key] ?? lifecycle.content.insert(live))
        }
    }

    /// Lets the others begin again. Call it once the commit is on its way to the clients.
    func beginAgain(_ output: inout TurnOutput) {
        let count = moves.count { if case .switched = $0.way { false } else { true } }
        if count > 0 {
            database.note(.debug, "subscriptions begin again because of a commit", [("count", "\(count)")])
        }
        for move in moves where move.subscription.subscriber.has(move.subscription) {
            let (former, query) = (move.subscription, move.query)
            lifecycle.content.guarding(former.session, &output) { output in
                switch move.way {
                case .switched: break
                case .again(let resume): lifecycle.beginAgain(former, query, resuming: resume)
                case .listing(let comparison):
                    try lifecycle.content.continueListing(former, query, comparison, &output)
                case .anew(let sent):
                    guard let sent else { throw move.reason }
                    guard !sent.isEmpty else { return lifecycle.beginAgain(former, query, resuming: nil) }
                    try lifecycle.content.continueAnew(former, query, recalling: sent, &output)
                }
            }
        }
    }
}
