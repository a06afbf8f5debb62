import SluiceModel
import SluiceQuery

/// The first rows of a sorted query with a limit, and some more beyond it.
///
/// Everything that matches up to `boundary` is held; as long as the rows held suffice for the limit, no change asks the
/// source for anything.
struct Window {
    struct Entry {
        let position: SortPosition
        let object: ObjectRef
    }

    let limit: Int
    let order: SortOrder
    /// How many rows a refill brings the window to.
    let capacity: Int
    private(set) var entries: [Entry] = []
    private(set) var positions: [ObjectRef: SortPosition] = [:]
    /// The last position up to which everything is held; nil if everything is.
    private(set) var boundary: SortPosition?

    /// - Parameter overscan: how many rows beyond the limit a refill brings in; nil for as many as the limit, but at
    ///   least 16 and at most 256.
    init(limit: Int, order: SortOrder, overscan: Int?) {
        self.limit = limit
        self.order = order
        let (capacity, overflows) = limit.addingReportingOverflow(overscan ?? Swift.min(Swift.max(limit, 16), 256))
        self.capacity = overflows ? .max : capacity
    }

    /// The objects within the limit, in order.
    var members: some Collection<ObjectRef> { entries.prefix(limit).lazy.map(\.object) }

    /// The last position within the limit; nil if every row held is within it.
    var limitPosition: SortPosition? {
        guard limit > 0 else { return nil }
        return entries.count >= limit ? entries[limit - 1].position : nil
    }

    func contains(_ object: ObjectRef) -> Bool {
        guard let position = positions[object] else { return false }
        return isWithin(position, limitPosition)
    }

    /// Whether a position is not beyond `last`, where nil is the end of everything.
    func isWithin(_ position: SortPosition, _ last: SortPosition?) -> Bool {
        guard limit > 0 else { return false }
        guard let last else { return true }
        return !order.precedes(last, position)
    }

    /// Puts an object where it belongs now; nil if it no longer matches.
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

    /// Whether fewer rows are held than the limit allows while the source may have more.
    var needsRefill: Bool { boundary != nil && entries.count < limit }

    /// Adds rows that follow the boundary, in order; fewer than asked for mean that there are no more.
    mutating func refill(with rows: [Entry], asked: Int) {
        for row in rows {
            entries.append(row)
            positions[row.object] = row.position
        }
        boundary = rows.count < asked ? nil : entries.last?.position
    }

    /// Lets go of rows far beyond the limit.
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
