internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What brings the subscriptions of a returning client up to date, all in one frame.
struct Resumption {
    var messages: [ServerMessage] = []
    /// What there is still room for, in bytes before compression.
    var byteCountLeft: Int

    init(byteCountLeft: Int) { self.byteCountLeft = byteCountLeft }
}

extension DatabaseEngine {
    /// Starts or resumes a subscription.
    ///
    /// - Parameter resumed: gets the messages that bring a resumed subscription up to date; none when pages will follow.
    func subscribe(
        _ request: ClientMessage.Subscribe, session: ServerSession, with resumed: inout Resumption, now: Timestamp
    ) throws {
        guard session.subscriptions[request.subscription] == nil else {
            end(session, .protocolViolation, "subscription \(request.subscription) exists already", action: .retry)
            return
        }
        guard session.subscriptions.count < limits.server.subscriptionCountMax else {
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
        let view = try sharedView(of: query)
        let subscription = ViewSubscription(id: request.subscription, session: session, view: view, bootstrap: nil)
        session.subscriptions[request.subscription] = subscription
        view.add(subscription)
        if let resume = request.resume, resume.queryHash == query.hash,
            let content = try replay(view.live, since: resume.version, byteCountMax: resumed.byteCountLeft)
        {
            resumed.byteCountLeft -= content.estimatedSize
            resumed.messages += resumeMessages(subscription, content: content, now: now)
            return
        }
        subscription.bootstrap = try makeBootstrap(of: view.live)
        bootstrapping.append(subscription)
    }

    private func refuse(
        _ request: ClientMessage.Subscribe, _ session: ServerSession, _ code: ErrorCode, _ message: String,
        position: Int? = nil
    ) {
        let refusal = ServerMessage.SubscriptionError(
            session: request.session, subscription: request.subscription, code: code, message: message,
            position: position.map(UInt64.init))
        send([.subscriptionError(refusal)], to: session.id)
    }

    private func resumeMessages(
        _ subscription: ViewSubscription, content: ViewBlock, now: Timestamp
    ) -> [ServerMessage] {
        let session = subscription.session.id.session
        let complete = ServerMessage.Complete(
            session: session, subscription: subscription.id, version: storage.version, acceptedAt: now, kind: .resumed)
        guard !content.objects.isEmpty || !content.departures.isEmpty else { return [.complete(complete)] }
        let page = ServerMessage.Page(
            session: session, subscriptions: [subscription.id], version: storage.version, progress: 1, kind: .resumed,
            content: content)
        return [.page(page), .complete(complete)]
    }

    private func sharedView(of query: Query) throws -> SharedView {
        if let view = views[query.hash] { return view }
        let view = SharedView(try makeView(query))
        views[query.hash] = view
        index.insert(view.live)
        automaticIndexes.add(query, schema: storage.schema)
        return view
    }

    func makeView(_ query: Query) throws -> LiveView {
        let live = LiveView(query, schema: storage.schema)
        try live.activate(in: storage)
        return live
    }

    /// Forgets a subscription, and its view if it was the last.
    func remove(_ subscription: ViewSubscription) {
        let view = subscription.view
        view.remove(subscription)
        bootstrapping.removeAll { $0 === subscription }
        guard view.subscriptions.isEmpty else { return }
        views[view.query.hash] = nil
        index.remove(view.live)
        automaticIndexes.remove(view.query, schema: storage.schema)
    }
}
