internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// The total of an observed query that asks for it.
///
/// The total of a query that a server answers is what the server has said last and what pending writes make of that,
/// object by object: a transaction is looked at for the objects that it changes or settles. Where this store decides
/// alone, what comes and goes is counted. A query without a limit has as many as its observers have results; whether they
/// are all is kept here, and the total has no number (``ShownTotal/beside(_:isOfResults:)``).
struct ObservedTotal: ObservedFigure {
    let subscription: Subscription
    var observerCount = 1
    /// How many match, where not all of them are results; nil if it is not known.
    private var count: Int?
    /// What pending writes do to what the server has said, for each object because of which they do.
    private var effects: [ObjectRef: TotalEffect] = [:]
    var isStale = true

    init?(_ subscription: Subscription) {
        guard subscription.query.hasTotal else { return nil }
        self.subscription = subscription
    }

    var dependencies: QueryDependencies { subscription.query.predicateDependencies }

    /// Nil if it is not known.
    var value: ShownTotal? {
        guard let count = subscription.query.countsMatches ? count : 0 else { return nil }
        return ShownTotal(count: count, isExact: effects.areCertain && !subscription.isCached)
    }

    func shown(in storage: SQLiteClientStorage) -> ShownTotal? {
        value.map { total in
            let isServed = subscription.judge.isAlone || subscription.isServed(in: storage)
            return ShownTotal(count: total.count, isExact: total.isExact && isServed)
        }
    }

    mutating func renew(from storage: SQLiteClientStorage) throws {
        let reader = ResultReader(subscription.judge, in: storage, subscription: subscription.record)
        isStale = false
        if subscription.judge.isAlone {
            if subscription.query.countsMatches { count = try reader.total()?.count }
        } else {
            effects = try reader.pendingEffects()
            noteSaid()
        }
    }

    mutating func follow(
        _ outcome: TransactionOutcome, _ objects: Set<ObjectRef>, in storage: SQLiteClientStorage
    ) throws {
        if subscription.judge.isAlone {
            try add(outcome, in: storage)
        } else {
            try followPending(objects, outcome, in: storage)
        }
    }

    /// Puts the number together of what the server has said and what pending writes make of it.
    private mutating func noteSaid() {
        count = subscription.record.total.map { effects.values.reduce($0) { $0 + $1.change } }
    }

    /// Follows the pending writes of the objects that a transaction has changed or settled.
    private mutating func followPending(
        _ objects: Set<ObjectRef>, _ outcome: TransactionOutcome, in storage: SQLiteClientStorage
    ) throws {
        let query = subscription.query
        defer { noteSaid() }
        guard outcome.hasPendingObjects || !effects.isEmpty else { return }
        guard query.predicateDependencies.linkPaths.isEmpty, !query.readsTime else { return try renew(from: storage) }
        for object in objects where object.classIndex == query.classIndex {
            let isPending = try outcome.hasPending(object)
            let effect =
                try isPending
                ? subscription.judge.effectOnTotal(object, of: subscription.record, in: outcome) : TotalEffect.none
            effects[object] = effect == .none ? nil : effect
        }
    }

    /// Counts what a transaction brings to the matches of a query that this store alone decides, and takes from them.
    private mutating func add(_ outcome: TransactionOutcome, in storage: SQLiteClientStorage) throws {
        let query = subscription.query
        guard query.countsMatches else { return }
        // What a server has named, and links, may matter beyond the objects that have changed.
        guard !subscription.isCached, query.predicateDependencies.linkPaths.isEmpty, !query.readsTime,
            let before = count
        else { return try renew(from: storage) }
        let judge = subscription.judge
        count = try outcome.delta.changes.reduce(before) { count, change in
            guard change.object.classIndex == query.classIndex else { return count }
            let was = try change.old.map { try judge.counts($0, in: outcome.before) } ?? false
            let isMatch = try change.new.map { try judge.counts($0, in: outcome) } ?? false
            return count + (isMatch ? 1 : 0) - (was ? 1 : 0)
        }
    }
}
