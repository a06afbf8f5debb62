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

    /// Whether a subscription's client takes differences in pages, and its view is not too large to be copied for others
    /// that stay.
    private func canMoveBeside(_ subscription: ViewSubscription) -> Bool {
        guard sessions[subscription.session]?.takesMovesInPages ?? false else { return false }
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
            case .beside(let former, let target): waiting.append(wait(subscription, former, target))
            }
        }
        return (waiting, restarts)
    }

    /// Has a subscription wait for a difference that is found beside the writer. Where its new view holds nothing, it
    /// follows that from now on.
    private func wait(_ subscription: ViewSubscription, _ former: LiveView, _ target: LiveView) -> ContextMoves.Move {
        let isDivided = ContextReading.Request.isDivided(former, target)
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
            classes: target.query.context.classes(reachedBy: target.query))
    }

    @discardableResult
    private func arrive(_ subscription: ViewSubscription, at view: SharedView) -> ViewSubscription {
        let arrived = ViewSubscription(id: subscription.id, subscriber: subscription.subscriber, view: view)
        subscription.subscriber.subscriptions.replace(by: arrived)
        view.add(arrived)
        return arrived
    }

    // MARK: Beside the writer

    /// Begins to find what readers gain and lose, as far as it is not being found already.
    func findDifferences() { restart(moves.begin(replays)) }

    /// Continues with what readers gain and lose.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finishMoves(_ preparation: QueryPreparation) -> Bool {
        guard let found = moves.finish(preparation) else { return false }
        encodedBlockCount += UInt64(found.listCount)
        for (move, outcome) in found.outcomes where move.isAwaited {
            switch outcome {
            case .divided(let departures, let kept, let settling):
                move.run.begin(departures, keeping: kept, settling: settling)
            case .turned(let live, let objects):
                if !arrive(move, at: live, asOf: found.version, objects) { restart([move]) }
            case .unknown:
                restart([move])
            }
        }
        return true
    }

    /// Lets a subscription arrive at a view of an earlier version, which is brought up to date.
    ///
    /// - Parameter objects: what may differ from what the client has.
    /// - Returns: false if too much has changed meanwhile.
    private func arrive(
        _ move: ContextMoves.Move, at live: LiveView, asOf version: UInt64, _ objects: Set<ObjectRef>
    ) -> Bool {
        let storage = database.storage
        do {
            var objects = objects
            guard live.shape.isSame(under: storage.schema),
                let commit = try replays.changes(since: version, countMax: database.limits.contextChangeCountMax)
            else { return false }
            try database.limitingWork(for: nil, stepCountMax: database.limits.upkeepStepCountMax) { _ in
                let before = OldStateSource(commit, over: storage, schema: storage.schema)
                objects.formUnion(try live.apply(commit, in: storage, before: before)?.objects ?? [])
                for change in commit.changes where try live.member(change.object, in: storage) != nil {
                    objects.insert(change.object)
                }
            }
            bootstraps.end(move.subscription)
            let arrived = arrive(move.subscription, at: hub[live.query.key] ?? insert(live))
            bootstraps.go(on: arrived, with: move.run)
            move.run.begin(nil, keeping: [], settling: objects)
            return true
        } catch {
            database.noteFailure("a subscription begins anew, since its reader's rights changed", error, at: .debug)
            return false
        }
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
            })
    }

    // MARK: Anew

    /// Begins subscriptions anew in their new contexts. What the client was sent of an interrupted bootstrap, it is told
    /// to forget.
    func restart(_ moves: [ContextMove]) {
        for move in moves {
            let former = move.subscription
            guard former.subscriber.has(former) else { continue }
            guarding(former.session) {
                guard let sent = former.receiver.map({ $0.sentObjects }) ?? [] else {
                    throw SessionEnd(.permissionDenied, "what the user may read has changed", action: .retry)
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
                content: block.readable(withNotes: subscription.subscriber.readsNotes))
            outbox.send([.page(page)], to: subscription.session)
        }
    }
}
