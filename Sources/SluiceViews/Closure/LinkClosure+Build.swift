import SluiceModel
import SluiceQuery

extension LinkClosure {
    /// Counts the links of one root. Call it for all roots, and then ``finishBuilding(in:)``.
    func addRoot(_ row: Row, ofClass classIndex: Int) {
        guard let state = plan.rootState(ofClass: classIndex) else { return }
        plan.forEachTarget(of: row, in: state) { countRootLink(to: $0, 1) }
    }

    /// Counts the links of all roots of a class. Call it instead of ``addRoot(_:ofClass:)``.
    func addRoots(matching query: Query, in source: any ViewSource) throws {
        guard let state = plan.rootState(ofClass: query.classIndex) else { return }
        let steps = plan.states[state].steps
        try source.links(fromMatchesOf: query, through: plan.states[state].followed) { property, key, count in
            for step in steps where step.property == property {
                countRootLink(to: ClosureNode(ObjectRef(step.targetClass, key), step.target), Int32(clamping: count))
            }
        }
    }

    /// Adds everything that the links of the roots lead to, directly or indirectly.
    func finishBuilding(in source: any ObjectSource) throws {
        var queue: [ClosureNode] = []
        for node in entries.keys where try source.isPresent(node.object) { queue.append(node) }
        for node in queue { add(node, level: 1, support: nil) }
        try expand(queue, in: source)
        beginStep()
    }

    /// Adds all present objects that are reachable from the given nodes and are not nodes yet, breadth first.
    func expand(_ nodes: [ClosureNode], in source: any ObjectSource) throws {
        var queue = nodes
        var next = 0
        while next < queue.count {
            let node = queue[next]
            next += 1
            let level = level(node)
            guard level > 0, !plan.states[node.state].steps.isEmpty, let row = try source.row(node.object) else {
                continue
            }
            var targets: [ClosureNode] = []
            plan.forEachTarget(of: row, in: node.state) { if self.level($0) == 0 { targets.append($0) } }
            for target in targets where self.level(target) == 0 {
                guard try source.isPresent(target.object) else { continue }
                add(target, level: level + 1, support: node)
                queue.append(target)
            }
        }
    }
}
