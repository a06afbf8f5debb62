internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The observations of a store. For each committed transaction, it computes the edits of every observer concerned.
///
/// Each observer has one event at a time. What is committed while its handler runs is put together, as one event for each
/// stretch of one origin. Until the observer's subscription is complete, it shows what matches in the store, as far as
/// the store can tell. The room ends at `Results.observe`, which says on which thread handlers run, and
/// `ObservationCalls`, which makes each `Change`.
final class Observations {
    private let storage: SQLiteClientStorage
    private let active: ActiveSubscriptions
    private let session: SyncSession
    private let askedObserverCountMax: Int
    private let windowSurplus: Int?
    private let now: () -> Timestamp
    private let log: LogSink?
    private let overruled = OverruledResults()
    private let totals: ObservedFigures<ObservedTotal>
    private let aggregates: ObservedFigures<ObservedAggregate>
    private var index: ObserverIndex
    /// When time changes results.
    private let clock: QueryClock
    /// The time of queries to which the results were brought.
    private var time: Timestamp
    private var lastNumber: UInt64 = 0
    private(set) var work = ObservationWork()
    /// What to do once the prompt observers of a subscription know that it is complete.
    private var handledWaiters: [(subscription: Subscription, body: () -> Void)] = []

    init(
        _ storage: SQLiteClientStorage, _ session: SyncSession, _ active: ActiveSubscriptions, options: ClientOptions,
        now: @escaping () -> Timestamp, log: LogSink?
    ) {
        self.storage = storage
        totals = ObservedFigures(storage)
        aggregates = ObservedFigures(storage)
        self.active = active
        self.session = session
        self.now = now
        self.log = log
        askedObserverCountMax = options.askedObserverCountMax
        windowSurplus = options.windowSurplus
        index = ObserverIndex(overruled)
        clock = QueryClock(schema: storage.schema)
        time = storage.now
    }

    var isEmpty: Bool { index.isEmpty }

    // MARK: Time

    /// When time changes what somebody observes, by this machine's clock; nil if it does not. Then ``passTime()`` is to
    /// be called.
    var nextTick: Timestamp? { clock.next.map(storage.storeClock.machineTime) }

    /// Brings what is observed to the present time.
    func passTime() {
        guard let next = clock.next, !storage.isInTransaction, next <= storage.storeClock.time(at: now()) else {
            return
        }
        storage.moveTime(to: now())
        followTime()
    }

    /// Brings what is observed to the time of the store, which something else has moved: all observers show one time.
    func followTime() {
        guard clock.isDue(at: storage.now, since: time, in: storage) else { return }
        publish(StoreTransaction(storage, isObserved: true), origin: .local)
    }

    // MARK: Observers

    /// Begins an observation with its first event.
    ///
    /// - Parameters:
    ///   - readability: which results the consumer's type can represent; nil for all.
    ///   - reportsPending: whether an event reports that writes of an object begin or cease to be pending.
    ///   - isPrompt: whether the consumer is called on a thread of the store's own.
    ///   - end: called when the store is closed.
    ///   - deliver: called with each event. ``consumerIsReady(_:)`` says that the consumer has handled it.
    /// - Returns: the number of the observation.
    func begin(
        _ subscription: Subscription, readability: Readability?, reportsPending: Bool, isPrompt: Bool,
        end: @escaping () -> Void, deliver: @escaping (ResultEvent) -> Void
    ) throws -> UInt64 {
        // A transaction has moved the time as it began, and is published when it commits.
        if !storage.isInTransaction {
            storage.moveTime(to: now())
            followTime()
        }
        let reader = reader(of: subscription)
        lastNumber += 1
        let observer = Observer(
            id: lastNumber, subscription: subscription, schema: storage.schema, windowSurplus: windowSurplus,
            readability: readability, reportsPending: reportsPending, isPrompt: isPrompt,
            freshness: { [active, session] in
                if subscription.isLocal { return subscription.isCached ? .cached(since: nil) : .confirmed }
                let isCurrent = session.isActive && !active.awaitsCatchUp && subscription.isComplete
                return isCurrent ? .confirmed : .cached(since: subscription.confirmedUntil?.date)
            }, end: end, deliver: deliver)
        var entries: [ResultEntry] = []
        let read = try reader.forEachHeldEntry(capacity: observer.capacity) { entries.append($0) }
        overruled.replace(of: observer.id, with: try reader.overruled())
        work.readCount += read.readCount
        observer.hold(read.extent)
        try totals.begin(subscription)
        try aggregates.begin(subscription)
        index.insert(observer, schema: storage.schema)
        if clock.isEmpty { time = storage.now }
        clock.hold(subscription.query, since: time, in: storage)
        observer.start(with: entries, figures: figures(of: subscription))
        return observer.id
    }

    /// Ends an observation; no event comes after this.
    ///
    /// - Returns: its subscription; nil if the observation has ended before.
    func end(_ id: UInt64) -> Subscription? {
        overruled.removeAll(of: id)
        defer { notifyHandled() }
        guard let subscription = index.remove(id)?.subscription else { return nil }
        totals.end(subscription)
        aggregates.end(subscription)
        clock.release(subscription.query)
        // What is written while nobody observes is not looked at, nor which dates it has.
        if index.isEmpty { clock.removeAll(schema: storage.schema) }
        return subscription
    }

    /// Ends every observation, because the store is closed.
    func endAll() {
        let ended = index.all
        index = ObserverIndex(overruled)
        totals.removeAll()
        aggregates.removeAll()
        clock.removeAll(schema: storage.schema)
        for observer in ended {
            overruled.removeAll(of: observer.id)
            observer.end()
        }
        notifyHandled()
    }

    /// Says that the consumer of an observation has handled its last event.
    func consumerIsReady(_ id: UInt64) {
        index[id]?.consumerIsReady(now: now())
        notifyHandled()
    }

    /// Calls `body` once every prompt observer of a subscription has handled an event that says that it is complete, or
    /// it is not complete.
    func whenHandledComplete(_ subscription: Subscription, _ body: @escaping () -> Void) {
        handledWaiters.append((subscription, body))
        notifyHandled()
    }

    private func notifyHandled() {
        guard !handledWaiters.isEmpty else { return }
        let due = handledWaiters.filter { haveHandledComplete($0.subscription) }
        handledWaiters.removeAll { haveHandledComplete($0.subscription) }
        for waiter in due { waiter.body() }
    }

    private func haveHandledComplete(_ subscription: Subscription) -> Bool {
        guard subscription.status.state == .complete else { return true }
        return index.observers(of: subscription.record.id).allSatisfy { id in
            guard let observer = index[id], observer.isPrompt, !observer.isOver else { return true }
            return observer.hasHandledComplete
        }
    }

    /// Whether a prompt observer has an event that its consumer has not handled. O(observers).
    var hasBusyObservers: Bool { index.all.contains { $0.isPrompt && $0.isBusy } }

    /// How many results all observers hold in memory, including those beyond a limit. O(observers).
    var heldResultCount: Int { index.all.reduce(0) { $0 + $1.resultCount } }

    /// How many edits wait for busy consumers. O(observers).
    var waitingEditCount: Int { index.all.reduce(0) { $0 + $1.waitingEditCount } }

    /// Files all observers again, after the schema has changed.
    func rebind() {
        let observers = index.all
        index = ObserverIndex(overruled)
        clock.removeAll(schema: storage.schema)
        for observer in observers {
            clock.hold(observer.subscription.query, since: time, in: storage)
            observer.adopt(storage.schema)
            index.insert(observer, schema: storage.schema)
        }
        totals.rebind()
        aggregates.rebind()
    }

    private func reader(of subscription: Subscription) -> ResultReader {
        ResultReader(subscription.judge, in: storage, subscription: subscription.record)
    }

    /// What the query of a subscription computes.
    private func figures(of subscription: Subscription) -> ShownFigures {
        ShownFigures(total: totals[subscription] ?? nil, groups: aggregates[subscription])
    }

    // MARK: Publishing

    /// Reports new states of subscriptions that did not come from a transaction.
    func publishStatus() {
        let concerned = active.takeChanged().flatMap { index.observers(of: $0.record.id) }
        for id in concerned.sorted() {
            guard let observer = index[id] else { continue }
            observer.receive([], figures: figures(of: observer.subscription), origin: .local, now: now())
        }
        notifyHandled()
    }

    /// Reports to the observers concerned what a committed transaction changed. An observer whose results cannot be
    /// read gets an error as its last event; the transaction stays committed.
    func publish(_ transaction: StoreTransaction, origin: ChangeOrigin) {
        defer { notifyHandled() }
        let changed = active.takeChanged()
        guard !index.isEmpty else { return }
        do { try publish(transaction, changed, origin: origin) } catch {
            for observer in index.all { fail(observer, because: error) }
        }
    }

    private func fail(_ observer: Observer, because error: any Error) {
        let message = (error as? StorageError)?.message ?? "\(error)"
        log?(.error, "results could not be read", [("error", message)])
        observer.fail(SyncError(.storage, message))
        notifyHandled()
    }

    private func publish(_ transaction: StoreTransaction, _ changed: [Subscription], origin: ChangeOrigin) throws {
        var settlement = try ObserverSettlement(
            transaction, changed, index, overruled, in: storage, clock, since: time,
            askedObserverCountMax: askedObserverCountMax)
        time = storage.now
        let recomputed = try totals.follow(transaction, settlement.outcome)
            .union(aggregates.follow(transaction, settlement.outcome))
        for subscription in recomputed {
            settlement.note(index.observers(of: subscription))
        }
        let now = now()
        let origin = origin.naming(settlement.operations)
        for (id, task) in settlement.tasks.sorted(by: { $0.key < $1.key }) {
            guard let observer = index[id], !observer.isOver else { continue }
            do {
                if let failure = task.failure { throw failure }
                let edits = try edits(for: observer, task, settlement)
                observer.receive(
                    edits + task.touched.sorted().map { .touch($0) }, figures: figures(of: observer.subscription),
                    origin: origin, now: now)
            } catch {
                fail(observer, because: error)
            }
        }
        work.add(settlement.work)
    }

    private func edits(
        for observer: Observer, _ task: ObserverSettlement.Task, _ settlement: ObserverSettlement
    ) throws -> [ResultEdit] {
        if task.isRebuilt { return try rebuilt(observer, task, settlement) }
        guard observer.isExhausted(by: task.edits) else { return task.edits }
        observer.widenWindow()
        return try rebuilt(observer, task, settlement)
    }

    /// The edits that lead to the results of a subscription that has become complete or ceased to be, or to those of a
    /// window that was exhausted.
    private func rebuilt(
        _ observer: Observer, _ task: ObserverSettlement.Task, _ settlement: ObserverSettlement
    ) throws -> [ResultEdit] {
        let reader = reader(of: observer.subscription)
        overruled.replace(of: observer.id, with: try reader.overruled())
        var edits: [ResultEdit] = []
        // What is in memory was kept current, and is not read again, nor listed beside what is.
        if let count = observer.heldCount, !task.isReread, !observer.hasOldRows {
            var keptCount = 0
            let isAnswered = try reader.forEachNamedEntry(except: { object in
                guard observer.holds(object), !task.judged.contains(object) else { return false }
                keptCount += 1
                return true
            }) { entry in
                if observer.holds(entry.object) { keptCount += 1 }
                if !observer.isUpToDate(entry) { edits.append(.upsert(entry)) }
            }
            if isAnswered, keptCount == count {
                observer.hold(.whole)
                return edits
            }
            edits = []
        }
        observer.willRenewRows()
        var kept: Set<ObjectRef> = []
        // Most are in memory as they are, and are not read twice at a time.
        let read = try reader.forEachHeldEntry(capacity: observer.capacity) { entry in
            kept.insert(entry.object)
            if !observer.isUpToDate(entry) { edits.append(.upsert(entry)) }
        }
        work.readCount += read.readCount
        observer.hold(read.extent)
        let gone = try observer.objects.filter { object in
            !kept.contains(object) && (observer.mayHold(object) || task.judged.contains(object))
        }.map { object in
            if read.extent.hasOthers, let row = try storage.row(object), try reader.includes(row, object) {
                return ResultEdit.remove(object, .window)
            }
            let isHere = try storage.isPresent(object)
            return ResultEdit.remove(object, settlement.reason(object, observer.subscription, isHere: isHere))
        }
        return gone + edits
    }
}
