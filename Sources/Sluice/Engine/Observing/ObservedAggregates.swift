internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What observed queries with AGGREGATE compute, each kept once for all observers of a subscription and current from
/// transaction to transaction.
///
/// As for ``ObservedTotals``, it is what the server has said last and what pending writes make of that, object by object.
/// Where this store decides alone, and until the server has said something, it is computed of what is here, and what comes
/// and goes is added and taken away.
final class ObservedAggregates {
    private struct Kept {
        let subscription: Subscription
        var observerCount: Int
        var value: ShownGroups
        /// What pending writes change of what the server has said, for each object because of which they do.
        var effects: [ObjectRef: FigureEffect] = [:]
        /// What is computed of what is here; nil where the server has said something.
        var table: FigureTable?
        /// Whether the value must be found anew.
        var isStale = false
    }

    private let storage: SQLiteClientStorage
    /// By the ids of the subscriptions' records.
    private var kept: [UInt64: Kept] = [:]
    /// The subscriptions whose figures changes of a class may concern.
    private var byClass: [Int: Set<UInt64>] = [:]

    init(_ storage: SQLiteClientStorage) { self.storage = storage }

    /// What the query of a subscription computes; nil unless it has AGGREGATE.
    subscript(subscription: Subscription) -> ShownGroups? { kept[subscription.record.id]?.value }

    // MARK: Observers

    /// Keeps the figures of a subscription for one more observer.
    func begin(_ subscription: Subscription) throws {
        guard subscription.query.aggregates != nil else { return }
        let id = subscription.record.id
        if kept[id] != nil {
            kept[id]?.observerCount += 1
            return
        }
        var made = Kept(subscription: subscription, observerCount: 1, value: ShownGroups(groups: [], isExact: false))
        try renew(&made)
        kept[id] = made
        file(subscription)
    }

    func end(_ subscription: Subscription) {
        let id = subscription.record.id
        guard let count = kept[id]?.observerCount else { return }
        guard count == 1 else {
            kept[id]?.observerCount = count - 1
            return
        }
        kept[id] = nil
        for classIndex in byClass.keys { byClass[classIndex]?.remove(id) }
    }

    func removeAll() {
        kept = [:]
        byClass = [:]
    }

    /// Goes on with a schema that has changed.
    func rebind() {
        byClass = [:]
        for id in kept.keys { kept[id]?.isStale = true }
        for known in kept.values { file(known.subscription) }
    }

    private func file(_ subscription: Subscription) {
        let query = subscription.query
        let classes = [query.classIndex] + query.dependencies.linkPaths.flatMap { $0.links.map(\.targetClass) }
        for classIndex in classes { byClass[classIndex, default: []].insert(subscription.record.id) }
    }

    // MARK: Transactions

    /// Brings the figures up to date after a transaction.
    ///
    /// - Returns: the subscriptions whose figures are others than before.
    func follow(_ transaction: StoreTransaction, _ outcome: TransactionOutcome) throws -> Set<UInt64> {
        guard !kept.isEmpty else { return [] }
        var changed: Set<UInt64> = []
        let objects = Set(outcome.touched.lazy.map(\.change.object)).union(transaction.renewedImages)
        var concerned = transaction.figured.union(transaction.rebuilt)
        for classIndex in Set(objects.lazy.map(\.classIndex)) { concerned.formUnion(byClass[classIndex] ?? []) }
        concerned.formUnion(kept.lazy.filter { $0.value.isStale || $0.value.subscription.query.readsTime }.map(\.key))
        for id in concerned {
            guard var known = kept[id] else { continue }
            kept[id]?.table = nil
            let before = known.value
            let isSaid = isSaid(known.subscription)
            if known.isStale || transaction.rebuilt.contains(id) || isSaid != (known.table == nil) {
                try renew(&known)
            } else if isSaid {
                try settle(objects, outcome, in: &known)
            } else {
                try follow(outcome, in: &known)
            }
            kept[id] = known
            if known.value != before { changed.insert(id) }
        }
        return changed
    }

    private func isSaid(_ subscription: Subscription) -> Bool {
        !subscription.judge.isAlone && !subscription.isCached && subscription.record.figures != nil
    }

    private func reader(_ known: Kept) -> ResultReader {
        ResultReader(known.subscription.judge, in: storage, subscription: known.subscription.record)
    }

    /// Finds figures anew.
    private func renew(_ known: inout Kept) throws {
        known.isStale = false
        guard let aggregates = known.subscription.query.aggregates else { return }
        guard isSaid(known.subscription) else {
            known.effects = [:]
            do {
                let table = try reader(known).figureTable(aggregates)
                known.table = table
                known.value = ShownGroups(of: table, isAll: known.subscription.judge.isAlone)
            } catch let error as QueryError where error.code == .limitExceeded {
                // The server refuses it as well; other observers go on.
                known.table = nil
                known.value = ShownGroups(groups: [], isExact: false)
            }
            return
        }
        known.table = nil
        known.effects = try reader(known).figureEffects()
        noteSaid(&known)
    }

    /// Puts the figures together of what the server has said and what pending writes make of it.
    private func noteSaid(_ known: inout Kept) {
        let query = known.subscription.query
        guard let aggregates = query.aggregates,
            let said = known.subscription.record.figures.flatMap(aggregates.groups)
        else { return }
        known.value = ShownGroups(
            aggregates, said: said, changedBy: known.effects.values,
            isCurrent: !(query.readsTime && storage.isTimeOwn))
    }

    /// Follows the pending writes of the objects that a transaction has changed or settled.
    private func settle(_ objects: Set<ObjectRef>, _ outcome: TransactionOutcome, in known: inout Kept) throws {
        let subscription = known.subscription
        let query = subscription.query
        defer { noteSaid(&known) }
        guard outcome.hasPendingObjects || !known.effects.isEmpty else { return }
        guard query.dependencies.linkPaths.isEmpty, !query.readsTime else {
            known.effects = try reader(known).figureEffects()
            return
        }
        for object in objects where object.classIndex == query.classIndex {
            known.effects[object] =
                try outcome.hasPending(object)
                ? subscription.judge.effectOnFigures(object, of: subscription.record, in: outcome) : nil
        }
    }

    /// Adds what a transaction brings to the matches of a query among what is here, and takes away what it takes from them.
    private func follow(_ outcome: TransactionOutcome, in known: inout Kept) throws {
        let query = known.subscription.query
        let judge = known.subscription.judge
        // Links, and what a server has named, may matter beyond the objects that have changed.
        guard query.dependencies.linkPaths.isEmpty, !known.subscription.isCached, !query.readsTime,
            var table = known.table
        else { return try renew(&known) }
        known.table = nil
        table.beginChange()
        for change in outcome.delta.changes where change.object.classIndex == query.classIndex {
            if let was = try judge.matchedValues(of: change.old, in: outcome.before) { table.remove(was) }
            if let now = try judge.matchedValues(of: change.new, in: outcome) {
                do throws(FigureError) { try table.add(now) } catch { return try renew(&known) }
            }
        }
        guard table.unknownExtremes.isEmpty else { return try renew(&known) }
        _ = table.endChange()
        known.value = ShownGroups(of: table, isAll: judge.isAlone)
        known.table = table
    }
}
