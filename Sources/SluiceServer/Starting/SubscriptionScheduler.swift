internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Decides which subscription is started next, and which query runs beside the writer.
///
/// A subscription is tried within its user's share of a turn. A query that needs more is prepared beside the writer, one
/// query of a database at a time; of the users that wait, the one for whom least was done there comes first. In both
/// queues users take turns, however many sessions each has and however many subscriptions it requests.
final class SubscriptionScheduler {
    /// The work that is being done beside the writer.
    private struct Preparing {
        let work: CostlyWork
        let preparation: QueryPreparation
    }

    private let database: Database
    private let budget: WorkBudget
    /// The subscriptions that wait to be tried.
    private var starts = FairQueue<SubscriptionStart>()
    /// The work that needs more than a turn.
    private var costly = FairQueue<CostlyWork>()
    private var preparing: Preparing?
    /// Whose turn it is beside the writer.
    private var besideClock = FairClock()
    /// The preparation that nobody has taken yet.
    private var handedOut: QueryPreparation?

    init(_ database: Database, _ budget: WorkBudget) {
        self.database = database
        self.budget = budget
    }

    /// Whether a subscription waits to be tried.
    var hasStarts: Bool { starts.hasNext { mayStart($0.subscriber) } }

    /// Whether work is being done beside the writer.
    var isPreparing: Bool { preparing != nil }

    /// Whether there is work to do beside the writer, and no such work is running.
    var hasCostlyWork: Bool { preparing == nil && costly.hasNext { hasRoom($0.subscriber) } }

    /// Whether a subscription waits to be tried, now or once its session has room.
    var isAwaited: Bool { !starts.isEmpty }

    /// How many of a session's subscriptions have not started yet.
    func waitingCount(of session: SessionID) -> Int {
        starts.elements(of: session).count + costly.elements(of: session).count(where: \.isStart)
            + (preparing?.work.session == session ? 1 : 0)
    }

    /// How many subscriptions of all sessions of a holder have not started yet.
    func waitingCount(of holder: Holder) -> Int {
        starts.elements(of: holder).count + costly.elements(of: holder).count(where: \.isStart)
            + (preparing?.work.subscriber.holder == holder ? 1 : 0)
    }

    // MARK: Waiting

    /// Whether a new subscription of a session has to wait: because others do, or because so many are not complete.
    func mustWait(_ subscriber: Subscriber) -> Bool {
        !starts.elements(of: subscriber.session).isEmpty || !mayStart(subscriber)
    }

    /// Whether one more subscription of a session may be started. All that are started and not complete are looked at
    /// with each page that is sent, so a session that asks for ten thousand starts some at a time.
    private func mayStart(_ subscriber: Subscriber) -> Bool {
        subscriber.incompleteCount < database.limits.incompleteCountMax
    }

    func append(_ start: SubscriptionStart) { starts.append(start, of: start.session, start.subscriber.holder) }

    func append(_ work: CostlyWork) { costly.append(work, of: work.session, work.subscriber.holder) }

    /// Removes and returns the next subscription to be tried in this turn; nil if the turn has no steps left for any.
    func nextStart() -> SubscriptionStart? {
        guard budget.stepCountLeft > 0 else { return nil }
        return starts.next(by: &budget.clock) {
            budget.allowance(of: $0.subscriber.holder) > 0 && mayStart($0.subscriber)
        }
    }

    /// Removes what waits for a session, and cancels what is being done for it.
    func removeAll(of session: SessionID) {
        starts.removeAll(of: session) { _ in true }
        costly.removeAll(of: session) { _ in true }
        if preparing?.work.session == session { preparing?.preparation.cancel() }
    }

    /// Removes what waits for one subscription, and cancels what is being done for it.
    func remove(_ subscription: UInt64, of session: SessionID) {
        starts.removeAll(of: session) { $0.request.subscription == subscription }
        costly.removeAll(of: session) { $0.subscription == subscription }
        guard let preparing, preparing.work.session == session, preparing.work.subscription == subscription else {
            return
        }
        preparing.preparation.cancel()
    }

    /// Binds the queries to a schema that has grown.
    func rebind() throws {
        let schema = database.storage.schema
        try starts.forEach { $0.query = try $0.query.rebound(to: schema) }
        try costly.forEach { work in
            guard case .view(var start) = work else { return }
            start.query = try start.query.rebound(to: schema)
            work = .view(start)
        }
    }

    // MARK: Beside the writer

    /// Whether a session may get another list of roots. Lists take memory, so a session that does not take its pages
    /// gets no more.
    private func hasRoom(_ subscriber: Subscriber) -> Bool {
        subscriber.listedRootCount < database.limits.listedRootCountMax
    }

    /// Removes and returns the next piece of costly work; nil while there is none, or one is being done.
    func nextCostly() -> CostlyWork? {
        guard preparing == nil else { return nil }
        if costly.isEmpty { besideClock.rest() } else { besideClock.forgetEven() }
        return costly.next(by: &besideClock) { hasRoom($0.subscriber) }
    }

    /// Hands work out, to be done beside the writer.
    ///
    /// - Parameter view: makes a view that is not at any state yet.
    /// - Returns: false if the database has no other connection than its writer, which then must do the work.
    /// - Throws: ``StorageError`` if the database could not be read.
    func handOut(_ work: CostlyWork, view: (Query) -> LiveView) throws -> Bool {
        guard let snapshot = try database.storage.snapshot() else { return false }
        let task: QueryPreparation.Task =
            switch work {
            case .view(let start): .view(view(start.query))
            case .roots(let subscription):
                .roots(subscription.view.query, after: subscription.remaining?.unlistedAfter)
            }
        let preparation = QueryPreparation(task, for: work.session, of: database, on: snapshot)
        preparing = Preparing(work: work, preparation: preparation)
        handedOut = preparation
        return true
    }

    /// Returns what was handed out, to be run beside the database's queue; nil if there is nothing, or if it was taken
    /// already.
    func takePreparation() -> QueryPreparation? {
        defer { handedOut = nil }
        return handedOut
    }

    /// Notes that a preparation has ended.
    ///
    /// - Returns: the work that it was for; nil if nobody waits for it.
    func finish(_ preparation: QueryPreparation) -> CostlyWork? {
        guard let work = preparing?.work, preparing?.preparation === preparation else { return nil }
        besideClock.charge(preparation.stepCount, to: work.subscriber.holder)
        preparing = nil
        return work
    }
}
