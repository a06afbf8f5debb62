import SluiceModel
import SluiceQuery

extension LinkClosure {
    /// Brings the closure to the state of `source`.
    ///
    /// - Parameters:
    ///   - commit: the commit group between the two states.
    ///   - roots: every object whose role as a root changed, and every changed object that was or is a root.
    ///   - changesLinked: whether the group changes objects of a class that links lead to.
    ///   - source: the state after the group.
    ///   - before: the state before it.
    func apply(
        _ commit: CommitDelta, roots: [RootChange], changesLinked: Bool, in source: any ObjectSource,
        before: OldStateSource
    ) throws {
        beginStep()
        let counts = try countedLinks(commit, roots, in: source, before: before)
        guard changesLinked || !plan.isFlat else { return try applyFlat(counts, in: source) }
        var step = ClosureStep(counts)
        for (node, amount) in step.counts { countRootLink(to: node, amount) }
        if changesLinked { try unlinkChanged(commit, step: &step) }
        sortOut(&step)
        try findSupports(&step, in: source, before: before)
        try rederive(&step, commit, in: source)
        try expand(step.frontier, in: source)
    }

    /// How the numbers of links from roots change. Roots that enter a view often link to the same objects as those that
    /// leave it.
    private func countedLinks(
        _ commit: CommitDelta, _ roots: [RootChange], in source: any ObjectSource, before: OldStateSource
    ) throws -> ClosureCounts {
        var counts = ClosureCounts()
        for root in roots {
            guard let state = plan.rootState(ofClass: root.object.classIndex), !plan.states[state].steps.isEmpty else {
                continue
            }
            if root.wasRoot, root.isRoot {
                guard let change = commit.change(of: root.object), change.changed.meets(plan.states[state].followed)
                else { continue }
            }
            if root.wasRoot, let row = try before.row(root.object) {
                plan.forEachTarget(of: row, in: state) { counts.update($0, default: 0) { $0 -= 1 } }
            }
            if root.isRoot, let row = try source.row(root.object) {
                plan.forEachTarget(of: row, in: state) { counts.update($0, default: 0) { $0 += 1 } }
            }
        }
        return counts
    }

    /// Updates the nodes of changed objects: a node that they supported and no longer link to loses its support.
    private func unlinkChanged(_ commit: CommitDelta, step: inout ClosureStep) throws {
        for change in commit.changes {
            for state in plan.linkedStates(ofClass: change.object.classIndex) {
                let node = ClosureNode(change.object, state)
                guard level(node) > 0, let old = change.old else { continue }
                guard let new = change.new else {
                    suspend(node, oldRow: old, step: &step)
                    continue
                }
                guard change.changed.meets(plan.states[state].followed) else { continue }
                var kept: Set<ClosureNode> = []
                plan.forEachTarget(of: new, in: state) { kept.insert($0) }
                plan.forEachTarget(of: old, in: state) { target in
                    if !kept.contains(target), let entry = entries[target], entry.support == node {
                        step.pend(target, level: entry.level)
                    }
                }
                step.frontier.append(node)
            }
        }
    }

    /// Decides what the changed counts of links from roots mean for their nodes.
    private func sortOut(_ step: inout ClosureStep) {
        for (node, _) in step.counts {
            guard let entry = entries[node] else { continue }
            switch (entry.level, entry.rootLinks) {
            case (0, 0): forgetIfIdle(node)
            case (0, _): step.newcomers.append(node)
            case (1, 0): step.pend(node, level: 1)
            case (1, _): break
            case (_, 0): break
            default: supportByRoots(node)
            }
        }
    }

    /// Removes a node for now; the nodes that it supports must find another support.
    private func suspend(_ node: ClosureNode, oldRow: Row?, step: inout ClosureStep) {
        if let oldRow {
            plan.forEachTarget(of: oldRow, in: node.state) { target in
                if let entry = entries[target], entry.support == node { step.pend(target, level: entry.level) }
            }
        }
        remove(node)
    }

    /// Finds another support of lower level for each node that lost its own, level by level, and suspends the nodes for
    /// which there is none.
    ///
    /// When a node is examined, all pending nodes of lower levels have been decided, so every predecessor of lower
    /// level is reachable.
    private func findSupports(
        _ step: inout ClosureStep, in source: any ObjectSource, before: OldStateSource
    ) throws {
        var level = 0
        while level < step.pending.count {
            var index = 0
            while index < step.pending[level].count {
                let node = step.pending[level][index]
                index += 1
                guard let entry = entries[node], Int(entry.level) == level else { continue }
                if level == 1, entry.rootLinks > 0 { continue }
                if level > 1, let support = try predecessor(of: node, below: entry.level, in: source) {
                    setSupport(of: node, to: support)
                    continue
                }
                let hasSteps = !plan.states[node.state].steps.isEmpty
                suspend(node, oldRow: hasSteps ? try before.row(node.object) : nil, step: &step)
                step.suspended.append(node)
            }
            level += 1
        }
    }

    /// Adds the suspended nodes and the created objects that a remaining node still leads to.
    private func rederive(
        _ step: inout ClosureStep, _ commit: CommitDelta, in source: any ObjectSource
    ) throws {
        for change in commit.changes where change.old == nil && change.new != nil {
            for state in plan.linkedStates(ofClass: change.object.classIndex) {
                step.suspended.append(ClosureNode(change.object, state))
            }
        }
        if step.newcomers.isEmpty, step.suspended.isEmpty { return }
        for node in step.newcomers + step.suspended {
            guard level(node) == 0, try source.isPresent(node.object) else { continue }
            if let entry = entries[node], entry.rootLinks > 0 {
                add(node, level: 1, support: nil)
            } else if let support = try predecessor(of: node, below: .max, in: source) {
                add(node, level: level(support) + 1, support: support)
            } else {
                continue
            }
            step.frontier.append(node)
        }
    }
}

/// How the numbers of links from roots to nodes change, in the order of the first change.
typealias ClosureCounts = SmallMap<ClosureNode, Int32>

/// The work in progress while a commit group is applied to a closure.
struct ClosureStep {
    /// How the counts of links from roots change, by node.
    let counts: [(node: ClosureNode, amount: Int32)]
    /// Objects that roots now link to, and that are nodes if they are present.
    var newcomers: [ClosureNode] = []
    /// Nodes that lost their support, by their level.
    var pending: [[ClosureNode]] = []
    /// Nodes for which no support of lower level was found, and created objects.
    var suspended: [ClosureNode] = []
    /// Nodes whose links must be followed.
    var frontier: [ClosureNode] = []

    init(_ counts: ClosureCounts) {
        self.counts = counts.entries.lazy.filter { $0.element != 0 }.map { ($0.key, $0.element) }
    }

    mutating func pend(_ node: ClosureNode, level: Int32) {
        while pending.count <= Int(level) { pending.append([]) }
        pending[Int(level)].append(node)
    }
}
