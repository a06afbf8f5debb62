import SluiceModel
import SluiceQuery

/// Finds the views that a commit could concern, at a cost that grows with those it finds and not with those that exist.
///
/// How a view is filed is told by ``ViewFiling``. Adding a view and taking it out cost as little as finding it.
package struct ViewIndex {
    private struct Filed {
        let view: LiveView
        let filing: ViewFiling
    }

    /// By the order of filing.
    private var views: [UInt64: Filed] = [:]
    private var numbers: [ObjectIdentifier: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    /// The views that every change of a class finds.
    private var byClass: [Int: Set<UInt64>] = [:]
    /// The views that changes of a class find by a property's value.
    private var byCondition: [Int: [Int: ConditionTable]] = [:]

    package init() {}

    /// How many views are filed.
    package var count: Int { views.count }

    /// Files a view. Costs O(classes that concern it).
    package mutating func insert(_ view: LiveView) {
        lastNumber += 1
        let filing = ViewFiling(view)
        views[lastNumber] = Filed(view: view, filing: filing)
        numbers[ObjectIdentifier(view)] = lastNumber
        for classIndex in filing.wholeClasses { byClass[classIndex, default: []].insert(lastNumber) }
        if let condition = filing.condition {
            byCondition[view.query.classIndex, default: [:]][condition.property, default: ConditionTable()]
                .insert(condition.test, lastNumber)
        }
    }

    /// Takes a view out again; nothing happens if it is not filed.
    package mutating func remove(_ view: LiveView) {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(view)),
            let filing = views.removeValue(forKey: number)?.filing
        else { return }
        for classIndex in filing.wholeClasses {
            byClass[classIndex]?.remove(number)
            if byClass[classIndex]?.isEmpty == true { byClass[classIndex] = nil }
        }
        guard let condition = filing.condition else { return }
        let classIndex = view.query.classIndex
        byCondition[classIndex]?[condition.property]?.remove(condition.test, number)
        if byCondition[classIndex]?[condition.property]?.isEmpty == true {
            byCondition[classIndex]?[condition.property] = nil
        }
    }

    /// The views that the commit could concern, each once, in the order of filing.
    package func candidates(for commit: CommitDelta) -> [LiveView] {
        var found: Set<UInt64> = []
        for change in commit.changes {
            let classIndex = change.object.classIndex
            func consider(_ number: UInt64) {
                guard !found.contains(number), let view = views[number]?.view,
                    let properties = view.concernedProperties[classIndex], change.concerns(properties)
                else { return }
                found.insert(number)
            }
            for number in byClass[classIndex] ?? [] { consider(number) }
            for (property, table) in byCondition[classIndex] ?? [:] {
                guard let old = change.value(of: property, in: change.old),
                    let new = change.value(of: property, in: change.new)
                else {
                    table.forEach(consider)
                    continue
                }
                table.forEach(metBy: new, consider)
                if old != new { table.forEach(metBy: old, consider) }
            }
        }
        return found.sorted().compactMap { views[$0]?.view }
    }
}

extension ObjectDelta {
    /// A property's value in one of the images; in a missing image that of the other. Nil where an image is older than
    /// the property.
    fileprivate func value(of property: Int, in image: Row?) -> Value? {
        guard let row = image ?? new ?? old, row.values.indices.contains(property) else { return nil }
        return row.values[property]
    }
}
