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
    private struct Kept: ObservedFigure {
        let subscription: Subscription
        var observerCount: Int
        var value: ShownGroups
        /// What pending writes change of what the server has said, for each object because of which they do.
        var effects: [ObjectRef: FigureEffect] = [:]
        /// Whether pending writes may change what is computed because of objects that are not here.
        var concernsUnseen = false
        /// What is computed of what is here; nil where the server has said something.
        var table: FigureTable?
        var isStale = false

        var dependencies: QueryDependencies { subscription.query.dependencies }
        var isAlwaysConcerned: Bool { isStale || subscription.query.readsTime }
    }

    private let storage: SQLiteClientStorage
    private var kept = ObservedFigures<Kept>()

    init(_ storage: SQLiteClientStorage) { self.storage = storage }

    /// What the query of a subscription computes; nil unless it has AGGREGATE.
    subscript(subscription: Subscription) -> ShownGroups? {
        kept[subscription.record.id]?.value.exact(
            subscription.judge.isAlone ? !subscription.isCached : subscription.isServed(in: storage))
    }

    // MARK: Observers

    /// Keeps the figures of a subscription for one more observer.
    func begin(_ subscription: Subscription) throws {
        guard subscription.query.aggregates != nil else { return }
        try kept.begin(subscription) {
            var made = Kept(
                subscription: subscription, observerCount: 1, value: ShownGroups(groups: [], isExact: false))
            try renew(&made)
            return made
        }
    }

    func end(_ subscription: Subscription) { kept.end(subscription) }

    func removeAll() { kept = ObservedFigures() }

    /// Goes on with a schema that has changed.
    func rebind() { kept.rebind() }

    // MARK: Transactions

    /// Brings the figures up to date after a transaction.
    ///
    /// - Returns: the subscriptions whose figures are others than before.
    func follow(_ transaction: StoreTransaction, _ outcome: TransactionOutcome) throws -> Set<UInt64> {
        guard !kept.isEmpty else { return [] }
        var changed: Set<UInt64> = []
        let objects = Set(outcome.touched.lazy.map(\.change.object)).union(transaction.renewedImages)
        for id in kept.concerned(by: transaction, objects) {
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
            known.concernsUnseen = false
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
        try readEffects(&known)
        noteSaid(&known)
    }

    /// Puts the figures together of what the server has said and what pending writes make of it.
    private func noteSaid(_ known: inout Kept) {
        guard let aggregates = known.subscription.query.aggregates, let said = known.subscription.saidGroups() else {
            return
        }
        guard !known.effects.isEmpty else {
            known.value = ShownGroups(groups: said, isExact: !known.concernsUnseen)
            return
        }
        known.value = ShownGroups(
            aggregates, said: said, changedBy: known.effects.values, isCurrent: !known.concernsUnseen)
    }

    /// Finds what pending writes change.
    private func readEffects(_ known: inout Kept) throws {
        let reader = reader(known)
        known.effects = try reader.figureEffects()
        known.concernsUnseen = try !reader.judge.concerningUnseen(reader.pendingObjects(), in: reader.state).isEmpty
    }

    /// Follows the pending writes of the objects that a transaction has changed or settled.
    private func settle(_ objects: Set<ObjectRef>, _ outcome: TransactionOutcome, in known: inout Kept) throws {
        let subscription = known.subscription
        let query = subscription.query
        defer { noteSaid(&known) }
        guard outcome.hasPendingObjects || !known.effects.isEmpty || known.concernsUnseen else { return }
        guard query.dependencies.linkPaths.isEmpty, !query.readsTime else { return try readEffects(&known) }
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
