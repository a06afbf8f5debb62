internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Everybody who observes results of a store: works out what a transaction means to each.
final class ObserverHub {
    private var observers: [UInt64: Observer] = [:]

    var isEmpty: Bool { observers.isEmpty }

    func add(_ observer: Observer, engine: ClientEngine) throws {
        rebind(observer, engine: engine)
        observers[observer.id] = observer
        observer.start(with: try reader(of: observer.interest, engine).entries())
    }

    func remove(_ id: UInt64) -> Observer? { observers.removeValue(forKey: id) }

    /// Ends every observation, since the store is closed.
    func removeAll() {
        let ended = observers.values
        observers = [:]
        for observer in ended { observer.end() }
    }

    func consumerIsReady(_ id: UInt64, now: Timestamp) { observers[id]?.consumerIsReady(now: now) }

    /// Adjusts to a schema that has grown.
    func rebind(engine: ClientEngine) {
        for observer in observers.values { rebind(observer, engine: engine) }
    }

    private func rebind(_ observer: Observer, engine: ClientEngine) {
        let query = observer.interest.query
        observer.deep = query.object == nil ? DeepDependency(query, schema: engine.schema) : nil
    }

    private func reader(of interest: Interest, _ engine: ClientEngine) -> ResultReader {
        ResultReader(
            interest.query, evaluator: interest.evaluator, in: engine.storage, subscription: interest.record,
            isAlone: engine.options.databaseName == nil)
    }

    /// Tells observers a state that came about without a transaction.
    func publishStatus(engine: ClientEngine) {
        for observer in observers.values.sorted(by: { $0.id < $1.id }) {
            observer.take([], origin: .local, now: engine.now())
        }
    }

    /// Tells observers what a committed transaction changed for them.
    func publish(_ transaction: StoreTransaction, origin: ChangeOrigin, engine: ClientEngine) throws {
        guard !observers.isEmpty else { return }
        let changes = try transaction.changes()
        let now = engine.now()
        for observer in observers.values.sorted(by: { $0.id < $1.id }) {
            let edits = try edits(for: observer, changes, transaction, engine)
            observer.take(edits, origin: origin, now: now)
        }
    }

    private func edits(
        for observer: Observer, _ changes: CommitDelta, _ transaction: StoreTransaction,
        _ engine: ClientEngine
    ) throws -> [ResultEdit] {
        let interest = observer.interest
        let id = interest.record.id
        let reader = reader(of: interest, engine)
        func reason(_ object: ObjectRef, isHere: Bool) -> RemovalReason {
            transaction.departureReasons[id]?[object] ?? transaction.reasons[object] ?? (isHere ? .filter : .deleted)
        }
        if transaction.rebuilt.contains(id) {
            let entries = try reader.entries()
            let kept = Set(entries.map(\.object))
            let gone = try observer.objects.filter { !kept.contains($0) }.map {
                ResultEdit.remove($0, reason($0, isHere: try engine.storage.isPresent($0)))
            }
            return try gone + entries.map { .upsert($0) } + touches(of: observer, changes, engine)
        }
        var edits: [ResultEdit] = []
        var judged: Set<ObjectRef> = []
        func judge(_ object: ObjectRef) throws {
            guard judged.insert(object).inserted else { return }
            let row = try engine.storage.row(object)
            if let row, try reader.includes(row, object) {
                edits.append(.upsert(try reader.entry(object, row)))
            } else if observer.mayContain(object) {
                edits.append(.remove(object, reason(object, isHere: row != nil)))
            }
        }
        let isOfAnyClass = interest.query.object != nil
        for object in transaction.touched where isOfAnyClass || object.classIndex == interest.query.classIndex {
            try judge(object)
        }
        for object in transaction.membershipChanges[id] ?? [] { try judge(object) }
        if interest.query.usesLinkPaths {
            let dependents = PathDependents(interest.query.dependencies)
            for root in try dependents.roots(affectedBy: changes, in: engine.storage) {
                try judge(root.object)
            }
        }
        return try edits + touches(of: observer, changes, engine)
    }

    /// Results whose linked objects changed.
    private func touches(of observer: Observer, _ changes: CommitDelta, _ engine: ClientEngine) throws -> [ResultEdit] {
        guard let deep = observer.deep else { return [] }
        let roots = try deep.affectedRoots(by: changes, in: engine.storage) { observer.mayContain($0) }
        return (roots.map(Array.init) ?? observer.objects).map { .touch($0) }
    }
}

extension ClientEngine {
    /// Starts to observe a query: an interest in it, and events until ``endObservation(_:keeping:purging:)``.
    ///
    /// - Parameters:
    ///   - end: called when the store is closed.
    ///   - deliver: called with each event; ``observerIsReady(_:)`` says that it has been consumed.
    /// - Returns: the observation's number.
    package func observe(
        _ query: Query, end: @escaping () -> Void = {}, deliver: @escaping (ResultEvent) -> Void
    ) throws -> UInt64 {
        let interest = try addInterest(query)
        interest.isRemembered = true
        let observer = Observer(id: nextNumber(), interest: interest, end: end, deliver: deliver)
        try hub.add(observer, engine: self)
        return observer.id
    }

    /// Ends syncing and every observation, for good.
    package func close() {
        handle(.stop)
        hub.removeAll()
    }

    /// Says that the consumer of an observation has taken its last event.
    package func observerIsReady(_ id: UInt64) { hub.consumerIsReady(id, now: now()) }

    /// Ends an observation. Within a write its events end at once, and the rest happens after the write.
    ///
    /// - Parameters:
    ///   - keeping: whether the query keeps syncing without observers.
    ///   - purging: whether the query's objects leave this store, if syncing ends.
    package func endObservation(_ id: UInt64, keeping: Bool, purging: Bool) throws {
        guard let observer = hub.remove(id) else { return }
        try outsideTransaction { engine in
            try engine.releaseInterest(observer.interest, keeping: keeping, purging: purging)
        }
    }
}
