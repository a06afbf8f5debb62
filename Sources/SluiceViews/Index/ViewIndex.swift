import SluiceModel
import SluiceQuery

/// Finds the views that a commit could concern. The cost grows with the number found and not with the number of views.
package struct ViewIndex {
    private struct Filed {
        let view: LiveView
        let filing: Filing
    }

    /// The views by number, which is the order of filing.
    private var views: [UInt64: Filed] = [:]
    private var numbers: [ObjectIdentifier: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var table = FilingTable()

    package init() {}

    /// How many views are filed.
    package var count: Int { views.count }

    /// Files a view. Costs O(classes that concern it).
    package mutating func insert(_ view: LiveView) {
        lastNumber += 1
        let filing = Filing(view)
        views[lastNumber] = Filed(view: view, filing: filing)
        numbers[ObjectIdentifier(view)] = lastNumber
        table.insert(filing, lastNumber)
    }

    /// Removes a view; nothing happens if it is not filed.
    package mutating func remove(_ view: LiveView) {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(view)),
            let filing = views.removeValue(forKey: number)?.filing
        else { return }
        table.remove(filing, number)
    }

    /// The views that the commit could concern, each once, in the order of filing.
    package func candidates(for commit: CommitDelta) -> [LiveView] {
        guard let schema = views.values.first?.view.schema else { return [] }
        var found: Set<UInt64> = []
        for change in commit.changes {
            table.forEachCandidate(of: change, schema: schema) { number in
                guard !found.contains(number), let view = views[number]?.view,
                    let properties = view.concernedProperties[change.object.classIndex], change.concerns(properties)
                else { return }
                found.insert(number)
            }
        }
        return found.sorted().compactMap { views[$0]?.view }
    }
}
