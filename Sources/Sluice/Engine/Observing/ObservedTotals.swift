internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The totals of the observed queries that ask for them, each kept once for all observers of a subscription and current
/// from transaction to transaction.
///
/// The total of a query that a server answers is what the server has said last and what pending writes make of that,
/// object by object: a transaction is looked at for the objects that it changes or settles. Where this store decides
/// alone, what comes and goes is counted. A query without a limit has as many as its observers have results; whether
/// they are all is kept here.
final class ObservedTotals {
    private struct Kept: ObservedFigure {
        let subscription: Subscription
        var observerCount: Int
        /// How many match, where not all of them are results.
        var count: Int?
        /// What pending writes do to what the server has said, for each object because of which they do.
        var effects: [ObjectRef: TotalEffect] = [:]
        var isStale = false

        var dependencies: QueryDependencies { subscription.query.predicateDependencies }
        var isAlwaysConcerned: Bool { isStale }

        /// What is kept, as far as it does not depend on the state of the subscription.
        var value: ShownTotal? {
            guard let count = subscription.query.countsMatches ? count : 0 else { return nil }
            return ShownTotal(count: count, isExact: effects.areCertain && !subscription.isCached)
        }

        /// Puts the number together of what the server has said and what pending writes make of it.
        mutating func noteSaid() {
            count = subscription.record.total.map { effects.values.reduce($0) { $0 + $1.change } }
        }
    }

    private let storage: SQLiteClientStorage
    private var kept = ObservedFigures<Kept>()

    init(_ storage: SQLiteClientStorage) { self.storage = storage }

    /// The total of a subscription's query; nil if there is none, or it is not known. That of a query without a limit has
    /// no number here (``ShownTotal/beside(_:isOfResults:)``).
    subscript(subscription: Subscription) -> ShownTotal? {
        kept[subscription.record.id]?.value.map { total in
            let isServed = subscription.judge.isAlone || subscription.isServed(in: storage)
            return ShownTotal(count: total.count, isExact: total.isExact && isServed)
        }
    }

    // MARK: Observers

    /// Keeps the total of a subscription for one more observer.
    func begin(_ subscription: Subscription) throws {
        guard subscription.query.hasTotal else { return }
        try kept.begin(subscription) {
            var made = Kept(subscription: subscription, observerCount: 1)
            try renew(&made)
            return made
        }
    }

    func end(_ subscription: Subscription) { kept.end(subscription) }

    func removeAll() { kept = ObservedFigures() }

    /// Goes on with a schema that has changed.
    func rebind() { kept.rebind() }

    // MARK: Transactions

    /// Brings the totals up to date after a transaction.
    ///
    /// - Returns: the subscriptions whose totals are others than before.
    func follow(_ transaction: StoreTransaction, _ outcome: TransactionOutcome) throws -> Set<UInt64> {
        guard !kept.isEmpty else { return [] }
        var changed: Set<UInt64> = []
        let objects = Set(outcome.touched.lazy.map(\.change.object)).union(transaction.renewedImages)
        for id in kept.concerned(by: transaction, objects) {
            guard var known = kept[id] else { continue }
            let before = known.value
            if known.isStale || transaction.rebuilt.contains(id) {
                try renew(&known)
            } else if known.subscription.judge.isAlone {
                try count(outcome, in: &known)
            } else {
                try settle(objects, outcome, in: &known)
            }
            kept[id] = known
            if known.value != before { changed.insert(id) }
        }
        return changed
    }

    /// Finds a total anew.
    private func renew(_ known: inout Kept) throws {
        let reader = ResultReader(known.subscription.judge, in: storage, subscription: known.subscription.record)
        known.isStale = false
        if known.subscription.judge.isAlone {
            if known.subscription.query.countsMatches { known.count = try reader.total()?.count }
        } else {
            known.effects = try reader.pendingEffects()
            known.noteSaid()
        }
    }

    /// Follows the pending writes of the objects that a transaction has changed or settled.
    private func settle(_ objects: Set<ObjectRef>, _ outcome: TransactionOutcome, in known: inout Kept) throws {
        let subscription = known.subscription
        let query = subscription.query
        defer { known.noteSaid() }
        guard outcome.hasPendingObjects || !known.effects.isEmpty else { return }
        guard query.predicateDependencies.linkPaths.isEmpty else { return try renew(&known) }
        for object in objects where object.classIndex == query.classIndex {
            let isPending = try outcome.hasPending(object)
            let effect =
                try isPending
                ? subscription.judge.effectOnTotal(object, of: subscription.record, in: outcome) : TotalEffect.none
            known.effects[object] = effect == .none ? nil : effect
        }
    }

    /// Counts what a transaction brings to the matches of a query that this store alone decides, and takes from them.
    private func count(_ outcome: TransactionOutcome, in known: inout Kept) throws {
        let query = known.subscription.query
        guard query.countsMatches else { return }
        // What a server has named, and links, may matter beyond the objects that have changed.
        guard !known.subscription.isCached, query.predicateDependencies.linkPaths.isEmpty, let before = known.count
        else { return try renew(&known) }
        let judge = known.subscription.judge
        known.count = try outcome.delta.changes.reduce(before) { count, change in
            guard change.object.classIndex == query.classIndex else { return count }
            let was = try change.old.map { try judge.counts($0, in: outcome.before) } ?? false
            let isMatch = try change.new.map { try judge.counts($0, in: outcome) } ?? false
            return count + (isMatch ? 1 : 0) - (was ? 1 : 0)
        }
    }
}
