internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    /// Starts or resumes a subscription.
    ///
    /// - Parameter resumed: collects the messages that bring a resumed subscription up to date; none if pages will
    ///   follow.
    func subscribe(
        _ request: ClientMessage.Subscribe, session: ServerSession, with resumed: inout Resumption, now: Timestamp
    ) throws {
        guard request.subscription > session.lastSubscription else {
            let message =
                "subscription \(request.subscription) cannot be made: numbers ascend, and the next one is above "
                + "\(session.lastSubscription)"
            end(session, .protocolViolation, message, action: .retry)
            return
        }
        session.lastSubscription = request.subscription
        let isPreparing = preparing?.work.session === session
        let count = session.subscriptions.count + starting.startCount(of: session.id) + (isPreparing ? 1 : 0)
        guard count < limits.server.subscriptionCountMax else {
            refuse(
                request, session, .limitExceeded,
                "a session has at most \(limits.server.subscriptionCountMax) subscriptions")
            return
        }
        let query: Query
        do {
            query = try Query.parse(request.query, schema: storage.schema)
        } catch {
            let isUnknown = error.code == .unknownClass || error.code == .unknownProperty
            refuse(
                request, session, isUnknown ? .unknownName : .invalidQuery, error.message, position: error.position)
            return
        }
        let start = SubscriptionStart(request: request, query: query, session: session)
        if try starting.hasStarts(of: session.id) || !begin(start, with: &resumed, now: now) { starting.append(start) }
    }

    /// Subscribes to a view, and sends what the client has missed, or everything in pages.
    func subscribe(
        _ start: SubscriptionStart, to view: SharedView, with resumed: inout Resumption, now: Timestamp
    ) throws {
        let (request, session) = (start.request, start.session)
        let subscription = ViewSubscription(id: request.subscription, session: session, view: view)
        session.subscriptions[request.subscription] = subscription
        view.add(subscription)
        try guardingQuery(of: subscription) { work in
            if let resume = request.resume, resume.queryHash == start.query.hash {
                let isResumed = try work.attempting(limits.resumeStepCountMax) {
                    try self.resume(subscription, resume, with: &resumed, now: now)
                }
                if isResumed ?? false { return }
            }
            statistics.starts[.anew] += 1
            try beginAnew(subscription, within: work)
        }
    }

    /// Brings a subscription up to date from the state that the client has.
    ///
    /// - Returns: whether that is possible.
    private func resume(
        _ subscription: ViewSubscription, _ resume: ClientMessage.Resume, with resumed: inout Resumption, now: Timestamp
    ) throws -> Bool {
        let live = subscription.view.live
        if resume.isWhole, resume.version <= storage.version,
            let content = try replayIfReadable(live, since: resume.version, byteCountMax: resumed.byteCountLeft)
        {
            statistics.starts[content.isEmpty ? .current : .replayed] += 1
            resumed.byteCountLeft -= content.estimatedSize
            resumed.messages += try resumeMessages(subscription, content: content, now: now)
            return true
        }
        if let digest = resume.digest, try digest == self.digest(of: subscription.view) {
            statistics.starts[.equal] += 1
            resumed.messages += try resumeMessages(subscription, content: ViewBlock(), now: now)
            return true
        }
        guard canCompare(resume, session: subscription.session) else { return false }
        statistics.starts[.compared] += 1
        let count = Int(resume.memberCount)
        subscription.session.comparedMemberCount += count
        subscription.comparison = Comparison(announcedCount: count)
        resumed.inquiries.append(
            .listMembers(session: subscription.session.id.session, subscription: subscription.id))
        return true
    }

    /// What the client has missed, read from the log; nil if the log is damaged, since the rest of the database may be
    /// readable.
    private func replayIfReadable(_ live: LiveView, since version: UInt64, byteCountMax: Int) throws -> ViewBlock? {
        do { return try replay(live, since: version, byteCountMax: byteCountMax) } catch let error as StorageError
            where error.isOfDamage
        {
            noteFailure("what a client missed could not be read", error)
            return nil
        }
    }

    func refuse(
        _ request: ClientMessage.Subscribe, _ session: ServerSession, _ code: ErrorCode, _ message: String,
        position: Int? = nil
    ) {
        let failure = ServerMessage.SubscriptionError(
            session: request.session, subscription: request.subscription, code: code, message: message,
            position: position.map(UInt64.init))
        send([.subscriptionError(failure)], to: session.id)
    }

    private func resumeMessages(
        _ subscription: ViewSubscription, content: ViewBlock, now: Timestamp
    ) throws -> [ServerMessage] {
        let session = subscription.session.id.session
        let complete = ServerMessage.Complete(
            session: session, subscription: subscription.id, version: storage.version,
            acceptedAt: storage.acceptedAt ?? now, kind: .resumed, digest: try digest(of: subscription.view))
        guard !content.isEmpty else { return [.complete(complete)] }
        let page = ServerMessage.Page(
            session: session, subscriptions: [subscription.id], version: storage.version, progress: 1, kind: .resumed,
            content: content)
        return [.page(page), .complete(complete)]
    }

    func sharedView(of query: Query) throws -> SharedView {
        if let view = views[query.hash] { return view }
        return insert(try makeView(query))
    }

    /// Adds a view to those that are kept current.
    func insert(_ live: LiveView) -> SharedView {
        let view = SharedView(live)
        views[live.query.hash] = view
        index.insert(live)
        automaticIndexes.add(live.query, schema: storage.schema)
        return view
    }

    func makeView(_ query: Query) throws -> LiveView {
        let live = LiveView(query, shape: shapes.shape(of: query))
        try live.activate(in: storage)
        return live
    }

    /// Removes a subscription, and its view if no other subscription uses it.
    func remove(_ subscription: ViewSubscription) {
        let view = subscription.view
        view.remove(subscription)
        let announced = subscription.comparison?.announcedCount ?? subscription.remaining?.announcedCount ?? 0
        subscription.session.comparedMemberCount -= announced
        endPages(of: subscription)
        guard view.subscriptions.isEmpty else { return }
        views[view.query.hash] = nil
        pageCache.removeAll(of: view.query.hash)
        index.remove(view.live)
        automaticIndexes.remove(view.query, schema: storage.schema)
    }
}
