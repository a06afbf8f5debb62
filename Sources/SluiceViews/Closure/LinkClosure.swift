import SluiceModel
import SluiceQuery

/// The objects that a view reaches through links, kept current without reading anything twice.
///
/// A node is an object in a state of the plan. For each node the closure counts the links from roots to it, and a node
/// without such links has one supporting predecessor of a lower level: a spanning forest after Even and Shiloach ("An
/// On-Line Edge-Deletion Problem", JACM 1981). Losing any other link costs nothing. A node that loses its support looks
/// for a predecessor of lower level; if there is none it is suspended with all that it supports, and what is suspended
/// and still reachable comes back with new levels ("delete and rederive", Gupta, Mumick and Subrahmanian, 1993).
/// Roots are not held, only counted; so are links from roots to objects that are not here.
struct LinkClosure {
    struct Entry {
        /// Links from roots to this node, repeats included.
        var rootLinks: Int32 = 0
        /// 1 for a node that roots lead to, else more than the level of its support; 0 for what is not here.
        var level: Int32 = 0
        /// The predecessor of a node that no root leads to.
        var support: ClosureNode?
    }

    let plan: ClosurePlan
    private(set) var entries: [ClosureNode: Entry] = [:]
    /// What the view included of each object before the current step, for objects whose nodes were touched; nil within
    /// for an object that was not linked.
    private(set) var touched: [ObjectRef: PropertySet?] = [:]
    /// The keys of `touched` in the order of touching.
    private(set) var touchedOrder: [ObjectRef] = []

    init(plan: ClosurePlan) {
        self.plan = plan
    }

    /// What the view includes of an object for being linked; nil if it is not linked.
    func included(_ object: ObjectRef) -> PropertySet? {
        var union: PropertySet?
        for state in plan.linkedStates[object.classIndex] ?? [] where level(ClosureNode(object, state)) > 0 {
            union = (union ?? []).union(plan.states[state].included)
        }
        return union
    }

    /// The level of a node; 0 if it is none.
    func level(_ node: ClosureNode) -> Int32 { entries[node]?.level ?? 0 }

    mutating func beginStep() {
        touched.removeAll(keepingCapacity: true)
        touchedOrder.removeAll(keepingCapacity: true)
    }

    /// Remembers what was included of an object before its first change in this step.
    private mutating func touch(_ object: ObjectRef) {
        guard touched[object] == nil else { return }
        touched.updateValue(included(object), forKey: object)
        touchedOrder.append(object)
    }

    /// Makes a node of something that is here.
    mutating func add(_ node: ClosureNode, level: Int32, support: ClosureNode?) {
        touch(node.object)
        entries[node, default: Entry()].level = level
        entries[node]?.support = support
    }

    /// Ends a node; the links from roots stay counted.
    mutating func remove(_ node: ClosureNode) {
        touch(node.object)
        guard var entry = entries[node] else { return }
        entry.level = 0
        entry.support = nil
        entries[node] = entry.rootLinks == 0 ? nil : entry
    }

    /// Counts a link from a root to a node.
    mutating func countRootLink(to node: ClosureNode, _ amount: Int32) {
        entries[node, default: Entry()].rootLinks += amount
    }

    /// Lets go of a node's supporting predecessor, because roots lead to it now.
    mutating func supportByRoots(_ node: ClosureNode) {
        entries[node]?.level = 1
        entries[node]?.support = nil
    }

    mutating func setSupport(of node: ClosureNode, to support: ClosureNode) { entries[node]?.support = support }

    /// Forgets an entry that no longer says anything.
    mutating func forgetIfIdle(_ node: ClosureNode) {
        if let entry = entries[node], entry.level == 0, entry.rootLinks == 0 { entries[node] = nil }
    }

    /// Some node that links to `node` in the state of `source` and has a level below `bound`.
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
