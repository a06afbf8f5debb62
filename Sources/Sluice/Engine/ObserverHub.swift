internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The observers of a store. For each committed transaction, it computes the edits of every observer concerned.
final class ObserverHub {
    private var index = ObserverIndex()

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

    private func reader(of subscription: Subscription, _ engine: ClientEngine) -> ResultReader {
        ResultReader(
            subscription.query, evaluator: subscription.evaluator, in: engine.storage,
            subscription: subscription.record,
            isAlone: engine.options.databaseName == nil)
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
        // For each observer concerned: the objects to evaluate. Below: its results whose links lead to a changed
        // object.
        var concerned: [UInt64: [ObjectRef]] = [:]
        for object in outcome.touched {
            let change = try outcome.change(of: object, in: engine.storage)
            index.forEachCandidate(of: change, schema: engine.schema) { concerned[$0, default: []].append(object) }
        }
        let changedIDs = changed.map(\.record.id) + transaction.membershipChanges.keys + transaction.rebuilt
        for changedID in changedIDs {
            for id in index.observers(of: changedID) where concerned[id] == nil { concerned[id] = [] }
        }
        var touches: [UInt64: [ObjectRef]] = [:]
        try index.forEachTouch(by: outcome.delta, in: engine.storage) { observers, roots in
            for id in observers {
                guard let observer = index[id] else { continue }
                let touched = roots.map { $0.filter(observer.mayContain) } ?? Set(observer.objects)
                guard !touched.isEmpty else { continue }
                touches[id] = touched.sorted()
                if concerned[id] == nil { concerned[id] = [] }
            }
        }
        let now = engine.now()
        for (id, objects) in concerned.sorted(by: { $0.key < $1.key }) {
            guard let observer = index[id], !observer.isOver else { continue }
            do {
                let edits = try edits(for: observer, objects, outcome, transaction, engine)
                observer.receive(edits + (touches[id] ?? []).map { .touch($0) }, origin: origin, now: now)
            } catch {
                fail(observer, because: error, engine)
            }
        }
    }

    private func edits(
        for observer: Observer, _ objects: [ObjectRef], _ outcome: StoreTransaction.Outcome,
        _ transaction: StoreTransaction, _ engine: ClientEngine
    ) throws -> [ResultEdit] {
        let subscription = observer.subscription
        let id = subscription.record.id
        let reader = reader(of: subscription, engine)
        func reason(_ object: ObjectRef, isHere: Bool) -> RemovalReason {
            transaction.departureReasons[id]?[object] ?? transaction.reasons[object] ?? (isHere ? .filter : .deleted)
        }
        if transaction.rebuilt.contains(id) {
            let entries = try reader.entries()
            let kept = Set(entries.map(\.object))
            let gone = try observer.objects.filter { !kept.contains($0) }.map {
                ResultEdit.remove($0, reason($0, isHere: try engine.storage.isPresent($0)))
            }
            return gone + entries.map { .upsert($0) }
        }
        var edits: [ResultEdit] = []
        var judged: Set<ObjectRef> = []
        func judge(_ object: ObjectRef) throws {
            guard judged.insert(object).inserted else { return }
            let row = try outcome.row(object, in: engine.storage)
            if let row, try reader.includes(row, object) {
                edits.append(.upsert(try reader.entry(object, row)))
            } else if observer.mayContain(object) {
                edits.append(.remove(object, reason(object, isHere: row != nil)))
            }
        }
        let isOfAnyClass = subscription.query.object != nil
        for object in objects where isOfAnyClass || object.classIndex == subscription.query.classIndex {
            try judge(object)
        }
        for object in transaction.membershipChanges[id] ?? [] { try judge(object) }
        if subscription.query.usesLinkPaths {
            let dependents = PathDependents(subscription.query.dependencies)
            for root in try dependents.roots(affectedBy: outcome.delta, in: engine.storage) {
                try judge(root.object)
            }
        }
        return edits
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
