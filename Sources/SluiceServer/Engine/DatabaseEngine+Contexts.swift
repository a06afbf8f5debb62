internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A subscription on its way from the view of one context to that of another.
struct ContextMove {
    enum Way {
        /// The view in the new context was made of the old one, and the client is sent the difference with the commit.
        case turned(LiveView)
        /// The difference is found beside the writer.
        ///
        /// - target: the view in the new context, at no state yet.
        case beside(former: LiveView, target: LiveView)
        /// Everything is sent anew.
        case anew
    }

    let subscription: ViewSubscription
    let query: Query
    let way: Way
}

/// What happens to sessions whose users may read something else than before: each of their subscriptions moves from the
/// view in the former context to that in the new one.
///
/// It begins with the commit that causes it. A subscription leaves its view before that follows the commit, and arrives
/// at the other view. So no change of the former view is sent any more, and none of the other is missed. A small
/// difference is part of the commit. One that takes longer to find is found beside the writer, and is sent in pages.
extension DatabaseEngine {
    /// Takes the subscriptions that move out of their views, which are at the state before a commit that the database
    /// has made.
    ///
    /// - Parameter publication: gets the differences of those that are complete.
    func leave(
        _ changes: [Permissions.Change], _ commit: CommitDelta, _ publication: inout Publication
    ) -> [ContextMove] {
        guard !changes.isEmpty else { return [] }
        var turns = ContextTurns(commit, database, canWait: database.storage.canBeReadAside)
        var moves: [ContextMove] = []
        for change in changes {
            guard let subscriber = subscriptions[change.session] else { continue }
            guard case .success(let binding) = change.binding else {
                end(change.session, .init(.internalError, "what the user may do could not be found", action: .retry))
                continue
            }
            subscriber.access = binding
            // Where only the right to write has changed the context is the same, and what the client was told of its
            // privileges is void.
            publication.add(binding.notice(to: change.session), for: change.session)
            for subscription in Array(subscriber.subscriptions.all) {
                do throws(HiddenPropertyError) {
                    let query = try binding.query(subscription.view.query)
                    guard query.key != subscription.view.query.key else { continue }
                    moves.append(leave(subscription, for: query, &turns, &publication))
                } catch {
                    end(subscription, because: error)
                }
            }
        }
        return moves
    }

    private func leave(
        _ subscription: ViewSubscription, for query: Query, _ turns: inout ContextTurns,
        _ publication: inout Publication
    ) -> ContextMove {
        let view = subscription.view
        var way = ContextMove.Way.anew
        if subscription.isComplete {
            way = self.way(of: subscription, to: query, &turns, &publication)
            // So that the client does not resume what it has if its connection is lost now.
            if case .anew = way { publication.interrupt(subscription, .bootstrap) }
        }
        view.remove(subscription)
        if !view.hasSubscriptions { removeView(view) }
        return ContextMove(subscription: subscription, query: query, way: way)
    }

    private func way(
        of subscription: ViewSubscription, to query: Query, _ turns: inout ContextTurns,
        _ publication: inout Publication
    ) -> ContextMove.Way {
        do {
            switch try turns.turned(subscription.view, to: query, shape: hub.shape(of: query)) {
            case .turned(let live, let delta):
                if let delta { try publication.add(delta, for: subscription, in: query.context) }
                return .turned(live)
            case .beside:
                guard canMoveBeside(subscription) else { return .anew }
                publication.interrupt(subscription, .resumed)
                return .beside(former: subscription.view.live.copyForReading(), target: hub.unmade(query))
            }
        } catch {
            database.noteFailure("a subscription begins anew, since its reader's rights changed", error, at: .debug)
            return .anew
        }
    }

    /// Whether a subscription's view is not too large to be copied for others that stay.
    private func canMoveBeside(_ subscription: ViewSubscription) -> Bool {
        let view = subscription.view
        return view.live.linkedCount <= database.limits.copiedMemberCountMax || view.subscriptions.count == 1
    }

    /// Lets the subscriptions arrive at views that are at the state after the commit.
    ///
    /// - Returns: those that wait for their differences, and those that are sent everything anew.
    func arrive(_ moves: [ContextMove]) -> (waiting: [ContextMoves.Move], restarts: [ContextMove]) {
        var waiting: [ContextMoves.Move] = []
        var restarts: [ContextMove] = []
        for move in moves {
            let subscription = move.subscription
            switch move.way {
            case .anew: restarts.append(move)
            case _ where !subscription.subscriber.has(subscription): break
            case .turned(let live): arrive(subscription, at: hub[move.query.key] ?? insert(live))
            case .beside(let former, let target):
                let isDivided = ContextReading.Request.isDivided(former, target)
                waiting.append(wait(subscription, former, target, isDivided: isDivided))
            }
        }
        return (waiting, restarts)
    }

    /// Has a subscription wait for a difference that is found beside the writer. Where its new view holds nothing, it
    /// follows that from now on.
    private func wait(
        _ subscription: ViewSubscription, _ former: LiveView, _ target: LiveView, isDivided: Bool
    ) -> ContextMoves.Move {
        let waiting: ViewSubscription
        if isDivided {
            target.activateWithoutReading()
            waiting = arrive(subscription, at: hub[target.query.key] ?? insert(target))
        } else {
            waiting = ViewSubscription(
                id: subscription.id, subscriber: subscription.subscriber, view: SharedView(target))
            subscription.subscriber.subscriptions.replace(by: waiting)
        }
        return .init(
            subscription: waiting, run: bootstraps.beginWaiting(waiting),
            request: .init(former: former, query: target.query, shape: target.shape), isDivided: isDivided,
            classes: target.query.context.isEverything ? nil : target.query.context.classes(reachedBy: target.query))
    }

    @discardableResult
    private func arrive(_ subscription: ViewSubscription, at view: SharedView) -> ViewSubscription {
        let arrived = ViewSubscription(id: subscription.id, subscriber: subscription.subscriber, view: view)
        subscription.subscriber.subscriptions.replace(by: arrived)
        view.add(arrived)
        return arrived
    }

    /// Sets a view aside that takes longer to follow a commit than others may be kept waiting. It is brought up to date
    /// beside the writer. Until then its subscriptions are not complete, and their clients are told so with the commit.
    ///
    /// - Returns: the subscriptions that wait for their differences, and those that are sent everything anew.
    func setAside(
        _ view: SharedView, _ publication: inout Publication
    ) -> (waiting: [ContextMoves.Move], restarts: [ContextMove]) {
        let (former, target) = (view.live.copyForReading(), hub.unmade(view.query))
        var waiting: [ContextMoves.Move] = []
        var restarts: [ContextMove] = []
        for subscription in view.subscriptions {
            let isComplete = subscription.isComplete
            if isComplete { publication.interrupt(subscription, .resumed) }
            view.remove(subscription)
            if isComplete {
                waiting.append(wait(subscription, former, target, isDivided: false))
            } else {
                restarts.append(ContextMove(subscription: subscription, query: view.query, way: .anew))
            }
        }
        removeView(view)
        return (waiting, restarts)
    }

    /// Why a session ends whose subscription must begin anew, if it is not known any more what it was sent.
    static let changedRights = SessionEnd(.permissionDenied, "what the user may read has changed", action: .retry)
    static let wideChange = SessionEnd(
        .overloaded, "a commit has changed more of a query's results than the server keeps", action: .retry)

    // MARK: Beside the writer

    /// Begins to find what readers gain and lose, as far as it is not being found already.
    func findDifferences() { restart(moves.begin(replays)) }

    /// How a view of an earlier version was brought up to date.
    private enum CatchUp {
        /// It is, and these objects may differ from what clients of the earlier version have.
        case current(Set<ObjectRef>)
        /// It takes longer than others may be kept waiting, because of these changes.
        case late(CommitDelta)
        /// Too much has changed meanwhile.
        case impossible
    }

    /// Continues with what readers gain and lose.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finishMoves(_ preparation: QueryPreparation) -> Bool {
        guard let found = moves.finish(preparation) else { return false }
        encodedBlockCount += UInt64(found.listCount)
        // Subscriptions of one view share what was found.
        var caughtUp: [ObjectIdentifier: CatchUp] = [:]
        for (move, outcome) in found.outcomes where move.isAwaited {
            switch outcome {
            case .divided(let departures, let kept, let settling):
                move.run.begin(departures, keeping: kept, settling: settling)
            case .turned(let live, let objects):
                let known = caughtUp[ObjectIdentifier(live)] ?? catchUp(live, from: found.version)
                caughtUp[ObjectIdentifier(live)] = known
                switch known {
                case .current(let more): arrive(move, at: live, objects, and: more)
                case .late(let commit):
                    let request = ContextReading.Request(
                        former: live, query: live.query, shape: live.shape, earlier: objects)
                    moves.append([move.asking(request)], before: found.version, commit)
                case .impossible: restart([move])
                }
            case .unknown:
                restart([move])
            }
        }
        return true
    }

    /// Lets a view of an earlier version follow what was changed since, as far as that takes no longer than following a
    /// commit may.
    private func catchUp(_ live: LiveView, from version: UInt64) -> CatchUp {
        let (storage, limits) = (database.storage, database.limits)
        do {
            guard live.shape.isSame(under: storage.schema) else { return .impossible }
            guard version < storage.version else { return .current([]) }
            guard let commit = try replays.changes(since: version, countMax: limits.contextChangeCountMax) else {
                return .impossible
            }
            let stepCountMax = max(
                limits.followStepCount(changeCount: commit.changeCount), limits.followStepCountMin)
            do {
                return try database.limitingWork(for: nil, stepCountMax: stepCountMax) { _ in
                    let before = OldStateSource(commit, over: storage, schema: storage.schema)
                    var objects = try live.apply(commit, in: storage, before: before)?.objects ?? []
                    for change in commit.changes where try live.member(change.object, in: storage) != nil {
                        objects.insert(change.object)
                    }
                    return .current(objects)
                }
            } catch let error as StorageError where error.code == .interrupted {
                live.forgetJudge()
                return .late(commit)
            }
        } catch {
            database.noteFailure(
                "a subscription begins anew, since it could not be brought up to date", error, at: .debug)
            return .impossible
        }
    }

    /// Lets a subscription arrive at a view of the present state.
    ///
    /// - Parameter objects: what may differ from what the client has, ascending; with `more`.
    private func arrive(_ move: ContextMoves.Move, at live: LiveView, _ objects: [ObjectRef], and more: Set<ObjectRef>)
    {
        bootstraps.end(move.subscription)
        let arrived = arrive(move.subscription, at: hub[live.query.key] ?? insert(live))
        bootstraps.go(on: arrived, with: move.run)
        move.run.begin(nil, keeping: [], settling: objects)
        move.run.touch(more)
    }

    private func restart(_ moves: [ContextMoves.Move]) {
        restart(
            moves.compactMap { move in
                guard move.isAwaited else { return nil }
                let subscription = move.subscription
                let query = try? subscription.view.query.rebound(to: database.storage.schema)
                subscription.view.remove(subscription)
                if !subscription.view.hasSubscriptions { removeView(subscription.view) }
                return ContextMove(subscription: subscription, query: query ?? subscription.view.query, way: .anew)
            }, because: Self.changedRights)
    }

    // MARK: Anew

    /// Begins subscriptions anew in their new contexts. What the client was sent of an interrupted bootstrap, it is told
    /// to forget.
    ///
    /// - Parameter reason: why a session ends of which it is not known what it was sent.
    func restart(_ moves: [ContextMove], because reason: SessionEnd) {
        for move in moves {
            let former = move.subscription
            guard former.subscriber.has(former) else { continue }
            guarding(former.session) {
                guard let sent = former.receiver.map({ $0.sentObjects }) ?? [] else {
                    throw reason
                }
                let comparison = former.comparison
                subscriptionEnded(former)
                if sent.isEmpty, comparison == nil { return requestAnew(move) }
                do {
                    let view = try turn.charging(former.subscriber) { _ in try sharedView(of: move.query) }
                    let subscription = ViewSubscription(id: former.id, subscriber: former.subscriber, view: view)
                    former.subscriber.subscriptions.replace(by: subscription)
                    view.add(subscription)
                    if let comparison {
                        // The client lists what it has, whatever it may read.
                        subscription.comparison = comparison
                        return
                    }
                    try recall(sent, from: subscription)
                    resumer.noteStartAnew()
                    try turn.charging(former.subscriber) { try bootstraps.beginAnew(subscription, within: $0) }
                    // The client goes on with the membership that it has begun to stage.
                    subscription.receiver?.noteEarlier(sent)
                    listRoots()
                } catch let error as StorageError where error.endsQueryAlone {
                    if let subscription = former.subscriber.subscriptions[former.id] {
                        end(subscription, because: error)
                    }
                }
            }
        }
    }

    /// Has a subscription begin as one that was just requested, when its session has its turn.
    private func requestAnew(_ move: ContextMove) {
        let former = move.subscription
        guard former.subscriber.subscriptions.remove(former.id) != nil else { return }
        let request = ClientMessage.Subscribe(
            session: former.session.session, subscription: former.id, query: move.query.canonicalText)
        starter.append(SubscriptionStart(request: request, query: move.query, subscriber: former.subscriber))
    }

    /// Ends what was under way for a subscription that begins anew.
    private func subscriptionEnded(_ subscription: ViewSubscription) {
        let isListing = subscription.comparison != nil
        if !isListing { subscription.subscriber.comparedMemberCount -= subscription.announcedCount }
        bootstraps.end(subscription)
        listRoots()
    }

    /// Tells a client of the objects that an interrupted bootstrap has sent and that are not in the view.
    private func recall(_ objects: Set<ObjectRef>, from subscription: ViewSubscription) throws {
        guard !objects.isEmpty else { return }
        let live = subscription.view.live
        let limits = database.limits
        var builder = ViewBlockBuilder(
            rowCountMax: limits.pageRowCount, byteCountMax: limits.pageByteCount, schema: database.storage.schema,
            limits: limits.data)
        for object in objects.sorted() where try live.member(object, in: database.storage) == nil {
            let reason = try live.reasonOfDeparture(object, wasRoot: true, in: database.storage)
            builder.add(object, role: .member, reason: reason)
        }
        for block in builder.blocks where !block.isEmpty {
            let page = ServerMessage.Page(
                session: subscription.session.session, subscriptions: [subscription.id],
                version: database.storage.version, progress: 0, kind: .bootstrap,
                content: block)
            outbox.send([.page(page)], to: subscription.session)
        }
    }
}
