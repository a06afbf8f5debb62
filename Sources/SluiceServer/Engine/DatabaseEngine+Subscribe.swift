internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The way of a subscription: requested, started within a turn or after its view was made beside the writer, brought up
/// to date from what the client has or sent in pages, and ended.
extension DatabaseEngine {
    // MARK: Requested

    /// Starts or resumes a subscription, at once or in a later turn.
    ///
    /// - Parameter resumed: collects the messages that bring a resumed subscription up to date; none if pages will
    ///   follow.
    func subscribe(
        _ request: ClientMessage.Subscribe, by subscriber: Subscriber, with resumed: inout Resumption, now: Timestamp
    ) throws {
        let session = subscriber.session
        do {
            let query = try subscriptions.query(
                of: request, by: subscriber, waitingCount: starter.waitingCount(of: session),
                userWaitingCount: starter.waitingCount(of: subscriber.holder))
            let start = SubscriptionStart(request: request, query: query, subscriber: subscriber)
            if try starter.mustWait(subscriber) || !begin(start, with: &resumed, now: now) { starter.append(start) }
        } catch let refusal as Subscriptions.Refusal {
            outbox.send([refusal.answer(to: request)], to: session)
        }
    }

    /// Starts waiting subscriptions as far as the turn allows.
    func startWaiting(now: Timestamp) {
        while let start = starter.nextStart() {
            guard subscriptions.has(start.subscriber) else { continue }
            var resumed = Resumption(byteCountLeft: database.limits.frameByteCount)
            guarding(start.session) {
                if try !begin(start, with: &resumed, now: now) { starter.append(start) }
            }
            send(resumed, to: start.session)
        }
    }

    // MARK: Its view

    /// Starts a subscription, if the turn allows that.
    ///
    /// - Returns: false if the turn has not enough steps left, so that the start must be tried again.
    private func begin(
        _ start: SubscriptionStart, with resumed: inout Resumption, now: Timestamp
    ) throws -> Bool {
        let allowance = turn.allowance(of: start.subscriber.holder)
        guard allowance > 0 else { return false }
        turn.note(database.limits.startStepCount, for: start.subscriber.holder)
        var start = start
        do {
            try start.bindToReader()
            guard let view = try turn.attempting(for: start.subscriber, { try sharedView(of: start.query) }) else {
                // With less than its full share in this turn, it may succeed in the next turn.
                guard allowance >= database.limits.shareStepCountMax else { return false }
                starter.append(.view(start))
                return true
            }
            try begin(start, with: view, &resumed, now: now)
        } catch let error as StorageError where error.endsQueryAlone {
            refuse(start, because: error)
        } catch let refusal as Subscriptions.Refusal {
            outbox.send([refusal.answer(to: start.request)], to: start.session)
        }
        return true
    }

    func sharedView(of query: Query) throws -> SharedView {
        try hub[query.key] ?? insert(try hub.make(query))
    }

    /// Adds a view to those that are kept current.
    func insert(_ live: LiveView) -> SharedView {
        let view = hub.insert(live)
        digests.insert(view)
        housekeeping.indexes.add(live.query)
        return view
    }

    /// Begins the next piece of costly work beside the writer. A database in memory has no other connection than its
    /// writer, which then does the work.
    func prepareNext(now: Timestamp) {
        guard let work = starter.nextCostly(), subscriptions.has(work.subscriber) else { return }
        guarding(work.session) {
            do {
                if try !starter.handOut(work, view: hub.unmade) { try workInPlace(work, now: now) }
            } catch let error as StorageError where error.endsQueryAlone {
                end(work, because: error)
            } catch let refusal as Subscriptions.Refusal {
                refuse(work, refusal)
            }
        }
    }

    /// Rejects a subscription that its reader may not ask for any more.
    private func refuse(_ work: CostlyWork, _ refusal: Subscriptions.Refusal) {
        guard case .view(let start) = work else { return }
        outbox.send([refusal.answer(to: start.request)], to: start.session)
    }

    private func workInPlace(_ work: CostlyWork, now: Timestamp) throws {
        switch work {
        case .view(var start):
            try start.bindToReader()
            let view = try turn.charging(work.subscriber) { _ in try sharedView(of: start.query) }
            try begin(start, with: view, now: now)
        case .roots(let subscription):
            let roots = try turn.charging(work.subscriber) { _ in
                try database.storage.roots(
                    matching: subscription.view.query, after: subscription.remaining?.unlistedAfter)
            }
            subscription.list(roots)
        }
    }

    /// Continues with the result of work that was done beside the writer.
    func finish(_ preparation: QueryPreparation, now: Timestamp) {
        guard let work = starter.finish(preparation), subscriptions.has(work.subscriber) else { return }
        guarding(work.session) {
            do {
                switch (work, preparation.outcome) {
                case (.view(let start), .view(let live, let version)):
                    try finish(live, asOf: version, for: start, now: now)
                case (.roots(let subscription), .roots(let roots)): subscription.list(roots)
                case (_, .failed(let error)): throw error
                case (_, .none), (_, .read), (.view, .roots), (.roots, .view): break
                }
            } catch let error as StorageError where error.endsQueryAlone || error.code == .cancelled {
                // Nobody waits for cancelled work any more.
                if error.code != .cancelled { end(work, because: error) }
            } catch let refusal as Subscriptions.Refusal {
                refuse(work, refusal)
            }
        }
    }

    /// Brings a view of an earlier version up to date, and starts the subscription for which it was made.
    private func finish(_ live: LiveView, asOf version: UInt64, for start: SubscriptionStart, now: Timestamp) throws {
        var start = start
        guard try !start.bindToReader() else { return starter.append(.view(start)) }
        if let view = hub[start.query.key] { return try begin(start, with: view, now: now) }
        guard live.shape.isSame(under: database.storage.schema) else {
            start.query = try start.query.rebound(to: database.storage.schema)
            return starter.append(.view(start))
        }
        let isCurrent = try turn.charging(start.subscriber, stepCountMax: database.limits.upkeepStepCountMax) { _ in
            try replays.catchUp(live, from: version)
        }
        // Where too much has changed meanwhile, the view is made again.
        guard isCurrent else { return starter.append(.view(start)) }
        try begin(start, with: insert(live), now: now)
    }

    private func begin(_ start: SubscriptionStart, with view: SharedView, now: Timestamp) throws {
        var resumed = Resumption(byteCountLeft: database.limits.frameByteCount)
        try begin(start, with: view, &resumed, now: now)
        send(resumed, to: start.session)
    }

    // MARK: Its content

    /// Subscribes to a view, and sends what the client has missed, or everything in pages.
    private func begin(
        _ start: SubscriptionStart, with view: SharedView, _ resumed: inout Resumption, now: Timestamp
    ) throws {
        let request = start.request
        let subscription = ViewSubscription(id: request.subscription, subscriber: start.subscriber, view: view)
        start.subscriber.subscriptions.insert(subscription)
        view.add(subscription)
        try guarding(subscription) { work in
            if let resume = request.resume, resume.queryHash == start.query.hash {
                let isResumed = try work.attempting(database.limits.resumeStepCountMax) {
                    try resumer.resume(
                        subscription, resume, with: &resumed,
                        where: { try mayKnow($0, since: resume.version, start.session) }, now: now)
                }
                if isResumed ?? false { return }
            }
            resumer.noteStartAnew()
            try bootstraps.beginAnew(subscription, within: work)
            listRoots()
        }
    }

    /// Whether the reader of a session may be told what there was before a commit: only if what may be read was decided
    /// at that version as it is now, since a client may claim any version.
    ///
    /// - Parameter commit: all changes since the version.
    private func mayKnow(_ commit: CommitDelta, since version: UInt64, _ session: SessionID) throws -> Bool {
        guard permissions.hasRules else { return true }
        return try version >= database.storage.rulesSince && permissions.heldAlike(for: session, since: commit)
    }

    /// Sends what brings a client up to date, unless its session has ended.
    func send(_ resumed: Resumption, to session: SessionID) {
        guard sessions[session] != nil else { return }
        outbox.send(resumed.messages, to: session)
        outbox.send(resumed.inquiries, to: session)
    }

    /// Takes a part of the list of members that a client has. After the last part, the differences are sent in pages.
    func compare(_ members: ClientMessage.Members, by subscriber: Subscriber) throws {
        guard let subscription = subscriber.subscriptions[members.subscription] else { return }
        guard let comparison = subscription.comparison else {
            throw SessionEnd(.protocolViolation, "members that the server did not ask for", action: .retry)
        }
        try comparison.add(members.content, schema: database.storage.schema)
        guard !members.isContinued else { return }
        subscription.comparison = nil
        try guarding(subscription) { work in
            try bootstraps.begin(subscription, comparing: comparison, within: work)
            listRoots()
        }
    }

    /// Sends pages to clients that have credit, as far as the turn allows.
    func sendPages(now: Timestamp) {
        let (frames, failures) = bootstraps.sendPages(now: now)
        outbox.append(frames)
        for (subscription, error) in failures {
            end(subscription, after: error)
        }
        listRoots()
    }

    /// Continues with a page that was read beside the writer.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finishReading(_ preparation: QueryPreparation) -> Bool {
        guard let result = bootstraps.finish(preparation) else { return false }
        if case .failed(let subscription, let error) = result { end(subscription, after: error) }
        listRoots()
        return true
    }

    /// Ends a subscription, or its session, because its pages could not be read.
    private func end(_ subscription: ViewSubscription, after error: any Error) {
        guard subscription.subscriber.has(subscription) else { return }
        guarding(subscription.session) {
            do { throw error } catch let error as StorageError where error.endsQueryAlone {
                end(subscription, because: error)
            }
        }
    }

    /// Has the roots listed beside the writer that pages wait for.
    func listRoots() {
        for subscription in bootstraps.takeUnlisted() { starter.append(.roots(subscription)) }
    }

    // MARK: Its end

    func unsubscribe(_ subscription: UInt64, by subscriber: Subscriber) {
        starter.remove(subscription, of: subscriber.session)
        if let ended = subscriber.subscriptions.remove(subscription) { remove(ended) }
    }

    /// Runs the work of a subscription's query. If only the query must end, this subscription does.
    private func guarding(_ subscription: ViewSubscription, _ body: (WorkLimit) throws -> Void) throws {
        do { try turn.charging(subscription.subscriber, body) } catch let error as StorageError
            where error.endsQueryAlone
        {
            end(subscription, because: error)
        }
    }

    /// Ends a subscription whose query takes too much work, meets damage, or cannot be run.
    func end(_ subscription: ViewSubscription, because error: StorageError) {
        guard subscription.subscriber.subscriptions.remove(subscription.id) != nil else { return }
        remove(subscription)
        database.noteRefusal("a query was given up", subscription.view.query, error)
        let (code, message) = database.subscriberError(of: error)
        outbox.send([subscription.failure(code, message)], to: subscription.session)
    }

    /// Ends a subscription that names what its reader may not read any more.
    func end(_ subscription: ViewSubscription, because error: HiddenPropertyError) {
        guard subscription.subscriber.subscriptions.remove(subscription.id) != nil else { return }
        remove(subscription)
        outbox.send([subscription.failure(.permissionDenied, error.message)], to: subscription.session)
    }

    /// Rejects a subscription whose query takes too much work, meets damage, or cannot be run.
    private func refuse(_ start: SubscriptionStart, because error: StorageError) {
        database.noteRefusal("a query was refused", start.query, error)
        let (code, message) = database.subscriberError(of: error)
        outbox.send([Subscriptions.Refusal(code: code, message: message).answer(to: start.request)], to: start.session)
    }

    private func end(_ work: CostlyWork, because error: StorageError) {
        switch work {
        case .view(let start): refuse(start, because: error)
        case .roots(let subscription): end(subscription, because: error)
        }
    }

    /// Removes a subscription, and its view if no other subscription uses it.
    func remove(_ subscription: ViewSubscription) {
        let view = subscription.view
        view.remove(subscription)
        subscription.subscriber.comparedMemberCount -= subscription.announcedCount
        subscription.comparison = nil
        bootstraps.end(subscription)
        listRoots()
        if !view.hasSubscriptions { removeView(view) }
    }

    /// Removes a view that nobody subscribes to any more, unless this process observes it.
    func removeView(_ view: SharedView) {
        guard hub[view.query.key] === view, !observers.has(view) else { return }
        hub.remove(view)
        digests.remove(view)
        bootstraps.removePages(of: view)
        housekeeping.indexes.remove(view.query)
    }
}
