internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What subscriptions are sent, from the moment at which each has its view to its end: what the client has missed, or
/// everything in pages; and how a subscription goes on that a commit has taken out of its view.
///
/// What is to be sent goes into the output that the caller passes. A session for which something fails loses its
/// subscriptions here, and is reported there. A commit concerns only subscriptions that lack pages: complete ones are
/// told by the publication.
final class SubscriptionContent {
    private let database: Database
    private let budget: WorkBudget
    private let permissions: Permissions
    let hub: ViewHub
    private let digests: ViewDigests
    private let indexes: IndexKeeper
    private let subscriptions: Subscriptions
    private let scheduler: SubscriptionScheduler
    private let replays: Replays
    private let resumer: Resumer
    private let pages: PageSender

    init(
        _ database: Database, _ budget: WorkBudget, _ permissions: Permissions, _ subscriptions: Subscriptions,
        _ hub: ViewHub, _ digests: ViewDigests, _ indexes: IndexKeeper, _ scheduler: SubscriptionScheduler
    ) {
        self.database = database
        self.budget = budget
        self.permissions = permissions
        self.subscriptions = subscriptions
        self.hub = hub
        self.digests = digests
        self.indexes = indexes
        self.scheduler = scheduler
        replays = Replays(database)
        resumer = Resumer(database, replays, digests)
        pages = PageSender(database, budget)
    }

    // MARK: Work

    /// Whether pages can be sent.
    var hasWork: Bool { pages.hasWork }

    /// Whether somebody waits for a page.
    var isAwaited: Bool { pages.isAwaited }

    /// Whether a page is read beside the writer.
    var isReading: Bool { pages.isReading }

    /// A page to read beside the writer; nil if there is none.
    func takeReading() -> QueryPreparation? { pages.takeReading() }

    func addCounts(to statistics: inout DatabaseStatistics) {
        statistics.sentPageCount = pages.sentPageCount
        statistics.starts = resumer.starts
        statistics.bootstraps = pages.bootstraps
        statistics.sharedPages = pages.counts
    }

    /// What the encoded pages take that clients share, about, in bytes.
    var sharedPageByteCount: Int { pages.sharedPageByteCount }

    /// Frees the pages that nobody has taken for a while.
    func dropIdlePages(now: Timestamp) { pages.dropIdle(now: now) }

    // MARK: Views

    /// The view of a query at the present state, which is made if nobody has it.
    func view(of query: Query) throws -> SharedView { try hub[query.key] ?? insert(try hub.make(query)) }

    /// Adds a view to those that are kept current.
    func insert(_ live: LiveView) -> SharedView {
        let view = hub.insert(live)
        indexes.add(live.query)
        return view
    }

    /// Removes a view that nobody subscribes to or observes any more.
    func release(_ view: SharedView) {
        guard !view.hasSubscriptions, !view.isObserved, hub[view.query.key] === view else { return }
        hub.remove(view)
        pages.removePages(of: view)
        indexes.remove(view.query)
    }

    /// Brings a view of an earlier version up to date.
    ///
    /// - Returns: false if too much has changed meanwhile.
    func catchUp(_ live: LiveView, from version: UInt64) throws -> Bool { try replays.catchUp(live, from: version) }

    /// Brings the views to a schema that has grown.
    func grow() throws {
        replays.removeAll()
        pages.noteChangedViews()
        try hub.grow()
    }

    /// Forgets all views and subscriptions, since the schema has changed in another way than by growing.
    func removeAll() {
        hub.removeAll()
        digests.restart()
        pages.removeAll()
        replays.removeAll()
        indexes.removeAll()
        subscriptions.forgetAll()
    }

    // MARK: Beginning

    /// Subscribes to a view, and sends what the client has missed, or everything in pages.
    func begin(
        _ start: SubscriptionStart, with view: SharedView, _ resumed: inout Resumption, _ output: inout TurnOutput,
        now: Timestamp
    ) throws {
        let request = start.request
        let subscription = ViewSubscription(
            id: request.subscription, subscriber: start.subscriber, view: view,
            requestedAt: start.requestedAt ?? now)
        start.subscriber.subscriptions.insert(subscription)
        view.add(subscription)
        try charging(subscription, &output) { work, output in
            if let basis = request.basis, try grow(subscription, from: basis, within: work, &output) { return }
            if let resume = request.resume, resume.queryHash == start.query.hash {
                let isResumed = try work.attempting(database.limits.resumeStepCountMax) {
                    try resumer.resume(
                        subscription, resume, isAnnounced: !start.isInterrupted, with: &resumed,
                        where: { try mayKnow($0, since: resume.version, start.session) }, now: now)
                }
                if isResumed ?? false { return }
            }
            try sendEverything(to: subscription, within: work)
        }
    }

    /// Sends a subscription what it has beyond a smaller one of its session, whose members the client has.
    ///
    /// - Parameter basis: the number of the other, which is complete, and asks for fewer of the same results.
    /// - Returns: false if there is no such subscription, or the session has no room for a comparison.
    private func grow(
        _ subscription: ViewSubscription, from basis: UInt64, within work: WorkLimit, _ output: inout TurnOutput
    ) throws -> Bool {
        let query = subscription.view.query
        guard let smaller = subscription.subscriber.subscriptions[basis], smaller.isComplete,
            let limit = smaller.view.query.limit, limit <= query.limit ?? 0,
            let key = query.growingKey, smaller.view.query.growingKey == key
        else { return false }
        let live = smaller.view.live
        let room = database.limits.comparedMemberCountMax - subscription.subscriber.comparedMemberCount
        var members = ObjectBlock()
        for root in try live.currentRoots(in: database.storage) ?? [] {
            members.append(root, version: database.storage.version, role: .root)
        }
        guard members.count + live.linkedCount <= room else { return false }
        try live.forEachLinked(in: database.storage) { object, _ in
            members.append(object, version: database.storage.version, role: .linked)
        }
        var known = KnownMembers()
        known.add(members)
        // Says from which commit on the client's copy of the members is no more that of the smaller subscription.
        let page = ServerMessage.Page(
            session: subscription.session.session, subscriptions: [subscription.id],
            version: database.storage.version, progress: 0, kind: .resumed, content: ViewBlock())
        output.send([.page(page)], to: subscription.session)
        resumer.noteGrowth()
        try pages.begin(subscription, comparing: known, announcedCount: known.count, within: work)
        listRoots()
        return true
    }

    private func sendEverything(to subscription: ViewSubscription, within work: WorkLimit) throws {
        resumer.noteStartAnew()
        try pages.beginAnew(subscription, within: work)
        listRoots()
    }

    /// Whether the reader of a session may be told what there was before a commit: only if what may be read was decided
    /// at that version as it is now, since a client may claim any version.
    ///
    /// - Parameter commit: all changes since the version.
    private func mayKnow(_ commit: CommitDelta, since version: UInt64, _ session: SessionID) throws -> Bool {
        guard permissions.hasRules else { return true }
        return try version >= database.storage.rulesSince && permissions.heldAlike(for: session, since: commit)
    }

    /// Takes a part of the list of members that a client has. After the last part, the differences are sent in pages.
    func compare(_ members: ClientMessage.Members, by subscriber: Subscriber, _ output: inout TurnOutput) throws {
        guard let subscription = subscriber.subscriptions[members.subscription] else { return }
        guard let comparison = subscription.comparison else {
            throw SessionEnd(.protocolViolation, "members that the server did not ask for", action: .retry)
        }
        try comparison.add(
            members.content, schema: database.storage.schema,
            room: database.limits.comparedMemberCountMax - subscriber.comparedMemberCount)
        guard !members.isContinued else { return }
        try charging(subscription, &output) { work, _ in
            guard let known = comparison.known else { return try sendEverything(to: subscription, within: work) }
            try pages.begin(
                subscription, comparing: known, announcedCount: comparison.announcedCount, within: work)
            listRoots()
        }
    }

    /// Sends everything in pages to a subscription that has left its view in the middle of a bootstrap, after departures
    /// of what that has sent and the reader may not keep.
    func continueAnew(
        _ former: ViewSubscription, _ query: Query, recalling sent: Set<ObjectRef>, _ output: inout TurnOutput
    ) throws {
        guard let subscription = try replace(former, query, &output) else { return }
        try charging(subscription, &output) { work, output in
            try recall(sent, from: subscription, &output)
            try sendEverything(to: subscription, within: work)
        }
        // The client goes on with the membership that it has begun to stage.
        subscription.receiver?.noteEarlier(sent)
    }

    /// Goes on with the list of members that a client is sending to a subscription that has left its view. The client
    /// lists what it has, whatever it may read.
    func continueListing(
        _ former: ViewSubscription, _ query: Query, _ comparison: Comparison, _ output: inout TurnOutput
    ) throws { try replace(former, query, &output)?.become(.listing(comparison)) }

    /// Lets a subscription that has left its view go on with another one.
    @discardableResult
    func replace(_ former: ViewSubscription, with view: SharedView) -> ViewSubscription {
        let subscription = ViewSubscription(former, with: view)
        former.subscriber.subscriptions.replace(by: subscription)
        view.add(subscription)
        return subscription
    }

    /// - Returns: nil if the query cannot be run; the subscription then has ended.
    private func replace(
        _ former: ViewSubscription, _ query: Query, _ output: inout TurnOutput
    ) throws -> ViewSubscription? {
        do {
            return replace(former, with: try budget.charging(former.subscriber) { _ in try view(of: query) })
        } catch let error as StorageError where error.endsQueryAlone {
            end(former, because: error, &output)
            return nil
        }
    }

    /// Tells a client of the objects that an interrupted bootstrap has sent and that are not in the view.
    private func recall(
        _ objects: Set<ObjectRef>, from subscription: ViewSubscription, _ output: inout TurnOutput
    ) throws {
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
            output.send([.page(page)], to: subscription.session)
        }
    }

    /// Sends pages to clients that have credit, as far as the turn allows.
    func sendPages(_ output: inout TurnOutput, now: Timestamp) {
        let (frames, failures) = pages.sendPages(now: now)
        output.append(frames)
        for (subscription, error) in failures { end(subscription, after: error, &output) }
        listRoots()
    }

    /// Continues with a page that was read beside the writer.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finishReading(_ preparation: QueryPreparation, _ output: inout TurnOutput) -> Bool {
        guard let result = pages.finish(preparation) else { return false }
        if case .failed(let subscription, let error) = result { end(subscription, after: error, &output) }
        listRoots()
        return true
    }

    /// Has the roots listed beside the writer that pages wait for.
    private func listRoots() { for subscription in pages.takeUnlisted() { scheduler.append(.roots(subscription)) } }

    // MARK: Commits

    /// Notes the objects of a commit, whose earlier states must not be sent any more. Call it before ``note(_:of:)``.
    func note(_ commit: CommitDelta) { pages.note(commit) }

    /// Notes how a commit has changed a view, so that those who are sent its pages get the change behind them.
    func note(_ delta: ViewDelta, of view: SharedView) { pages.note(delta, of: view) }

    /// Fails the sessions that take their pages so slowly that too much has changed behind them.
    func failOverloaded(_ output: inout TurnOutput) {
        let message = "more has changed behind the pages of a bootstrap than the server keeps"
        for id in pages.overloaded { fail(id, SessionEnd(.overloaded, message, action: .retry), &output) }
    }

    // MARK: Ending

    /// Ends all subscriptions of a session.
    func close(_ id: SessionID) {
        scheduler.removeAll(of: id)
        for subscription in subscriptions.close(id) { leave(subscription) }
    }

    /// Ends a subscription whose query takes too much work, meets damage, or cannot be run.
    func end(_ subscription: ViewSubscription, because error: StorageError, _ output: inout TurnOutput) {
        guard subscription.subscriber.subscriptions.remove(subscription.id) != nil else { return }
        leave(subscription)
        database.noteRefusal("a query was given up", subscription.view.query, error)
        let (code, message) = database.subscriberError(of: error)
        output.send([subscription.failure(code, message)], to: subscription.session)
    }

    /// Ends a subscription that names what its reader may not read any more.
    func end(_ subscription: ViewSubscription, because error: HiddenPropertyError, _ output: inout TurnOutput) {
        guard subscription.subscriber.subscriptions.remove(subscription.id) != nil else { return }
        leave(subscription)
        output.send([subscription.failure(.permissionDenied, error.message)], to: subscription.session)
    }

    /// Ends a subscription, or fails its session, because its pages could not be read.
    private func end(_ subscription: ViewSubscription, after error: any Error, _ output: inout TurnOutput) {
        guard subscription.subscriber.has(subscription) else { return }
        guard let error = error as? StorageError, error.endsQueryAlone else {
            return fail(subscription.session, error, &output)
        }
        end(subscription, because: error, &output)
    }

    /// Ends a subscription, and its view if nobody else uses it. Nothing happens if it has ended.
    func leave(_ subscription: ViewSubscription) {
        if case .ended = subscription.state { return }
        subscription.view.remove(subscription)
        pages.end(subscription)
        listRoots()
        release(subscription.view)
    }

    // MARK: Failures

    /// Runs the work of a subscription's query. If only the query must end, this subscription does.
    private func charging(
        _ subscription: ViewSubscription, _ output: inout TurnOutput,
        _ body: (WorkLimit, inout TurnOutput) throws -> Void
    ) throws {
        do {
            try budget.charging(subscription.subscriber) { try body($0, &output) }
        } catch let error as StorageError where error.endsQueryAlone {
            end(subscription, because: error, &output)
        }
    }

    /// Runs what is done for a session. An error fails this session and affects nothing else.
    func guarding(_ id: SessionID, _ output: inout TurnOutput, _ body: (inout TurnOutput) throws -> Void) {
        do { try body(&output) } catch { fail(id, error, &output) }
    }

    /// Reports a session that cannot go on, and ends its subscriptions.
    func fail(_ id: SessionID, _ error: any Error, _ output: inout TurnOutput) {
        close(id)
        output.fail(id, error)
    }
}
