internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Finds the observers that a transaction concerns. The cost grows with the number found and not with the number of
/// observers.
struct ObserverIndex {
    /// An object, so that looking an observer up copies nothing of its conditions.
    private final class Filed {
        let observer: Observer
        let placement: FilingTable.Placement
        let links: LinkKey?

        init(_ observer: Observer, _ placement: FilingTable.Placement, _ links: LinkKey?) {
            self.observer = observer
            self.placement = placement
            self.links = links
        }
    }

    /// The common key of observers that follow links from the same class in the same way.
    private struct LinkKey: Hashable {
        let classIndex: Int
        let exclusions: ExclusionTree
    }

    private struct LinkGroup {
        var dependency: DeepDependency
        var observers: Set<UInt64> = []
    }

    private typealias Chain = [QueryDependencies.Link]

    private let overruled: OverruledResults
    private var filed: [UInt64: Filed] = [:]
    private let table = FilingTable()
    private var bySubscription: [UInt64: Set<UInt64>] = [:]
    private var byLinks: [LinkKey: LinkGroup] = [:]
    /// The observers whose condition or sort reads objects at the end of a chain of links, by the class of these
    /// objects.
    private var byChain: [Int: [Chain: Set<UInt64>]] = [:]

    init(_ overruled: OverruledResults) { self.overruled = overruled }

    var isEmpty: Bool { filed.isEmpty }

    subscript(id: UInt64) -> Observer? { filed[id]?.observer }

    /// All observers, in the order in which they began.
    var all: [Observer] { filed.values.map(\.observer).sorted { $0.id < $1.id } }

    mutating func insert(_ observer: Observer, schema: Schema) {
        let query = observer.subscription.query
        let placement = table.insert(Filing(observing: query, schema: schema), observer.id)
        let links = query.object == nil ? LinkKey(classIndex: query.classIndex, exclusions: query.exclusions) : nil
        filed[observer.id] = Filed(observer, placement, links)
        bySubscription[observer.subscription.record.id, default: []].insert(observer.id)
        if let links {
            byLinks[links, default: LinkGroup(dependency: DeepDependency(query, schema: schema))].observers
                .insert(observer.id)
        }
        for path in query.dependencies.linkPaths {
            byChain[path.targetClass, default: [:]][path.links, default: []].insert(observer.id)
        }
    }

    mutating func remove(_ id: UInt64) -> Observer? {
        guard let former = filed.removeValue(forKey: id) else { return nil }
        table.remove(former.placement, id)
        let subscription = former.observer.subscription.record.id
        bySubscription[subscription]?.remove(id)
        if bySubscription[subscription]?.isEmpty ?? false { bySubscription[subscription] = nil }
        if let links = former.links {
            byLinks[links]?.observers.remove(id)
            if byLinks[links]?.observers.isEmpty ?? false { byLinks[links] = nil }
        }
        for path in former.observer.subscription.query.dependencies.linkPaths {
            byChain[path.targetClass]?[path.links]?.remove(id)
            if byChain[path.targetClass]?[path.links]?.isEmpty ?? false { byChain[path.targetClass]?[path.links] = nil }
            if byChain[path.targetClass]?.isEmpty ?? false { byChain[path.targetClass] = nil }
        }
        return former.observer
    }

    /// The observers of a subscription, by the id of its record.
    func observers(of subscription: UInt64) -> Set<UInt64> { bySubscription[subscription] ?? [] }

    // MARK: Results that may have changed

    /// Calls `body` with each observer among whose results an object may be, before the transaction or after it; with
    /// some of them more than once.
    ///
    /// - Parameters:
    ///   - change: what became of the object; for one that did not change, with the same image twice.
    ///   - standing: what the store knows of the object besides.
    func forEachObserver(
        of change: ObjectDelta, _ standing: TransactionOutcome.Standing, _ outcome: TransactionOutcome,
        schema: Schema, _ body: (Observer) -> Void
    ) throws {
        let object = change.object
        func find(_ id: UInt64) {
            guard let observer = filed[id]?.observer else { return }
            let subscription = observer.subscription
            guard subscription.query.object != nil || subscription.query.classIndex == object.classIndex else { return }
            do {
                if standing.isServers, subscription.isServed(in: outcome),
                    try !isDecidedHere(change, observer, outcome)
                {
                    return
                }
                body(observer)
            } catch { failure = error }
        }
        var failure: (any Error)?
        table.forEachCandidate(of: change, schema: schema, find)
        table.forEachCandidate(of: change, in: outcome, before: outcome.before, find)
        if let failure { throw failure }
        for subscription in standing.subscriptions {
            for id in observers(of: subscription) { if let observer = filed[id]?.observer { body(observer) } }
        }
    }

    /// Whether pending writes of linked objects may decide about an object, or did so before the transaction.
    private func isDecidedHere(
        _ change: ObjectDelta, _ observer: Observer, _ outcome: TransactionOutcome
    ) throws -> Bool {
        if overruled.contains(change.object, of: observer.id) { return true }
        guard let row = change.new else { return false }
        let subscription = observer.subscription
        return try subscription.judge.isDecidedBehindLinks(row, of: subscription.record, in: outcome)
    }

    /// Calls `body` with what became of each object whose links lead to a changed object, and each observer whose
    /// condition or sort reads the changed object and among whose results the other may be; with some pairs more than
    /// once.
    func forEachDependent(
        on change: ObjectDelta, _ outcome: TransactionOutcome, schema: Schema,
        _ body: (Observer, ObjectDelta) -> Void
    ) throws {
        guard let chains = byChain[change.object.classIndex] else { return }
        // Whether a condition can be judged here depends on which objects and properties are here.
        let changesJudging = change.changesPresence || change.old?.absent != change.new?.absent
        let readers = changesJudging ? nil : readers(of: change, outcome, schema: schema)
        for (links, observers) in chains {
            let concerned = readers?.intersection(observers) ?? observers
            guard !concerned.isEmpty else { continue }
            let roots = try PathDependents.roots(leadingTo: change.object, by: links, outcome.delta, in: outcome)
            for root in roots {
                let root = try outcome.change(of: root)
                let standing = try outcome.standing(of: root.object)
                try forEachObserver(of: root, standing, outcome, schema: schema) { observer in
                    if concerned.contains(observer.id) { body(observer, root) }
                }
            }
        }
    }

    /// Calls `body` with what became of each object from which links lead to another, and each observer of a complete
    /// subscription that reads the other, if pending writes of linked objects may decide about the one.
    func forEachDecidedHere(
        behind object: ObjectRef, _ outcome: TransactionOutcome, _ body: (Observer, ObjectDelta) -> Void
    ) throws {
        for (links, observers) in byChain[object.classIndex] ?? [:] {
            let concerned = observers.compactMap { self[$0] }.filter(\.subscription.isComplete)
            guard !concerned.isEmpty else { continue }
            for root in try PathDependents.roots(leadingTo: object, by: links, outcome.delta, in: outcome) {
                let change = try outcome.change(of: root)
                for observer in concerned where try isDecidedHere(change, observer, outcome) { body(observer, change) }
            }
        }
    }

    /// The observers whose condition or sort the change of a linked object may matter to; nil if they are too many to
    /// be listed.
    private func readers(of change: ObjectDelta, _ outcome: TransactionOutcome, schema: Schema) -> Set<UInt64>? {
        let countMax = 64
        var found: Set<UInt64> = []
        func find(_ id: UInt64) { if found.count <= countMax { found.insert(id) } }
        table.forEachCandidate(of: change, schema: schema, find)
        table.forEachCandidate(of: change, in: outcome, before: outcome.before, find)
        return found.count <= countMax ? found : nil
    }

    // MARK: Results that lead to changed objects

    /// Calls `body` with each observer and those of its results that links lead from to changed objects.
    ///
    /// - Parameter askedCountMax: if at most so many observers follow links in the same way, each is asked whether it
    ///   has a result. That costs less than to read the result and find the observers that have it.
    func forEachTouch(
        by outcome: TransactionOutcome, schema: Schema, askedCountMax: Int,
        _ body: (Observer, [ObjectRef]) -> Void
    ) throws {
        for group in byLinks.values {
            let roots = try group.dependency.affectedRoots(by: outcome.delta, in: outcome) { _ in true }
            guard let roots else {
                // Too many to tell, so any result may lead to a change.
                for id in group.observers { if let observer = self[id] { body(observer, observer.objects) } }
                continue
            }
            for root in roots.sorted() {
                if group.observers.count <= askedCountMax {
                    for id in group.observers {
                        if let observer = self[id], observer.mayContain(root) { body(observer, [root]) }
                    }
                    continue
                }
                let change = try outcome.change(of: root)
                try forEachObserver(of: change, outcome.standing(of: root), outcome, schema: schema) { observer in
                    if group.observers.contains(observer.id), observer.mayContain(root) { body(observer, [root]) }
                }
            }
        }
    }
}
