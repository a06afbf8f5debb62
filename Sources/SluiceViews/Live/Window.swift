import SluiceModel
import SluiceQuery

/// Holds the first rows of a sorted query with a limit, and some more beyond the limit.
///
/// The window holds all matches up to `boundary`. As long as these suffice for the limit, no change has to read from
/// the source.
struct Window {
    struct Entry {
        let position: SortPosition
        let object: ObjectRef
    }

    let limit: Int
    let order: SortOrder
    /// How many rows the window holds after a refill, if there are that many.
    let capacity: Int
    private(set) var entries: [Entry] = []
    private(set) var positions: [ObjectRef: SortPosition] = [:]
    /// The last position up to which all matches are held; nil if all matches are held.
    private(set) var boundary: SortPosition?

    /// - Parameter overscan: how many rows beyond the limit a refill reads; nil for as many as the limit, but at least
    ///   16 and at most 256.
    init(limit: Int, order: SortOrder, overscan: Int?) {
        self.limit = limit
        self.order = order
        let (capacity, overflows) = limit.addingReportingOverflow(overscan ?? Swift.min(Swift.max(limit, 16), 256))
        self.capacity = overflows ? .max : capacity
    }

    /// The objects within the limit, in order.
    var members: some Collection<ObjectRef> { entries.prefix(limit).lazy.map(\.object) }

    /// The last position within the limit; nil if all held rows are within it.
    var limitPosition: SortPosition? {
        guard limit > 0 else { return nil }
        return entries.count >= limit ? entries[limit - 1].position : nil
    }

    func contains(_ object: ObjectRef) -> Bool {
        guard let position = positions[object] else { return false }
        return isWithin(position, limitPosition)
    }

    /// Whether a position is not beyond `last`; a nil `last` is the end of all rows.
    func isWithin(_ position: SortPosition, _ last: SortPosition?) -> Bool {
        guard limit > 0 else { return false }
        guard let last else { return true }
        return !order.precedes(last, position)
    }

    /// Moves an object to its current position; nil if it no longer matches.
    mutating func place(_ object: ObjectRef, at position: SortPosition?) {
        if let old = positions[object] {
            if old == position { return }
            entries.remove(at: firstIndex(notBefore: old))
            positions[object] = nil
        }
        guard let position else { return }
        if let boundary, order.precedes(boundary, position) { return }
        entries.insert(Entry(position: position, object: object), at: firstIndex(notBefore: position))
        positions[object] = position
    }

    /// The index of the first entry that does not precede `position`.
    func firstIndex(notBefore position: SortPosition) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if order.precedes(entries[middle].position, position) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the window holds fewer rows than the limit while the source may have more.
    var needsRefill: Bool { boundary != nil && entries.count < limit }

    /// Adds rows that follow the boundary, in order. Fewer rows than asked for mean that the source has no more.
    mutating func refill(with rows: [Entry], asked: Int) {
        for row in rows {
            entries.append(row)
            positions[row.object] = row.position
        }
        boundary = rows.count < asked ? nil : entries.last?.position
    }

    /// Drops rows far beyond the limit.
    mutating func trim() {
        guard entries.count - capacity > capacity else { return }
        for entry in entries[capacity...] { positions[entry.object] = nil }
        entries.removeSubrange(capacity...)
        boundary = entries.last?.position
    }
}

extension SortOrder {
    func precedes(_ left: SortPosition, _ right: SortPosition) -> Bool {
        precedes(left.values, left.id, right.values, right.id)
    }
}
