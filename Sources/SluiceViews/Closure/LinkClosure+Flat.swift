import SluiceModel
import SluiceQuery

extension LinkClosure {
    /// Does the same as ``apply(_:roots:changesLinked:in:before:)`` where no links are followed from linked objects and the group
    /// changes none of these: an object is linked as long as a root links to it.
    ///
    /// - Parameter counts: how the numbers of links from roots change.
    func applyFlat(_ counts: ClosureCounts, in source: any ObjectSource) throws {
        for (node, amount) in counts.entries where amount != 0 {
            guard let index = entries.index(forKey: node) else {
                let isPresent = try source.isPresent(node.object)
                addFlat(node, Entry(rootLinks: amount, level: isPresent ? 1 : 0))
                continue
            }
            if countFlat(at: index, amount) == 0 { removeFlat(at: index) }
        }
    }
}
