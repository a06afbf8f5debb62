import SluiceModel
import SluiceQuery

/// The rows that a window holds, in order.
///
/// Most rows are told apart by the number that their first sort value has in the order. These numbers stand next to each
/// other, so a search seldom looks at a row itself.
struct WindowRows {
    private(set) var entries: [WindowEntry] = []
    private var ranks: [UInt64] = []

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var last: WindowEntry? { entries.last }

    subscript(index: Int) -> WindowEntry { entries[index] }

    /// Finds the index of the row at a place, or the index that it would have.
    func find(_ place: inout WindowPlace, _ order: WindowOrder) -> (index: Int, isHeld: Bool) {
        let ranks = ranks.span
        let rank = place.rank
        var low = 0
        var high = ranks.count
        while low < high {
            let middle = (low + high) / 2
            var side = ranks[middle] < rank ? -1 : 1
            if ranks[middle] == rank {
                side = order.compare(entries[middle], &place)
                if side == 0 { return (middle, true) }
            }
            if side < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    mutating func reserveCapacity(_ count: Int) {
        entries.reserveCapacity(count)
        ranks.reserveCapacity(count)
    }

    mutating func append(_ entry: WindowEntry) {
        entries.append(entry)
        ranks.append(entry.rank)
    }

    mutating func insert(_ entry: WindowEntry, at index: Int) {
        entries.insert(entry, at: index)
        ranks.insert(entry.rank, at: index)
    }

    mutating func remove(at index: Int) {
        entries.remove(at: index)
        ranks.remove(at: index)
    }

    /// Drops all rows from an index on.
    mutating func removeAll(from index: Int) {
        entries.removeSubrange(index...)
        ranks.removeSubrange(index...)
    }
}
