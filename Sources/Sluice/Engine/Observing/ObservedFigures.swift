internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// What is kept for the observers of one subscription, beside its results.
protocol ObservedFigure {
    var subscription: Subscription { get }
    var observerCount: Int { get set }
    /// Whether it must be found anew.
    var isStale: Bool { get set }
    /// What it is computed of.
    var dependencies: QueryDependencies { get }
    /// Whether every transaction concerns it.
    var isAlwaysConcerned: Bool { get }
}

/// The figures of one kind that a store keeps, each once for all observers of a subscription, and which of them a
/// transaction may concern.
struct ObservedFigures<Figure: ObservedFigure> {
    /// By the ids of the subscriptions' records.
    private var kept: [UInt64: Figure] = [:]
    /// The subscriptions whose figures changes of a class may concern.
    private var byClass: [Int: Set<UInt64>] = [:]

    var isEmpty: Bool { kept.isEmpty }

    subscript(id: UInt64) -> Figure? {
        get { kept[id] }
        set { kept[id] = newValue }
    }

    /// Keeps the figure of a subscription for one more observer.
    ///
    /// - Parameter make: makes the figure of the first observer.
    mutating func begin(_ subscription: Subscription, _ make: () throws -> Figure) rethrows {
        let id = subscription.record.id
        guard kept[id] == nil else {
            kept[id]?.observerCount += 1
            return
        }
        let made = try make()
        kept[id] = made
        file(made)
    }

    mutating func end(_ subscription: Subscription) {
        let id = subscription.record.id
        guard let count = kept[id]?.observerCount else { return }
        guard count == 1 else {
            kept[id]?.observerCount = count - 1
            return
        }
        kept[id] = nil
        for classIndex in byClass.keys { byClass[classIndex]?.remove(id) }
    }

    /// Goes on with a schema that has changed.
    mutating func rebind() {
        byClass = [:]
        for id in kept.keys { kept[id]?.isStale = true }
        for figure in kept.values { file(figure) }
    }

    private mutating func file(_ figure: Figure) {
        let linked = figure.dependencies.linkPaths.flatMap { $0.links.map(\.targetClass) }
        for classIndex in [figure.subscription.query.classIndex] + linked {
            byClass[classIndex, default: []].insert(figure.subscription.record.id)
        }
    }

    /// The subscriptions whose figures a transaction may concern.
    ///
    /// - Parameter objects: those that it has changed or settled.
    func concerned(by transaction: StoreTransaction, _ objects: Set<ObjectRef>) -> Set<UInt64> {
        var concerned = transaction.figured.union(transaction.rebuilt)
        for classIndex in Set(objects.lazy.map(\.classIndex)) { concerned.formUnion(byClass[classIndex] ?? []) }
        concerned.formUnion(kept.lazy.filter(\.value.isAlwaysConcerned).map(\.key))
        return concerned
    }
}
