import SluiceModel
import Testing

@testable import SluiceViews

extension LinkClosure {
    /// Checks the spanning forest against the state: the counts of root links, the levels and the supports.
    func checkInvariants(roots: [ObjectRef], in source: MemorySource, context: String) {
        var rootLinks: [ClosureNode: Int32] = [:]
        for root in roots {
            guard let state = plan.rootStates[root.classIndex], let row = source.row(root) else { continue }
            plan.forEachTarget(of: row, in: state) { rootLinks[$0, default: 0] += 1 }
        }
        for node in Set(rootLinks.keys).union(entries.keys) {
            let entry = entries[node] ?? Entry()
            #expect(entry.rootLinks == rootLinks[node, default: 0], "\(context): links from roots to \(node)")
            let isPresent = source.isPresent(node.object)
            if entry.level == 0 {
                #expect(entry.support == nil && entry.rootLinks > 0 && !isPresent, "\(context): \(node) is idle")
            } else if entry.rootLinks > 0 {
                #expect(entry.level >= 1 && isPresent, "\(context): \(node) is not here")
                #expect(entry.support == nil && entry.level == 1, "\(context): \(node) needs no support")
            } else {
                guard let support = entry.support, let row = source.row(support.object), isPresent else {
                    Issue.record("\(context): \(node) has no support")
                    continue
                }
                var leads = false
                plan.forEachTarget(of: row, in: support.state) { leads = leads || $0 == node }
                #expect(leads, "\(context): the support of \(node) does not lead to it")
                let level = level(support)
                #expect(level > 0 && level < entry.level, "\(context): the support of \(node) is not below it")
            }
        }
    }
}
