package import SluiceModel
package import SluiceQuery

/// Finds the results that changed only through their links: a link path that the query follows leads from them to a
/// changed object.
package struct DeepDependency: Sendable {
    private let plan: ClosurePlan

    /// - Parameters:
    ///   - query: the query whose results are observed.
    ///   - rootClass: the class of the object, for a query of one object by its id.
    ///   - schema: the schema that the query was checked against.
    package init(_ query: Query, rootClass: Int? = nil, schema: Schema) {
        plan = ClosurePlan(
            rootClasses: [rootClass ?? query.classIndex], exclusions: query.exclusions, schema: schema)
    }

    /// Finds the results from which a link path leads to a changed object. It walks links backwards with the closure
    /// plan as automaton, and visits each object once for each state, so cycles end.
    ///
    /// - Parameters:
    ///   - commit: the changed objects. An object that stopped linking to one of them is itself among them.
    ///   - source: the state after the changes.
    ///   - visitCountMax: how many objects the walk may visit.
    ///   - isRoot: whether an object is among the results.
    /// - Returns: the results; nil when the walk exceeded `visitCountMax`, so that any result may have changed.
    package func affectedRoots(
        by commit: CommitDelta, in source: any ObjectSource, visitCountMax: Int = 100_000,
        isRoot: (ObjectRef) throws -> Bool
    ) throws -> Set<ObjectRef>? {
        var roots: Set<ObjectRef> = []
        var seen: Set<ClosureNode> = []
        var queue: [ClosureNode] = []
        for change in commit.changes {
            for state in plan.linkedStates(ofClass: change.object.classIndex)
            where change.concerns(plan.states[state].included) {
                let node = ClosureNode(change.object, state)
                if seen.insert(node).inserted { queue.append(node) }
            }
        }
        while let node = queue.popLast() {
            for arrival in plan.states[node.state].arrivals {
                var isWithinBounds = true
                try source.backlinks(to: node.object, fromClass: arrival.sourceClass, property: arrival.property) {
                    key in
                    let owner = ClosureNode(ObjectRef(arrival.sourceClass, key), arrival.source)
                    guard seen.insert(owner).inserted else { return true }
                    if plan.states[arrival.source].isRoot {
                        if try isRoot(owner.object) { roots.insert(owner.object) }
                    } else {
                        queue.append(owner)
                    }
                    isWithinBounds = seen.count <= visitCountMax
                    return isWithinBounds
                }
                guard isWithinBounds else { return nil }
            }
        }
        return roots
    }
}
