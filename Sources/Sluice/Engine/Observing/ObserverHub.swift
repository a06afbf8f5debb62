internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The observers of a store. For each committed transaction, it computes the edits of every observer concerned.
final class ObserverHub {
    private var index = ObserverIndex()
    private(set) var work = ObservationWork()

    var isEmpty: Bool { index.isEmpty }

    func add(_ observer: Observer, engine: ClientEngine) throws {
        let entries = try entries(of: observer.subscription, engine)
        index.insert(observer, schema: engine.schema)
        observer.start(with: entries)
    }

    func remove(_ id: UInt64) -> Observer? { index.remove(id) }

    /// Ends every observation, because the store is closed.
    func removeAll() {
        let ended = index.all
        index = ObserverIndex()
        for observer in ended { observer.end() }
    }

    func consumerIsReady(_ id: UInt64, now: Timestamp) { index[id]?.consumerIsReady(now: now) }

    /// Files all observers again, after the schema has grown.
    func rebind(engine: ClientEngine) {
        let observers = index.all
        index = ObserverIndex()
        for observer in observers { index.insert(observer, schema: engine.schema) }
    }

    private func entries(of subscription: Subscription, _ engine: ClientEngine) throws -> [ResultEntry] {
        try ResultReader(subscription.judge, in: engine.storage, subscription: subscription.record).entries()
    }

    /// Reports new states of subscriptions that did not come from a transaction.
    func publishStatus(engine: ClientEngine) {
        let concerned = engine.subscriptions.takeChanged().flatMap { index.observers(of: $0.record.id) }
        for id in concerned.sorted() { index[id]?.receive([], origin: .local, now: engine.now()) }
    }

    /// Reports to the observers concerned what a committed transaction changed. An observer whose results cannot be
    /// read gets an error as its last event; the transaction stays committed.
    func publish(_ transaction: StoreTransaction, origin: ChangeOrigin, engine: ClientEngine) {
        let changed = engine.subscriptions.takeChanged()
        guard !index.isEmpty else { return }
        do { try publish(transaction, changed, origin: origin, engine: engine) } catch {
            for observer in index.all { fail(observer, because: error, engine) }
        }
    }

    private func fail(_ observer: Observer, because error: any Error, _ engine: ClientEngine) {
        let message = (error as? StorageError)?.message ?? "\(error)"
        engine.log?(.error, "results could not be read", [("error", message)])
        observer.fail(SyncError(.storage, message))
    }

    private func publish(
        _ transaction: StoreTransaction, _ changed: [Subscription], origin: ChangeOrigin, engine: ClientEngine
    ) throws {
        let settlement = try ObserverSettlement(transaction, changed, index, engine)
        let now = engine.now()
        for (id, task) in settlement.tasks.sorted(by: { $0.key < $1.key }) {
            guard let observer = index[id], !observer.isOver else { continue }
            do {
                if let failure = task.failure { throw failure }
                let edits = task.isRebuilt ? try rebuilt(observer, settlement, engine) : task.edits
                observer.receive(edits + task.touched.sorted().map { .touch($0) }, origin: origin, now: now)
            } catch {
                fail(observer, because: error, engine)
            }
        }
        work.add(settlement.work)
    }

    /// The edits that lead to the results of a subscription that has become complete or ceased to be.
    private func rebuilt(
        _ observer: Observer, _ settlement: ObserverSettlement, _ engine: ClientEngine
    ) throws -> [ResultEdit] {
        let entries = try entries(of: observer.subscription, engine)
        let kept = Set(entries.map(\.object))
        let gone = try observer.objects.filter { !kept.contains($0) }.map { object in
            let isHere = try engine.storage.isPresent(object)
            return ResultEdit.remove(object, settlement.reason(object, observer.subscription, isHere: isHere))
        }
        return gone + entries.map { .upsert($0) }
    }
}

extension ClientEngine {
    /// Starts to observe a query. This adds a holder to its subscription, and delivers events until
    /// ``endObservation(_:keeping:purging:)``.
    ///
    /// - Parameters:
    ///   - end: called when the store is closed.
    ///   - deliver: called with each event. ``observerIsReady(_:)`` says that the consumer has handled it.
    /// - Returns: the number of the observation.
    package func observe(
        _ query: Query, end: @escaping () -> Void = {}, deliver: @escaping (ResultEvent) -> Void
    ) throws -> UInt64 {
        let subscription = try addSubscription(query)
        subscription.isRemembered = true
        let observer = Observer(id: nextNumber(), subscription: subscription, end: end, deliver: deliver)
        do { try hub.add(observer, engine: self) } catch {
            try? releaseSubscription(subscription, keeping: subscription.isKept, purging: false)
            throw error
        }
        return observer.id
    }

    /// Ends syncing and every observation. The engine cannot be used after that.
    package func close() {
        settle()
        sayGoodbye()
        handle(.stop)
        hub.removeAll()
    }

    /// Says that the consumer of an observation has handled its last event.
    package func observerIsReady(_ id: UInt64) { hub.consumerIsReady(id, now: now()) }

    /// Ends an observation. Within a write its events end at once, and the rest happens after the write has ended.
    ///
    /// - Parameters:
    ///   - keeping: whether the query stays in sync without observers.
    ///   - purging: whether to remove the query's objects from this store, if syncing ends.
    package func endObservation(_ id: UInt64, keeping: Bool, purging: Bool) throws {
        guard let observer = hub.remove(id) else { return }
        try outsideTransaction { engine in
            try engine.releaseSubscription(observer.subscription, keeping: keeping, purging: purging)
        }
    }
}
