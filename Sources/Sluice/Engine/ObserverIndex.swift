internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Finds the observers that a transaction concerns. The cost grows with the number found and not with the number of
/// observers.
struct ObserverIndex {
    private struct Filed {
        let observer: Observer
        let placement: FilingTable.Placement
        let links: LinkKey?
    }

    /// The common key of observers that follow links from the same class in the same way.
    struct LinkKey: Hashable {
        let classIndex: Int
        let exclusions: ExclusionTree
    }

    private struct LinkGroup {
        var dependency: DeepDependency
        var observers: Set<UInt64> = []
    }

    private var filed: [UInt64: Filed] = [:]
    private var table = FilingTable()
    private var bySubscription: [UInt64: Set<UInt64>] = [:]
    private var byLinks: [LinkKey: LinkGroup] = [:]

    var isEmpty: Bool { filed.isEmpty }

    subscript(id: UInt64) -> Observer? { filed[id]?.observer }

    /// All observers, in the order in which they began.
    var all: [Observer] { filed.values.map(\.observer).sorted { $0.id < $1.id } }

    mutating func insert(_ observer: Observer, schema: Schema) {
        let query = observer.subscription.query
        let placement = table.insert(Filing(observing: query, schema: schema), observer.id)
        let links = query.object == nil ? LinkKey(classIndex: query.classIndex, exclusions: query.exclusions) : nil
        filed[observer.id] = Filed(observer: observer, placement: placement, links: links)
        bySubscription[observer.subscription.record.id, default: []].insert(observer.id)
        if let links {
            byLinks[links, default: LinkGroup(dependency: DeepDependency(query, schema: schema))].observers
                .insert(observer.id)
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
        return former.observer
    }

    /// The observers of a subscription, by the id of its record.
    func observers(of subscription: UInt64) -> Set<UInt64> { bySubscription[subscription] ?? [] }

    /// Calls `body` with the number of each observer that a change could concern; a number may occur several times.
    func forEachCandidate(of change: ObjectDelta, schema: Schema, _ body: (UInt64) -> Void) {
        table.forEachCandidate(of: change, schema: schema, body)
    }

    /// Finds the results that lead to changed objects, for each group of observers that follow links in the same way.
    ///
    /// - Parameter body: called with the observers of a group and the results, of which each observer may or may not
    ///   have some; nil if any result may have changed.
    func forEachTouch(
        by commit: CommitDelta, in source: any ObjectSource, _ body: (Set<UInt64>, Set<ObjectRef>?) throws -> Void
    ) throws {
        for group in byLinks.values {
            let roots = try group.dependency.affectedRoots(by: commit, in: source) { _ in true }
            if roots?.isEmpty ?? false { continue }
            try body(group.observers, roots)
        }
    }
}
