internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// The total of an observed query that asks for it and has a limit.
///
/// The total of a query that a server answers is what the server has said last and what pending writes make of that,
/// object by object: a transaction is looked at for the objects that it changes or settles. Where this store decides
/// alone, what comes and goes is counted.
struct ObservedTotal: ObservedFigure {
    let subscription: Subscription
    var observerCount = 1
    /// Nil if it is not known.
    private(set) var value: Int?
    /// By how much pending writes change what the server has said, for each object because of which they do.
    private var effects: [ObjectRef: Int] = [:]
    var isStale = true

    init?(_ subscription: Subscription) {
        guard subscription.query.countsMatches else { return nil }
        self.subscription = subscription
    }

    var dependencies: QueryDependencies { subscription.query.predicateDependencies }
    var isAlwaysConcerned: Bool { isStale }

    mutating func renew(from storage: SQLiteClientStorage) throws {
        let reader = ResultReader(subscription.judge, in: storage, subscription: subscription.record)
        isStale = false
        if subscription.judge.isAlone {
            value = try reader.total()
        } else {
            effects = try reader.pendingEffects()
            noteSaid()
        }
    }

    mutating func follow(
        _ outcome: TransactionOutcome, _ objects: Set<ObjectRef>, in storage: SQLiteClientStorage
    ) throws {
        if subscription.judge.isAlone {
            try count(outcome, in: storage)
        } else {
            try followPending(objects, outcome, in: storage)
        }
    }

    /// Puts the value together of what the server has said and what pending writes make of it.
    private mutating func noteSaid() { value = subscription.record.total.map { $0 + effects.values.reduce(0, +) } }

    /// Follows the pending writes of the objects that a transaction has changed or settled.
    private mutating func followPending(
        _ objects: Set<ObjectRef>, _ outcome: TransactionOutcome, in storage: SQLiteClientStorage
    ) throws {
        let query = subscription.query
        defer { noteSaid() }
        guard outcome.hasPendingObjects || !effects.isEmpty else { return }
        guard query.predicateDependencies.linkPaths.isEmpty else { return try renew(from: storage) }
        for object in objects where object.classIndex == query.classIndex {
            let isPending = try outcome.hasPending(object)
            let effect =
                try isPending ? subscription.judge.effectOnTotal(object, of: subscription.record, in: outcome) : 0
            effects[object] = effect == 0 ? nil : effect
        }
    }

    /// Counts what a transaction brings to the matches of a query that this store alone decides, and takes from them.
    private mutating func count(_ outcome: TransactionOutcome, in storage: SQLiteClientStorage) throws {
        let query = subscription.query
        // What a server has named, and links, may matter beyond the objects that have changed.
        guard !subscription.isCached, query.predicateDependencies.linkPaths.isEmpty, let before = value
        else { return try renew(from: storage) }
        let judge = subscription.judge
        value = try outcome.delta.changes.reduce(before) { count, change in
            guard change.object.classIndex == query.classIndex else { return count }
            let was = try change.old.map { try judge.counts($0, in: outcome.before) } ?? false
            let isMatch = try change.new.map { try judge.counts($0, in: outcome) } ?? false
            return count + (isMatch ? 1 : 0) - (was ? 1 : 0)
        }
    }
}
