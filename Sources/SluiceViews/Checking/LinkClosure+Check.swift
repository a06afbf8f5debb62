import SluiceModel
import SluiceQuery

extension LinkClosure {
    /// What is wrong with the spanning forest: the counts of root links, the levels and the supports.
    func problems(roots: [ObjectRef], in source: any ObjectSource) throws -> [String] {
        var rootLinks: [ClosureNode: Int32] = [:]
        for root in roots {
            guard let state = plan.rootState(ofClass: root.classIndex), let row = try source.row(root) else { continue }
            plan.forEachTarget(of: row, in: state) { rootLinks[$0, default: 0] += 1 }
        }
        var problems: [String] = []
        for node in Set(rootLinks.keys).union(entries.keys) {
            let entry = entries[node] ?? Entry()
            if entry.rootLinks != rootLinks[node, default: 0] {
                problems.append("counts \(entry.rootLinks) links from roots to \(node), not \(rootLinks[node] ?? 0)")
            }
            if let problem = try problem(of: node, entry, in: source) { problems.append("\(node): \(problem)") }
        }
        return problems
    }

    private func problem(of node: ClosureNode, _ entry: Entry, in source: any ObjectSource) throws -> String? {
        let isPresent = try source.isPresent(node.object)
        if entry.level == 0 {
            return entry.support == nil && entry.rootLinks > 0 && !isPresent ? nil : "is idle"
        }
        guard isPresent else { return "is not here" }
        if entry.rootLinks > 0 {
            return entry.support == nil && entry.level == 1 ? nil : "has a support and needs none"
        }
        guard let support = entry.support, let row = try source.row(support.object) else { return "has no support" }
        var leads = false
        plan.forEachTarget(of: row, in: support.state) { leads = leads || $0 == node }
        guard leads else { return "its support does not lead to it" }
        let level = level(support)
        return level > 0 && level < entry.level ? nil : "its support is not below it"
    }
}
