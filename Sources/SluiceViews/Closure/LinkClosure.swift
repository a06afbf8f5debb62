import SluiceModel
import SluiceQuery

/// The set of objects that a view reaches through links, updated with each commit without reading all of them again.
///
/// A node is an object in a state of the plan. For each node the closure counts the links that roots have to it. A node
/// without such links has one supporting predecessor of a lower level: the supports form a spanning forest after Even
/// and Shiloach ("An On-Line Edge-Deletion Problem", JACM 1981). Losing any other link costs nothing. A node that loses
/// its support looks for another predecessor of lower level. If there is none, the node is suspended, and so are in
/// turn the nodes that it supports and that find no other; suspended nodes that are still reachable are then added
/// again, with new levels ("delete and rederive", Gupta, Mumick and Subrahmanian, 1993). The closure does not store
/// roots. It counts their links, also those to objects that are absent.
///
/// An object, so that it is changed in place; a copy of a view copies it, and shares its tables until they differ.
final class LinkClosure {
    struct Entry {
        /// Links from roots to this node; several links from one root count separately.
        var rootLinks: Int32 = 0
        /// 1 for a node that roots link to, else more than the level of its support; 0 for an entry that is not a node.
        var level: Int32 = 0
        /// The supporting predecessor of a node that no root links to.
        var support: ClosureNode?
    }

    let plan: ClosurePlan
    private(set) var entries: [ClosureNode: Entry] = [:]
    /// What the view included, before the current step, of each object whose nodes were changed in the step; nil where the
    /// object was not linked.
    private(set) var touched = SmallMap<ObjectRef, PropertySet?>()

    /// The objects that may have gained or lost their entries since the last call of ``takeRefiled()``, some of them more
    /// than once.
    private var refiled: [ObjectRef] = []
    private var refiledCountMax = 1_024

    init(plan: ClosurePlan) {
        self.plan = plan
    }

    /// A closure in the same state, which can then change independently.
    ///
    /// - Parameter other: a plan that follows the same links, for the copy; nil for the same plan.
    func copy(following other: ClosurePlan? = nil) -> LinkClosure {
        let copy = LinkClosure(plan: other ?? plan)
        copy.entries = entries
        copy.touched = touched
        copy.refiled = refiled
        return copy
    }

    /// Every object that has an entry: the linked objects, and the missing objects that roots link to.
    var objects: Set<ObjectRef> { Set(entries.keys.lazy.map(\.object)) }

    /// Whether an object has an entry.
    func holds(_ object: ObjectRef) -> Bool {
        plan.linkedStates(ofClass: object.classIndex).contains { entries[ClosureNode(object, $0)] != nil }
    }

    /// Returns and forgets the objects that may have gained or lost their entries since the last call, some of them more
    /// than once.
    func takeRefiled() -> [ObjectRef] {
        if refiled.isEmpty { return [] }
        defer { refiled = [] }
        return refiled
    }

    private func refile(_ object: ObjectRef) {
        // A view that no index has filed is never asked for them.
        if refiled.count >= refiledCountMax {
            refiled = Array(Set(refiled))
            refiledCountMax = max(1_024, refiled.count * 2)
        }
        refiled.append(object)
    }

    /// The properties that the view includes of an object because it is linked; nil if it is not linked.
    func included(_ object: ObjectRef) -> PropertySet? {
        var union: PropertySet?
        for state in plan.linkedStates(ofClass: object.classIndex) where level(ClosureNode(object, state)) > 0 {
            union = (union ?? []).union(plan.states[state].included)
        }
        return union
    }

    /// The level of a node; 0 if it is not a node of the closure.
    func level(_ node: ClosureNode) -> Int32 { entries[node]?.level ?? 0 }

    /// Whether the current step has changed what the view includes of some object.
    var isTouched: Bool { !touched.isEmpty }

    /// What the view included of an object before the current step.
    ///
    /// - Parameter now: what it includes of the object now.
    func includedBefore(_ object: ObjectRef, now: PropertySet?) -> PropertySet? {
        touched.isEmpty || !plan.reaches(object.classIndex) ? now : touched[object] ?? now
    }

    func beginStep() { if !touched.isEmpty { touched.removeAll() } }

    /// Records what was included of an object before its first change in this step.
    private func touch(_ object: ObjectRef) {
        if !touched.contains(object) { touched.append(object, included(object)) }
    }

    /// Adds a node for an object that is present.
    func add(_ node: ClosureNode, level: Int32, support: ClosureNode?) {
        touch(node.object)
        refile(node.object)
        entries[node, default: Entry()].level = level
        entries[node]?.support = support
    }

    /// Removes a node; its count of links from roots stays.
    func remove(_ node: ClosureNode) {
        touch(node.object)
        guard var entry = entries[node] else { return }
        entry.level = 0
        entry.support = nil
        refile(node.object)
        entries[node] = entry.rootLinks == 0 ? nil : entry
    }

    // MARK: Flat plans

    /// Adds an entry for an object that has none, in a plan in which an object is in one state.
    func addFlat(_ node: ClosureNode, _ entry: Entry) {
        if entry.level > 0 { touched.append(node.object, nil) }
        refile(node.object)
        entries[node] = entry
    }

    /// Adds to the number of links from roots to a node that has an entry.
    ///
    /// - Returns: the new number.
    func countFlat(at index: [ClosureNode: Entry].Index, _ amount: Int32) -> Int32 {
        entries.values[index].rootLinks += amount
        return entries.values[index].rootLinks
    }

    /// Removes an entry.
    func removeFlat(at index: [ClosureNode: Entry].Index) {
        let (node, entry) = entries.remove(at: index)
        refile(node.object)
        if entry.level > 0 { touched.append(node.object, plan.states[node.state].included) }
    }

    // MARK: Counting

    /// Adds `amount`, which may be negative, to the number of links from roots to a node.
    func countRootLink(to node: ClosureNode, _ amount: Int32) {
        func add(to entry: inout Entry) -> Bool {
            // Only an entry that is new has no links and no level.
            defer { entry.rootLinks += amount }
            return entry.rootLinks == 0 && entry.level == 0
        }
        if add(to: &entries[node, default: Entry()]) { refile(node.object) }
    }

    /// Drops the supporting predecessor of a node, because roots link to it now.
    func supportByRoots(_ node: ClosureNode) {
        entries[node]?.level = 1
        entries[node]?.support = nil
    }

    func setSupport(of node: ClosureNode, to support: ClosureNode) { entries[node]?.support = support }

    /// Deletes an entry that is not a node and that no root links to.
    func forgetIfIdle(_ node: ClosureNode) {
        if let entry = entries[node], entry.level == 0, entry.rootLinks == 0 {
            refile(node.object)
            entries[node] = nil
        }
    }

    /// Finds a node that links to `node` in the state of `source` and has a level below `bound`; nil if there is none.
    func predecessor(of node: ClosureNode, below bound: Int32, in source: any ObjectSource) throws -> ClosureNode? {
        for arrival in plan.states[node.state].arrivals where !plan.states[arrival.source].isRoot {
            var found: ClosureNode?
            try source.backlinks(to: node.object, fromClass: arrival.sourceClass, property: arrival.property) { key in
                let candidate = ClosureNode(ObjectRef(arrival.sourceClass, key), arrival.source)
                let level = level(candidate)
                if level > 0, level < bound { found = candidate }
                return found == nil
            }
            if let found { return found }
        }
        return nil
    }
}
