package import SluiceModel

/// The groups that a server shows of a query, as one who reads them knows them: in their order and by their keys, so that a
/// change costs what it changes and not what there is.
package struct KnownGroups: Sendable {
    package let aggregates: Query.Aggregates
    /// The groups in the order of the query.
    package private(set) var groups: [GroupFigures]
    /// The columns of each of ``groups``.
    private var columns: [[Value]]
    /// The groups in the form in which they are stored. A group that stays keeps its place, unless the last one takes that
    /// of a group that is gone: so whoever stores them writes few.
    package private(set) var values: [Value]
    /// The keys of the groups in ``values``, and where they are.
    private var keys: [[Value]]
    private var places: [[Value]: Int]

    /// - Parameter values: as ``Query/Aggregates/values(of:)`` gives them.
    /// - Returns: nil if they cannot be of this query.
    /// - Complexity: O(n log n) for n groups.
    package init?(_ aggregates: Query.Aggregates, _ values: [Value]) {
        guard let groups = aggregates.groups(values) else { return nil }
        self.aggregates = aggregates
        // In the types that the query's paths have.
        self.values = aggregates.values(of: groups)
        keys = groups.map(\.keys)
        places = Dictionary(groups.indices.map { (groups[$0].keys, $0) }) { $1 }
        guard places.count == groups.count else { return nil }
        let sorted = groups.map { ($0, aggregates.columns(of: $0)) }.sorted { aggregates.compare($0.1, $1.1) < 0 }
        self.groups = sorted.map(\.0)
        columns = sorted.map(\.1)
    }

    /// Brings them up to a change.
    ///
    /// - Parameter change: as ``FigureChange/values`` gives it.
    /// - Returns: false, and nothing has changed, if the change cannot be of this query.
    /// - Complexity: O(change · log n) for n groups, and O(n) to move what stands behind.
    package mutating func apply(_ change: [Value]) -> Bool {
        guard aggregates.isGrouped else {
            guard let whole = KnownGroups(aggregates, change) else { return false }
            self = whole
            return true
        }
        guard let change = aggregates.change(change) else { return false }
        let added = Set(change.changed.map(\.keys).filter { places[$0] == nil })
        let removed = Set(change.removed)
        guard removed.count == change.removed.count,
            removed.allSatisfy({ places[$0] != nil || added.contains($0) }),
            places.count + added.count - removed.count
                <= min(aggregates.limit ?? .max, Query.Aggregates.groupCountMax)
        else { return false }
        for group in change.changed { put(group) }
        for keys in change.removed { remove(keys) }
        return true
    }

    private mutating func put(_ group: GroupFigures) {
        if let place = places[group.keys] {
            if values[place] == group.value { return }
            if let former = GroupFigures(values[place]) { removeFromOrder(former) }
            values[place] = group.value
        } else {
            places[group.keys] = values.count
            values.append(group.value)
            keys.append(group.keys)
        }
        let shown = aggregates.columns(of: group)
        let position = position(of: shown)
        groups.insert(group, at: position)
        columns.insert(shown, at: position)
    }

    private mutating func remove(_ gone: [Value]) {
        guard let place = places.removeValue(forKey: gone) else { return }
        if let former = GroupFigures(values[place]) { removeFromOrder(former) }
        let (value, last) = (values.removeLast(), keys.removeLast())
        guard place < values.count else { return }
        values[place] = value
        keys[place] = last
        places[last] = place
    }

    private mutating func removeFromOrder(_ group: GroupFigures) {
        let position = position(of: aggregates.columns(of: group))
        groups.remove(at: position)
        columns.remove(at: position)
    }

    /// Where columns stand, or belong.
    private func position(of shown: [Value]) -> Int {
        var (low, high) = (0, columns.count)
        while low < high {
            let middle = (low + high) / 2
            if aggregates.compare(columns[middle], shown) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
