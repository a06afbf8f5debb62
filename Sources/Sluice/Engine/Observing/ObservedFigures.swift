internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// What is kept for the observers of one subscription, beside its results.
protocol ObservedFigure {
    associatedtype Value: Equatable

    var subscription: Subscription { get }
    var observerCount: Int { get set }
    /// As of the last transaction, as far as it does not depend on the state of the subscription.
    var value: Value { get }
    /// Whether it must be found anew.
    var isStale: Bool { get set }
    /// What it is computed of.
    var dependencies: QueryDependencies { get }

    /// Makes the figure of the first observer, which is stale; nil if the query asks for none.
    init?(_ subscription: Subscription)

    /// Finds it anew, so that it is not stale.
    mutating func renew(from storage: SQLiteClientStorage) throws

    /// The value as observers are shown it now.
    func shown(in storage: SQLiteClientStorage) -> Value

    /// Brings it up to date after a transaction.
    ///
    /// - Parameter objects: those that the transaction has changed or settled.
    mutating func follow(
        _ outcome: TransactionOutcome, _ objects: Set<ObjectRef>, in storage: SQLiteClientStorage
    ) throws
}

/// The figures of one kind that a store keeps, each once for all observers of a subscription, and current from
/// transaction to transaction.
final class ObservedFigures<Figure: ObservedFigure> {
    private let storage: SQLiteClientStorage
    /// By the ids of the subscriptions' records.
    private var kept: [UInt64: Figure] = [:]
    /// The subscriptions whose figures changes of a class may concern.
    private var byClass: [Int: Set<UInt64>] = [:]

    init(_ storage: SQLiteClientStorage) { self.storage = storage }

    /// What the query of a subscription computes; nil if it computes nothing of the kind.
    subscript(subscription: Subscription) -> Figure.Value? {
        kept[subscription.record.id]?.shown(in: storage)
    }

    // MARK: Observers

    /// Keeps the figure of a subscription for one more observer.
    func begin(_ subscription: Subscription) throws {
        let id = subscription.record.id
        guard kept[id] == nil else {
            kept[id]?.observerCount += 1
            return
        }
        guard var made = Figure(subscription) else { return }
        try made.renew(from: storage)
        kept[id] = made
        file(made)
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
        for figure in kept.values { file(figure) }
    }

    private func file(_ figure: Figure) {
        let linked = figure.dependencies.linkPaths.flatMap { $0.links.map(\.targetClass) }
        for classIndex in [figure.subscription.query.classIndex] + linked {
            byClass[classIndex, default: []].insert(figure.subscription.record.id)
        }
    }

    // MARK: Transactions

    /// Brings the figures up to date after a transaction.
    ///
    /// - Returns: the subscriptions whose figures are others than before.
    func follow(_ transaction: StoreTransaction, _ outcome: TransactionOutcome) throws -> Set<UInt64> {
        guard !kept.isEmpty else { return [] }
        var changed: Set<UInt64> = []
        let objects = Set(outcome.touched.lazy.map(\.change.object)).union(transaction.renewedImages)
        for id in concerned(by: transaction, objects) {
            // Taken out, so that it is not copied as it changes.
            guard var figure = kept.removeValue(forKey: id) else { continue }
            defer { kept[id] = figure }
            let before = figure.value
            if figure.isStale || transaction.rebuilt.contains(id) {
                try figure.renew(from: storage)
            } else {
                try figure.follow(outcome, objects, in: storage)
            }
            if figure.value != before { changed.insert(id) }
        }
        return changed
    }

    /// The subscriptions whose figures a transaction may concern.
    private func concerned(by transaction: StoreTransaction, _ objects: Set<ObjectRef>) -> Set<UInt64> {
        var concerned = transaction.figured.union(transaction.rebuilt)
        for classIndex in Set(objects.lazy.map(\.classIndex)) { concerned.formUnion(byClass[classIndex] ?? []) }
        // Time changes what no transaction names.
        concerned.formUnion(kept.lazy.filter { $0.value.isStale || $0.value.subscription.query.readsTime }.map(\.key))
        return concerned
    }
}
