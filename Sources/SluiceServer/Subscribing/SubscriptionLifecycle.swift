internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The way of a subscription to its view: requested, started within a turn or after its view was made beside the writer,
/// and handed to ``SubscriptionContent``, which sends what belongs to it; and back, when its client wants no more of it.
///
/// It waits as a ``SubscriptionStart`` and lives as a ``ViewSubscription``, whose states that type documents. What is to
/// be sent goes into the output that the caller passes.
final class SubscriptionLifecycle {
    private let database: Database
    private let budget: WorkBudget
    private let subscriptions: Subscriptions
    private let scheduler: SubscriptionScheduler
    let content: SubscriptionContent

    init(
        _ database: Database, _ budget: WorkBudget, _ permissions: Permissions, _ subscriptions: Subscriptions,
        _ hub: ViewHub, _ digests: ViewDigests, _ indexes: IndexKeeper
    ) {
        self.database = database
        self.budget = budget
        self.subscriptions = subscriptions
        scheduler = SubscriptionScheduler(database, budget)
        content = SubscriptionContent(
            database, budget, permissions, subscriptions, hub, digests, indexes, scheduler)
    }

    // MARK: Work

    /// Whether ``step(_:now:)`` has anything to do.
    var hasWork: Bool { scheduler.hasStarts || scheduler.hasCostlyWork || content.hasWork }

    /// Whether work is done beside the writer.
    var isWorkingBeside: Bool { scheduler.isPreparing || content.isReading }

    /// A costly query to run beside the writer; nil if there is none, or if it was taken already.
    func takePreparation() -> QueryPreparation? { scheduler.takePreparation() }

    /// Begins a turn in which subscriptions are started.
    func beginTurn() { budget.begin(.starts, isAwaited: scheduler.isAwaited) }

    /// Does one turn of the waiting work: sends pages to clients that have credit, starts subscriptions, and begins
    /// costly queries beside the queue.
    func step(_ output: inout TurnOutput, now: Timestamp) {
        // First, so that who was started in the turn before has a page before others are started.
        budget.begin(.pages, isAwaited: content.isAwaited)
        content.sendPages(&output, now: now)
        beginTurn()
        startWaiting(&output, now: now)
        prepareNext(&output, now: now)
    }

    /// Brings the views, and what waits, to a schema that has grown.
    func grow() throws {
        try scheduler.rebind()
        try content.grow()
    }

    // MARK: Requested

    /// Starts or resumes a subscription, at once or in a later turn.
    ///
    /// - Parameter resumed: collects the messages that bring a resumed subscription up to date; none if pages will
    ///   follow.
    func subscribe(
        _ request: ClientMessage.Subscribe, by subscriber: Subscriber, with resumed: inout Resumption,
        _ output: inout TurnOutput, now: Timestamp
    ) throws {
        do {
            let query = try subscriptions.query(
                of: request, by: subscriber, waitingCount: scheduler.waitingCount(of: subscriber.session),
                userWaitingCount: scheduler.waitingCount(of: subscriber.holder))
            let start = SubscriptionStart(request: request, query: query, subscriber: subscriber, requestedAt: now)
            if try scheduler.mustWait(subscriber) || !begin(start, with: &resumed, &output, now: now) {
                scheduler.append(start)
            }
        } catch let refusal as RequestRejection {
            output.send([refusal.answer(to: request)], to: subscriber.session)
        }
    }

    /// Has a subscription begin that has left its view, when its session has its turn.
    ///
    /// - Parameter resume: what its client would present if it came back now; nil if it is to be sent everything.
    func beginAgain(_ former: ViewSubscription, _ query: Query, resuming resume: ClientMessage.Resume?) {
        guard former.subscriber.subscriptions.remove(former.id) != nil else { return }
        let request = ClientMessage.Subscribe(
            session: former.session.session, subscription: former.id, query: query.canonicalText, resume: resume)
        scheduler.append(
            SubscriptionStart(
                request: request, query: query, subscriber: former.subscriber, isInterrupted: resume != nil))
    }

    /// Starts waiting subscriptions as far as the turn allows.
    private func startWaiting(_ output: inout TurnOutput, now: Timestamp) {
        while let start = scheduler.nextStart() {
            guard subscriptions.has(start.subscriber) else { continue }
            content.guarding(start.session, &output) { output in
                var resumed = Resumption(byteCountLeft: database.limits.frameByteCount)
                if try !begin(start, with: &resumed, &output, now: now) { scheduler.append(start) }
                output.send(resumed, to: start.session)
            }
        }
    }

    // MARK: Its view

    /// Starts a subscription, if the turn allows that.
    ///
    /// - Returns: false if the turn has not enough steps left, so that the start must be tried again.
    private func begin(
        _ start: SubscriptionStart, with resumed: inout Resumption, _ output: inout TurnOutput, now: Timestamp
    ) throws -> Bool {
        let allowance = budget.allowance(of: start.subscriber.holder)
        guard allowance > 0 else { return false }
        budget.note(database.limits.startStepCount, for: start.subscriber.holder)
        var start = start
        do {
            try start.bindToReader()
            guard let view = try budget.attempting(for: start.subscriber, { try content.view(of: start.query) }) else {
                // With less than its full share in this turn, it may succeed in the next turn.
                guard allowance >= database.limits.shareStepCountMax else { return false }
                scheduler.append(.view(start))
                return true
            }
            try content.begin(start, with: view, &resumed, &output, now: now)
        } catch let error as StorageError where error.endsQueryAlone {
            refuse(start, because: error, &output)
        } catch let refusal as RequestRejection {
            output.send([refusal.answer(to: start.request)], to: start.session)
        }
        return true
    }

    // MARK: Beside the writer

    /// Begins the next piece of costly work beside the writer. A database in memory has no other connection than its
    /// writer, which then does the work.
    private func prepareNext(_ output: inout TurnOutput, now: Timestamp) {
        guard let work = scheduler.nextCostly(), subscriptions.has(work.subscriber) else { return }
        guarding(work, &output) { output in
            if try !scheduler.handOut(work, view: content.hub.unmade) { try workInPlace(work, &output, now: now) }
        }
    }

    private func workInPlace(_ work: CostlyWork, _ output: inout TurnOutput, now: Timestamp) throws {
        switch work {
        case .view(var start):
            try start.bindToReader()
            let view = try budget.charging(work.subscriber) { _ in try content.view(of: start.query) }
            try begin(start, with: view, &output, now: now)
        case .roots(let subscription):
            let roots = try budget.charging(work.subscriber) { _ in
                try database.storage.roots(
                    matching: subscription.view.query, after: subscription.remaining?.unlistedAfter)
            }
            subscription.list(roots)
        }
    }

    /// Continues with work that was done beside the writer.
    func finish(_ preparation: QueryPreparation, _ output: inout TurnOutput, now: Timestamp) {
        guard let work = scheduler.finish(preparation), subscriptions.has(work.subscriber) else { return }
        guarding(work, &output) { output in
            switch (work, preparation.outcome) {
            case (.view(let start), .view(let live, let version)):
                try finish(live, asOf: version, for: start, &output, now: now)
            case (.roots(let subscription), .roots(let roots)): subscription.list(roots)
            case (_, .failed(let error)): throw error
            case (_, .none), (_, .read), (.view, .roots), (.roots, .view): break
            }
        }
    }

    /// Brings a view of an earlier version up to date, and starts the subscription for which it was made.
    private func finish(
        _ live: LiveView, asOf version: UInt64, for start: SubscriptionStart, _ output: inout TurnOutput, now: Timestamp
    ) throws {
        var start = start
        guard try !start.bindToReader() else { return scheduler.append(.view(start)) }
        if let view = content.hub[start.query.key] { return try begin(start, with: view, &output, now: now) }
        guard live.shape.isSame(under: database.storage.schema) else {
            start.query = try start.query.rebound(to: database.storage.schema)
            return scheduler.append(.view(start))
        }
        let stepCountMax = database.limits.upkeepStepCountMax
        let isCurrent = try budget.charging(start.subscriber, stepCountMax: stepCountMax) { _ in
            try content.catchUp(live, from: version)
        }
        // Where too much has changed meanwhile, the view is made again.
        guard isCurrent else { return scheduler.append(.view(start)) }
        try begin(start, with: content.insert(live), &output, now: now)
    }

    private func begin(
        _ start: SubscriptionStart, with view: SharedView, _ output: inout TurnOutput, now: Timestamp
    ) throws {
        var resumed = Resumption(byteCountLeft: database.limits.frameByteCount)
        try content.begin(start, with: view, &resumed, &output, now: now)
        output.send(resumed, to: start.session)
    }

    // MARK: Its end

    /// Ends a subscription whose client wants no more of it.
    func unsubscribe(_ subscription: UInt64, by subscriber: Subscriber) {
        scheduler.remove(subscription, of: subscriber.session)
        if let ended = subscriber.subscriptions.remove(subscription) { content.leave(ended) }
    }

    /// Rejects a subscription whose query takes too much work, meets damage, or cannot be run.
    private func refuse(_ start: SubscriptionStart, because error: StorageError, _ output: inout TurnOutput) {
        database.noteRefusal("a query was refused", start.query, error)
        let (code, message) = database.subscriberError(of: error)
        output.send([RequestRejection(code: code, message: message).answer(to: start.request)], to: start.session)
    }

    // MARK: Failures

    /// Runs work for a subscription that waits or goes on. If only its query must end, it alone does.
    private func guarding(
        _ work: CostlyWork, _ output: inout TurnOutput, _ body: (inout TurnOutput) throws -> Void
    ) {
        content.guarding(work.session, &output) { output in
            do { try body(&output) } catch let error as StorageError
                where error.endsQueryAlone || error.code == .cancelled
            {
                switch work {
                // Nobody waits for cancelled work any more.
                case _ where error.code == .cancelled: break
                case .view(let start): refuse(start, because: error, &output)
                case .roots(let subscription): content.end(subscription, because: error, &output)
                }
            } catch let refusal as RequestRejection {
                guard case .view(let start) = work else { return }
                output.send([refusal.answer(to: start.request)], to: start.session)
            }
        }
    }
}
