import SluiceModel
import SluiceQuery

/// The rows that a window holds, in order.
///
/// Most rows are told apart by the number that their first sort value has in the order. These numbers stand next to each
/// other, so a search seldom looks at a row itself.
///
/// The rows are stored from the last to the first. What comes into a window, leaves it or moves is mostly among its
/// first rows, and then only the few rows before it are shifted, and not the many behind it.
struct WindowRows {
    /// The last row first.
    private var stored: [WindowEntry] = []
    private var ranks: [UInt64] = []

    var count: Int { stored.count }
    var isEmpty: Bool { stored.isEmpty }
    var last: WindowEntry? { stored.first }

    /// The rows in order.
    var entries: ReversedCollection<[WindowEntry]> { stored.reversed() }

    subscript(index: Int) -> WindowEntry { stored[stored.count - 1 - index] }

    /// Finds the index of the row at a place, or the index that it would have.
    func find(_ place: inout WindowPlace, _ order: WindowOrder) -> (index: Int, isHeld: Bool) {
        let ranks = ranks.span
        let last = ranks.count - 1
        let rank = place.rank
        var low = 0
        var high = ranks.count
        while low < high {
            let middle = (low + high) / 2
            let found = ranks[last - middle]
            var side = found < rank ? -1 : 1
            if found == rank {
                side = order.compare(stored[last - middle], &place)
                if side == 0 { return (middle, true) }
            }
            if side < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    /// Adds rows behind the last one. O(rows).
    mutating func append(_ entries: [WindowEntry]) {
        stored.insert(contentsOf: entries.reversed(), at: 0)
        ranks.insert(contentsOf: entries.reversed().lazy.map(\.rank), at: 0)
    }

    /// Removes rows and adds others. O(rows before them) for a few, and O(rows + n log n) for n of them.
    ///
    /// - Parameters:
    ///   - indices: the rows to remove, each once.
    ///   - entries: the rows to add, in any order.
    mutating func replace(_ indices: [Int], by entries: [WindowEntry], _ order: WindowOrder) {
        guard indices.count + entries.count > Self.fewCount else {
            for index in indices.sorted(by: >) { remove(at: index) }
            for entry in entries {
                var place = WindowPlace(entry)
                let index = find(&place, order).index
                insert(WindowEntry(place), at: index)
            }
            return
        }
        let removed = Set(indices)
        let added = order.sorted(entries)
        var rest = added[...]
        var merged: [WindowEntry] = []
        merged.reserveCapacity(count - removed.count + added.count)
        for (index, entry) in self.entries.enumerated() where !removed.contains(index) {
            while let next = rest.first, order.compare(next, entry) < 0 { merged.append(rest.removeFirst()) }
            merged.append(entry)
        }
        merged += rest
        stored = merged.reversed()
        ranks = stored.map(\.rank)
    }

    /// So many rows are moved one by one.
    private static let fewCount = 8

    /// Adds a row. O(rows before it).
    private mutating func insert(_ entry: WindowEntry, at index: Int) {
        stored.insert(entry, at: stored.count - index)
        ranks.insert(entry.rank, at: ranks.count - index)
    }

    /// Removes a row. O(rows before it).
    private mutating func remove(at index: Int) {
        stored.remove(at: stored.count - 1 - index)
        ranks.remove(at: ranks.count - 1 - index)
    }

    /// Drops all rows from an index on.
    mutating func removeAll(from index: Int) {
        stored.removeFirst(stored.count - index)
        ranks.removeFirst(ranks.count - index)
    }
}
