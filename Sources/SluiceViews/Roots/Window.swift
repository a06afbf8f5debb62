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

extension Window {
    /// Makes a window, and reads its rows.
    init(limit: Int, _ judge: RootJudge, overscan: Int?, in source: any ViewSource) throws {
        self.init(limit: limit, order: SortOrder(judge.query.sort), overscan: overscan)
        try fill(judge, in: source)
    }

    /// Reads the rows after the boundary.
    private mutating func fill(_ judge: RootJudge, in source: any ViewSource) throws {
        let wanted = capacity - entries.count
        var rows: [Entry] = []
        try source.rows(matching: judge.query, after: boundary, limit: wanted) { row in
            rows.append(
                Entry(
                    position: try judge.position(of: row, in: source),
                    object: ObjectRef(judge.query.classIndex, row.key)))
            return rows.count < wanted
        }
        refill(with: rows, asked: wanted)
    }

    /// Follows a commit group; see ``RootState/apply(_:_:in:before:)``.
    mutating func apply(
        _ commit: CommitDelta, _ judge: RootJudge, in source: any ViewSource
    ) throws -> [RootChange] {
        let affected = try judge.affected(by: commit, in: source)
        let oldLimit = limitPosition
        var moved: [ObjectRef: MovedRoot] = [:]
        var order: [ObjectRef] = []
        func place(_ object: ObjectRef, _ row: Row?) throws {
            let wasMember = positions[object].map { isWithin($0, oldLimit) } ?? false
            var newPosition: SortPosition?
            if let row, try judge.matches(row, in: source) { newPosition = try judge.position(of: row, in: source) }
            self.place(object, at: newPosition)
            moved[object] = MovedRoot(wasMember: wasMember, isPresent: row != nil, matches: newPosition != nil)
            order.append(object)
        }
        let moves = try judge.moves(commit, affected, in: source)
        let unmoved = moves.others.filter { positions[$0] != nil }
        for move in moves.moved { try place(move.object, move.row) }
        if needsRefill { try fill(judge, in: source) }

        var changes: [RootChange] = []
        for object in order {
            guard let move = moved[object] else { continue }
            let isMember = contains(object)
            guard move.wasMember || isMember else { continue }
            changes.append(
                RootChange(
                    object: object, wasRoot: move.wasMember, isRoot: isMember, reason: move.reason,
                    causes: affected.causes(of: object)))
        }
        for crossing in crossings(from: oldLimit) where moved[crossing.object] == nil { changes.append(crossing) }
        if !unmoved.isEmpty {
            let crossed = Set(changes.lazy.map(\.object))
            for object in unmoved where !crossed.contains(object) && contains(object) {
                changes.append(RootChange(object: object, wasRoot: true, isRoot: true, reason: .window))
            }
        }
        trim()
        return changes
    }

    /// The entries between the old and the new last position within the limit: they entered or left the limit without
    /// moving.
    private func crossings(from oldLimit: SortPosition?) -> [RootChange] {
        let newLimit = limitPosition
        guard oldLimit != newLimit, limit > 0 else { return [] }
        let lower = [oldLimit, newLimit].compactMap { $0 }.min { order.precedes($0, $1) }
        guard let lower else { return [] }
        var changes: [RootChange] = []
        for entry in entries[firstIndex(notBefore: lower)...] {
            let was = isWithin(entry.position, oldLimit)
            let isNow = isWithin(entry.position, newLimit)
            guard was || isNow else { break }
            guard was != isNow else { continue }
            changes.append(RootChange(object: entry.object, wasRoot: was, isRoot: isNow, reason: .window))
        }
        return changes
    }
}

/// What happened to an object that was placed anew in a window or among staged roots.
struct MovedRoot {
    let wasMember: Bool
    let isPresent: Bool
    let matches: Bool

    var reason: RemovalReason { isPresent ? matches ? .window : .filter : .deleted }
}

extension SortOrder {
    func precedes(_ left: SortPosition, _ right: SortPosition) -> Bool {
        precedes(left.values, left.id, right.values, right.id)
    }
}
