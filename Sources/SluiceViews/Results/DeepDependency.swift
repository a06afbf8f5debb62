package import SluiceModel
package import SluiceQuery

/// Finds the results that lead to changed objects: whose content, seen through links that are followed and not
/// excluded, changed although they themselves did not.
package struct DeepDependency: Sendable {
    private let plan: ClosurePlan

    /// - Parameters:
    ///   - query: a query over a class; of one for a single object the class is `rootClass`.
    ///   - schema: the schema that the query was checked against.
    package init(_ query: Query, rootClass: Int? = nil, schema: Schema) {
        plan = ClosurePlan(
            rootClasses: [rootClass ?? query.classIndex], exclusions: query.exclusions, schema: schema)
    }

    /// The properties of linked objects of a class that results may show.
    package func properties(ofClass classIndex: Int) -> PropertySet {
        var union = PropertySet()
        for state in plan.linkedStates[classIndex] ?? [] { union.formUnion(plan.states[state].included) }
        return union
    }

    /// The results from which a link path leads to a changed object, walking links backwards with the exclusion tree as
    /// automaton; each object is visited once for each position, so cycles end.
    ///
    /// - Parameters:
    ///   - commit: the changed objects. What stopped leading to one of them is itself among the changed.
    ///   - source: the state after the changes.
    ///   - visitCountMax: how many objects the walk may visit.
    ///   - isRoot: whether an object is among the results.
    /// - Returns: the results, or nil when the walk grew beyond `visitCountMax`: then any result may have changed.
    package func affectedRoots(
        by commit: CommitDelta, in source: any ObjectSource, visitCountMax: Int = 100_000,
        isRoot: (ObjectRef) throws -> Bool
    ) throws -> Set<ObjectRef>? {
        var roots: Set<ObjectRef> = []
        var seen: Set<ClosureNode> = []
        var queue: [ClosureNode] = []
        for change in commit.changes {
            for state in plan.linkedStates[change.object.classIndex] ?? []
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
