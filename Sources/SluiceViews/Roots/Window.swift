import SluiceModel
import SluiceQuery

/// Holds the first rows of a sorted query with a limit, and some more beyond the limit.
///
/// The window holds all matches up to `boundary`. As long as these suffice for the limit, no change has to read from
/// the source. Every refill makes the surplus twice as large, up to ``surplusMax``, since a window that loses its first
/// rows is likely to lose more, and reading may take a scan of the class. A window that is trimmed returns to its usual
/// surplus.
///
/// The rows are in order, and nothing else says where an object is: its position before a commit follows from the state
/// before it, and leads to the row by binary search.
///
/// An object, so that its rows are changed in place.
final class Window {
    /// How many rows beyond the limit a window comes to hold at most.
    static let surplusMax = 4_096

    let limit: Int
    private let order: WindowOrder
    /// How many rows beyond the limit a window holds when it was filled for the first time.
    private let usualSurplus: Int
    /// How many rows beyond the limit the next refill leaves, if there are that many.
    private var surplus: Int
    private var rows = WindowRows()
    /// The last row up to which all matches are held; nil if all matches are held.
    private(set) var boundary: WindowEntry?
    /// The value of the first sort key up to which the window held all matches when an index filed it.
    var filedEnd: Value?

    /// Makes a window, and reads its rows.
    ///
    /// - Parameter overscan: how many rows beyond the limit the first reading leaves; nil for as many as the limit, but
    ///   at least 16 and at most 256.
    init(limit: Int, _ judge: RootJudge, overscan: Int?, in source: any ViewSource) throws {
        self.limit = limit
        order = WindowOrder(judge.query, judge.shape)
        usualSurplus = overscan ?? Self.usualSurplus(limit: limit)
        surplus = usualSurplus
        try fill(judge, in: source)
    }

    /// How many rows beyond the limit a window usually holds.
    static func usualSurplus(limit: Int) -> Int { min(max(limit, 16), 256) }

    private init(copying other: Window) {
        limit = other.limit
        order = other.order
        usualSurplus = other.usualSurplus
        surplus = other.surplus
        rows = other.rows
        boundary = other.boundary
        filedEnd = other.filedEnd
    }

    /// A window in the same state, which can then change independently.
    func copy() -> Window { Window(copying: self) }

    /// The value of the first sort key up to which all matches are held; nil if all matches are held.
    var heldEnd: Value? { boundary?.values.first }

    /// How many rows a window holds after it has read, if there are that many.
    static func capacity(limit: Int, surplus: Int) -> Int {
        let (capacity, overflows) = limit.addingReportingOverflow(surplus)
        return overflows ? .max : capacity
    }

    /// All rows that are held, in order.
    var entries: some RandomAccessCollection<WindowEntry> { rows.entries }

    /// The keys of the objects within the limit, in order.
    var members: some Collection<ObjectKey> { rows.entries.prefix(limit).lazy.map(\.key) }

    /// The last row within the limit; nil if all held rows are within it.
    private var last: WindowEntry? { limit > 0 && rows.count >= limit ? rows[limit - 1] : nil }

    /// Whether a row stands within the limit whose last row is `last`; a nil `last` is the end of all rows.
    private func isWithin(_ entry: WindowEntry, _ last: WindowEntry?) -> Bool {
        guard limit > 0 else { return false }
        guard let last else { return true }
        return order.compare(last, entry) >= 0
    }

    // MARK: Finding

    /// The place of an object in the order.
    private func place(of row: Row, _ judge: RootJudge, in source: any ObjectSource) throws -> WindowPlace {
        order.place(row.key, try judge.sortValues(of: row, in: source))
    }

    /// The index of an object's row, if it is held.
    ///
    /// - Parameters:
    ///   - row: the object in the state of the window.
    ///   - source: the state of the window.
    private func index(of row: Row?, _ judge: RootJudge, in source: any ObjectSource) throws -> Int? {
        guard let row, !rows.isEmpty else { return nil }
        var place = try place(of: row, judge, in: source)
        let (index, isHeld) = rows.find(&place, order)
        return isHeld ? index : nil
    }

    /// Whether an object is within the limit.
    ///
    /// - Parameters:
    ///   - row: the object in the state of the window.
    ///   - source: the state of the window.
    func contains(_ row: Row, _ judge: RootJudge, in source: any ObjectSource) throws -> Bool {
        guard let index = try index(of: row, judge, in: source) else { return false }
        return index < limit
    }

    // MARK: Reading

    /// Reads the rows after the boundary. Fewer rows than asked for mean that the source has no more.
    private func fill(_ judge: RootJudge, in source: any ViewSource) throws {
        let wanted = Self.capacity(limit: limit, surplus: surplus) - rows.count
        var read: [WindowEntry] = []
        read.reserveCapacity(min(wanted, 64))
        try source.rows(matching: judge.query, after: boundary.map(order.position), limit: wanted) { row in
            read.append(WindowEntry(try place(of: row, judge, in: source)))
            return read.count < wanted
        }
        rows.append(read)
        boundary = read.count < wanted ? nil : rows.last
    }

    /// Reads more rows if there are fewer than the limit and the source may have more.
    ///
    /// - Returns: whether it has read.
    private func refill(_ judge: RootJudge, in source: any ViewSource) throws -> Bool {
        guard boundary != nil, rows.count < limit else { return false }
        surplus = min(surplus * 2, max(Self.surplusMax, usualSurplus))
        try fill(judge, in: source)
        return true
    }

    /// Drops rows far beyond the limit.
    private func trim() {
        let room = max(usualSurplus, 1)
        guard rows.count - room > Self.capacity(limit: limit, surplus: surplus) else { return }
        surplus = usualSurplus
        rows.removeAll(from: Self.capacity(limit: limit, surplus: surplus))
        boundary = rows.last
    }

    // MARK: Following commits

    /// Moves a row to another place.
    ///
    /// - Parameters:
    ///   - index: the index of the row, if it is held.
    ///   - new: where it belongs now; nil if nowhere.
    /// - Returns: whether the row is held now.
    private func move(_ index: Int?, to new: inout WindowPlace?) -> Bool {
        if let index {
            if new != nil {
                let old = rows[index]
                new?.tie = old.tie
                if let new, old.rank == new.rank, order.compare(old.values, new.values) == 0 { return true }
            }
            rows.remove(at: index)
        }
        guard var place = new else { return false }
        defer { new = place }
        if let boundary, order.compare(boundary, &place) < 0 { return false }
        rows.insert(WindowEntry(place), at: rows.find(&place, order).index)
        return true
    }

    /// An object that a commit has placed anew.
    private struct Placed {
        let object: ObjectRef
        let root: MovedRoot
        /// Where it belongs; nil if nowhere.
        var place: WindowPlace?
        /// Whether the window held it there before it read from the source.
        let isHeld: Bool
    }

    /// Follows a commit group; see ``RootState/apply(_:_:in:before:)``.
    func apply(
        _ commit: CommitDelta, _ judge: RootJudge, in source: any ViewSource, before: any ObjectSource
    ) throws -> [RootChange] {
        let affected = try judge.affected(by: commit, in: source)
        let oldLast = last
        var placed: [Placed] = []
        var unmoved: [(object: ObjectRef, entry: WindowEntry)] = []
        try judge.forEachMove(commit, affected, in: source) { object, old, new, isMoved in
            let index = try index(of: old, judge, in: before)
            guard isMoved else {
                if let index { unmoved.append((object, rows[index])) }
                return
            }
            let matches = try new.map { try judge.matches($0, in: source) } ?? false
            guard matches || index != nil else { return }
            var place = try matches ? new.map { try self.place(of: $0, judge, in: source) } : nil
            let root = MovedRoot(
                wasMember: index.map { isWithin(rows[$0], oldLast) } ?? false, isPresent: new != nil, matches: matches)
            let isHeld = move(index, to: &place)
            placed.append(Placed(object: object, root: root, place: place, isHeld: isHeld))
        }
        let isRefilled = try refill(judge, in: source)
        defer { trim() }

        let newLast = last
        var changes: [RootChange] = []
        for var placed in placed {
            let isMember = isMember(&placed, newLast, isRefilled: isRefilled)
            guard placed.root.wasMember || isMember else { continue }
            changes.append(
                RootChange(
                    object: placed.object, wasRoot: placed.root.wasMember, isRoot: isMember, reason: placed.root.reason,
                    causes: affected.causes(of: placed.object)))
        }
        if !isSame(oldLast, newLast) {
            let moved = ObjectSet(placed.map(\.object))
            forEachCrossing(from: oldLast, to: newLast) { entry, wasMember in
                let object = ObjectRef(judge.query.classIndex, entry.key)
                guard !moved.contains(object) else { return }
                changes.append(RootChange(object: object, wasRoot: wasMember, isRoot: !wasMember, reason: .window))
            }
        }
        for (object, entry) in unmoved where isWithin(entry, oldLast) && isWithin(entry, newLast) {
            changes.append(RootChange(object: object, wasRoot: true, isRoot: true, reason: .window))
        }
        return changes
    }

    private func isMember(_ placed: inout Placed, _ last: WindowEntry?, isRefilled: Bool) -> Bool {
        guard var place = placed.place, placed.isHeld || isRefilled else { return false }
        // A row beyond what was held may have come with what was read.
        guard placed.isHeld else {
            let (index, isHeld) = rows.find(&place, order)
            return isHeld && index < limit
        }
        return isWithin(WindowEntry(place), last)
    }

    private func isSame(_ left: WindowEntry?, _ right: WindowEntry?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return order.compare(left, right) == 0
    }

    /// Calls `body` with the rows between the old and the new last row within the limit: they entered or left the limit
    /// without moving.
    private func forEachCrossing(
        from oldLast: WindowEntry?, to newLast: WindowEntry?, _ body: (_ entry: WindowEntry, _ wasMember: Bool) -> Void
    ) {
        guard limit > 0, let some = oldLast ?? newLast else { return }
        var lower = some
        if let oldLast, let newLast, order.compare(newLast, oldLast) < 0 { lower = newLast }
        var place = WindowPlace(lower)
        for index in rows.find(&place, order).index..<rows.count {
            let was = isWithin(rows[index], oldLast)
            let isNow = index < limit
            guard was || isNow else { return }
            if was != isNow { body(rows[index], was) }
        }
    }
}

/// What happened to an object that was placed anew in a window or among staged roots.
struct MovedRoot {
    let wasMember: Bool
    let isPresent: Bool
    let matches: Bool

    var reason: RemovalReason { isPresent ? matches ? .window : .filter : .deleted }
}

/// Objects, with a table only where they are many.
private struct ObjectSet {
    private let few: [ObjectRef]
    private let many: Set<ObjectRef>

    init(_ objects: [ObjectRef]) {
        few = objects.count <= 8 ? objects : []
        many = objects.count <= 8 ? [] : Set(objects)
    }

    func contains(_ object: ObjectRef) -> Bool { few.contains(object) || !many.isEmpty && many.contains(object) }
}
