import SluiceModel
package import SluiceQuery

/// Finds the views that a commit could concern. The cost grows with the number found and not with the number of views.
package struct ViewIndex {
    private struct Filed {
        let view: LiveView
        let placement: FilingTable.Placement
    }

    /// The views by number, which is the order of filing.
    private var views: [UInt64: Filed] = [:]
    private var numbers: [ObjectIdentifier: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var table = FilingTable()
    private var members = MemberTable()

    package init() {}

    /// How many views are filed.
    package var count: Int { views.count }

    /// Files an active view. The cost grows with the view's conditions and linked objects.
    package mutating func insert(_ view: LiveView) {
        lastNumber += 1
        views[lastNumber] = Filed(view: view, placement: table.insert(Filing(view), lastNumber))
        numbers[ObjectIdentifier(view)] = lastNumber
        members.insert(view, lastNumber)
    }

    /// Removes a view; nothing happens if it is not filed.
    package mutating func remove(_ view: LiveView) {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(view)),
            let filed = views.removeValue(forKey: number)
        else { return }
        table.remove(filed.placement, number)
        members.remove(view, number)
    }

    /// Files a view anew after a commit changed what it holds. The cost grows with the linked objects that it has come
    /// to hold or ceased to hold.
    package mutating func update(_ view: LiveView) {
        guard let number = numbers[ObjectIdentifier(view)] else { return }
        members.update(view, number)
    }

    /// The views that the commit could concern, each once, in the order of filing.
    ///
    /// - Parameters:
    ///   - source: the state after the commit.
    ///   - before: the state before it.
    /// - Throws: the errors of `source`.
    package func candidates(
        for commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource
    ) throws -> [LiveView] {
        guard let schema = views.values.first?.view.schema else { return [] }
        var found: Set<UInt64> = []
        for change in commit.changes {
            func find(_ number: UInt64) {
                guard !found.contains(number), let view = views[number]?.view,
                    let properties = view.concernedProperties[change.object.classIndex], change.concerns(properties)
                else { return }
                found.insert(number)
            }
            table.forEachCandidate(of: change, schema: schema, find)
            table.forEachCandidate(of: change, in: source, before: before, find)
            try members.forEachCandidate(of: change, schema: schema, in: source, find)
        }
        return found.sorted().compactMap { views[$0]?.view }
    }
}
