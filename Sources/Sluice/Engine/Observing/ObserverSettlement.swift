internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

/// Works out what a committed transaction means for each observer that it concerns.
struct ObserverSettlement {
    /// What one observer receives. An object, which changes in place.
    final class Task {
        /// For objects that have become results, changed as results, or ceased to be results.
        fileprivate(set) var edits: [ResultEdit] = []
        /// The objects that were judged or, where all results are found again, that may differ from what was shown.
        fileprivate(set) var judged: Set<ObjectRef> = []
        /// The results whose links lead to a changed object.
        fileprivate(set) var touched: Set<ObjectRef> = []
        /// Whether all results must be found again; the edits then do not count.
        fileprivate(set) var isRebuilt = false
        /// Whether all results must be read again.
        fileprivate(set) var isReread = false
        /// Why an object could not be judged.
        fileprivate(set) var failure: (any Error)?
    }

    private let transaction: StoreTransaction
    let outcome: TransactionOutcome
    private let overruled: OverruledResults
    private(set) var tasks: [UInt64: Task] = [:]
    private(set) var work = ObservationWork()

    /// - Parameters:
    ///   - changed: the subscriptions whose status may have changed.
    ///   - clock: knows which dates pass for queries with `$now`.
    ///   - time: the time of queries before the transaction.
    ///   - askedObserverCountMax: see ``ClientOptions/askedObserverCountMax``.
    /// - Throws: the errors of the storage that concern all observers.
    init(
        _ transaction: StoreTransaction, _ changed: [Subscription], _ index: ObserverIndex,
        _ overruled: OverruledResults, in storage: SQLiteClientStorage, _ clock: QueryClock, since time: Timestamp,
        askedObserverCountMax: Int
    ) throws {
        self.transaction = transaction
        self.overruled = overruled
        let schema = storage.schema
        outcome = try TransactionOutcome(transaction, in: storage, clock, since: time)
        for subscription in transaction.rebuilt {
            for id in index.observers(of: subscription) {
                let task = task(for: id)
                task.isRebuilt = true
                task.isReread = transaction.reread.contains(subscription)
            }
        }
        for subscription in changed {
            note(index.observers(of: subscription.record.id))
        }
        for touched in outcome.touched {
            let standing = try outcome.standing(of: touched)
            try index.forEachObserver(of: touched.change, standing, outcome, schema: schema) {
                judge(touched.change, standing, for: $0)
            }
        }
        for change in outcome.passing {
            let standing = try outcome.standing(of: change.object)
            try index.forEachObserver(of: change, standing, outcome, schema: schema) {
                judge(change, standing, for: $0)
            }
            try index.forEachDependent(on: change, outcome, schema: schema) { judge($1, for: $0) }
        }
        for change in outcome.delta.changes {
            try index.forEachDependent(on: change, outcome, schema: schema) { judge($1, for: $0) }
        }
        for (subscription, objects) in transaction.membershipChanges {
            for id in index.observers(of: subscription) {
                guard let observer = index[id] else { continue }
                for object in objects.sorted() { judge(try outcome.change(of: object), for: observer) }
            }
        }
        if !overruled.isEmpty, !(transaction.settled.isEmpty && transaction.renewedImages.isEmpty) {
            for (id, objects) in overruled.all {
                guard let observer = index[id] else { continue }
                for object in objects.sorted() { judge(try outcome.change(of: object), for: observer) }
            }
        }
        if outcome.hasPendingObjects {
            // What these show may be as it was, and yet pending writes may decide now what they did not.
            for object in transaction.renewedImages.union(transaction.settled).sorted() {
                try index.forEachDecidedHere(behind: object, outcome) { judge($1, for: $0) }
            }
        }
        try index.forEachTouch(by: outcome, schema: schema, askedCountMax: askedObserverCountMax) { observer, results in
            task(for: observer.id).touched.formUnion(results)
        }
        work.readCount = outcome.readCount
    }

    /// Makes sure that observers receive something, if only that nothing has become of their results.
    mutating func note(_ observers: Set<UInt64>) {
        for id in observers { _ = task(for: id) }
    }

    private mutating func task(for id: UInt64) -> Task {
        if let task = tasks[id] { return task }
        let task = Task()
        tasks[id] = task
        return task
    }

    /// - Parameters:
    ///   - change: what became of the object; for one that did not change, with the same image twice.
    ///   - standing: what the store knows of the object besides; nil to look it up where it matters.
    private mutating func judge(
        _ change: ObjectDelta, _ standing: TransactionOutcome.Standing? = nil, for observer: Observer
    ) {
        let object = change.object
        let subscription = observer.subscription
        guard !observer.isOver else { return }
        if let task = tasks[observer.id], task.isRebuilt {
            task.judged.insert(object)
            return
        }
        work.judgementCount += 1
        do {
            let row = change.new
            let decision = try row.map {
                try subscription.judge.decide($0, object, of: subscription.record, in: outcome)
            }
            overruled.note(object, of: observer.id, isOverruled: decision?.isOverruled ?? false)
            if let row, decision?.isResult ?? false {
                let task = task(for: observer.id)
                guard task.judged.insert(object).inserted else { return }
                let isPending = try standing?.isPending ?? outcome.hasPending(object)
                let entry = try subscription.judge.entry(object, row, isPending: isPending, in: outcome)
                if !observer.isBeyondWindow(entry.position) {
                    task.edits.append(.upsert(entry))
                } else if observer.concerns(object) {
                    task.edits.append(.remove(object, .window))
                }
            } else if observer.mayContain(object) {
                let task = task(for: observer.id)
                guard task.judged.insert(object).inserted else { return }
                let reason = reason(object, subscription, isHere: row != nil)
                task.edits.append(.remove(object, reason))
            }
        } catch {
            task(for: observer.id).failure = error
        }
    }

    /// The kinds of operations that lead from the state before the transaction to that after it.
    var operations: Set<OperationKind> {
        var operations: Set<OperationKind> = []
        for change in outcome.delta.changes {
            switch (change.old, change.new) {
            case (nil, _): operations.insert(.create)
            case (_, nil) where transaction.reasons[change.object] == .deleted: operations.insert(.delete)
            default: operations.insert(.set)
            }
        }
        return operations.isEmpty ? [.set] : operations
    }

    /// Why an object left the results of a subscription.
    func reason(_ object: ObjectRef, _ subscription: Subscription, isHere: Bool) -> RemovalReason {
        transaction.departureReasons[subscription.record.id]?[object] ?? transaction.reasons[object]
            ?? (isHere ? .filter : .deleted)
    }
}

/// How much work observing has cost. Tests use it to see how the work grows.
package struct ObservationWork: Sendable, Equatable {
    /// How often an object was read for all observers of a transaction, or to find the results of one.
    package internal(set) var readCount = 0
    /// How often it was judged whether an object is among the results of an observer.
    package internal(set) var judgementCount = 0

    mutating func add(_ more: ObservationWork) {
        readCount += more.readCount
        judgementCount += more.judgementCount
    }
}
