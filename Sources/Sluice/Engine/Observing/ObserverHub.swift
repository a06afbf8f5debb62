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
        let entries = try reader(of: observer.subscription, engine).entries()
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

    /// - Parameter outcome: the transaction whose objects are judged; nil to read everything from the store.
    private func reader(
        of subscription: Subscription, judging outcome: TransactionOutcome? = nil, _ engine: ClientEngine
    ) -> ResultReader {
        ResultReader(
            subscription.query, evaluator: subscription.evaluator, in: engine.storage, judging: outcome,
            subscription: subscription.record, isAlone: engine.options.databaseName == nil)
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
        let outcome = try transaction.outcome()
        let tasks = try tasks(outcome, transaction, changed, engine)
        let now = engine.now()
        for (id, task) in tasks.sorted(by: { $0.key < $1.key }) {
            guard let observer = index[id], !observer.isOver else { continue }
            do {
                let edits = try edits(for: observer, task.judged, outcome, transaction, engine)
                observer.receive(edits + task.touched.sorted().map { .touch($0) }, origin: origin, now: now)
            } catch {
                fail(observer, because: error, engine)
            }
        }
        work.readCount += outcome.readCount
    }

    /// What a transaction gives one observer to do.
    private struct Task {
        /// The objects that may have become results, changed as results, or ceased to be results.
        var judged: [ObjectRef] = []
        /// The results whose links lead to a changed object.
        var touched: Set<ObjectRef> = []
    }

    private func tasks(
        _ outcome: TransactionOutcome, _ transaction: StoreTransaction, _ changed: [Subscription],
        _ engine: ClientEngine
    ) throws -> [UInt64: Task] {
        let schema = engine.schema
        let askedCountMax = engine.options.askedObserverCountMax
        var tasks: [UInt64: Task] = [:]
        for object in outcome.touched {
            try index.forEachObserver(of: object, outcome, schema: schema) { observer in
                tasks[observer.id, default: Task()].judged.append(object)
            }
        }
        for change in outcome.delta.changes {
            try index.forEachDependent(on: change, outcome, schema: schema) { observer, root in
                tasks[observer.id, default: Task()].judged.append(root)
            }
        }
        for (subscription, objects) in transaction.membershipChanges {
            for id in index.observers(of: subscription) {
                tasks[id, default: Task()].judged.append(contentsOf: objects.sorted())
            }
        }
        for subscription in changed.map(\.record.id) + transaction.rebuilt {
            for id in index.observers(of: subscription) where tasks[id] == nil { tasks[id] = Task() }
        }
        try index.forEachTouch(by: outcome, schema: schema, askedCountMax: askedCountMax) { observer, results in
            tasks[observer.id, default: Task()].touched.formUnion(results)
        }
        return tasks
    }

    private func edits(
        for observer: Observer, _ objects: [ObjectRef], _ outcome: TransactionOutcome,
        _ transaction: StoreTransaction, _ engine: ClientEngine
    ) throws -> [ResultEdit] {
        let subscription = observer.subscription
        let id = subscription.record.id
        func reason(_ object: ObjectRef, isHere: Bool) -> RemovalReason {
            transaction.departureReasons[id]?[object] ?? transaction.reasons[object] ?? (isHere ? .filter : .deleted)
        }
        if transaction.rebuilt.contains(id) {
            let entries = try reader(of: subscription, engine).entries()
            let kept = Set(entries.map(\.object))
            let gone = try observer.objects.filter { !kept.contains($0) }.map {
                ResultEdit.remove($0, reason($0, isHere: try engine.storage.isPresent($0)))
            }
            return gone + entries.map { .upsert($0) }
        }
        guard !objects.isEmpty else { return [] }
        let reader = reader(of: subscription, judging: outcome, engine)
        var edits: [ResultEdit] = []
        var judged: Set<ObjectRef> = []
        for object in objects where judged.insert(object).inserted {
            work.judgementCount += 1
            let row = try outcome.row(object)
            if let row, try reader.includes(row, object) {
                edits.append(.upsert(try reader.entry(object, row)))
            } else if observer.mayContain(object) {
                edits.append(.remove(object, reason(object, isHere: row != nil)))
            }
        }
        return edits
    }
}

/// How much work observing has cost. Tests use it to see how the work grows.
package struct ObservationWork: Sendable, Equatable {
    /// How often an object was read for all observers of a transaction.
    package internal(set) var readCount = 0
    /// How often it was judged whether an object is among the results of an observer.
    package internal(set) var judgementCount = 0
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
