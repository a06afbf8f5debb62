import SluiceModel
import SluiceQuery

/// Holds the first rows of a sorted query with a limit, and some more beyond the limit.
///
/// The window holds all matches up to `boundary`. As long as these suffice for the limit, no change has to read from
/// the source. ``WindowSurplus`` says how many it holds.
///
/// The rows are in order, and nothing else says where an object is: its position before a commit follows from the state
/// before it, and leads to the row by binary search.
///
/// An object, so that its rows are changed in place.
final class Window {
    let limit: Int
    private let order: WindowOrder
    private var surplus: WindowSurplus
    private var rows = WindowRows()
    /// The last row up to which all matches are held; nil if all matches are held.
    private(set) var boundary: WindowEntry?
    /// The value of the first sort key up to which the window held all matches when an index filed it.
    var filedEnd: Value?
    /// How many objects match the query; nil unless the query asks for its total.
    private(set) var matchCount: Int?

    /// Makes a window, reads its rows, and counts the matches if the query asks for its total.
    ///
    /// - Parameters:
    ///   - overscan: see ``WindowSurplus/init(limit:usualCount:)``.
    ///   - matchCount: how many objects match the query in the state; nil to have them counted.
    init(
        limit: Int, _ judge: RootMatcher, overscan: Int?, matchCount: Int? = nil, in source: any ViewSource
    ) throws {
        self.limit = limit
        order = WindowOrder(judge.query, judge.shape)
        surplus = WindowSurplus(limit: limit, usualCount: overscan)
        let (read, wanted) = try rows(beyond: 0, surplus: surplus, judge, in: source)
        append(read, wanted: wanted)
        if judge.query.countsMatches { self.matchCount = try matchCount ?? source.matchCount(of: judge.query) }
    }

    private init(copying other: Window) {
        limit = other.limit
        order = other.order
        surplus = other.surplus
        rows = other.rows
        boundary = other.boundary
        filedEnd = other.filedEnd
        matchCount = other.matchCount
    }

    /// A window in the same state, which can then change independently.
    func copy() -> Window { Window(copying: self) }

    /// The value of the first sort key up to which all matches are held; nil if all matches are held.
    var heldEnd: Value? { boundary?.values.first }

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
    private func place(of row: Row, _ judge: RootMatcher, in source: any ObjectSource) throws -> WindowPlace {
        order.place(row.key, try judge.sortValues(of: row, in: source))
    }

    /// The index of an object's row, if it is held.
    ///
    /// - Parameters:
    ///   - row: the object in the state of the window.
    ///   - source: the state of the window.
    private func index(of row: Row?, _ judge: RootMatcher, in source: any ObjectSource) throws -> Int? {
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
    func contains(_ row: Row, _ judge: RootMatcher, in source: any ObjectSource) throws -> Bool {
        guard let index = try index(of: row, judge, in: source) else { return false }
        return index < limit
    }

    // MARK: Reading

    /// Reads the rows after the boundary: as many as a window lacks that holds `count` rows.
    ///
    /// - Returns: fewer than wanted if the source has no more.
    private func rows(
        beyond count: Int, surplus: WindowSurplus, _ judge: RootMatcher, in source: any ViewSource
    ) throws -> (read: [WindowEntry], wanted: Int) {
        let wanted = surplus.capacity - count
        var read: [WindowEntry] = []
        guard wanted > 0 else { return (read, wanted) }
        read.reserveCapacity(min(wanted, 64))
        try source.rows(matching: judge.query, after: boundary.map(order.position), limit: wanted) { row in
            read.append(WindowEntry(try place(of: row, judge, in: source)))
            return read.count < wanted
        }
        return (read, wanted)
    }

    /// Adds the rows that were read after the boundary.
    private func append(_ read: [WindowEntry], wanted: Int) {
        rows.append(read)
        boundary = read.count < wanted ? nil : rows.last
    }

    /// Drops rows far beyond the limit.
    private func trim() {
        guard surplus.isExceeded(by: rows.count) else { return }
        surplus.reset()
        rows.removeAll(from: surplus.capacity)
        boundary = rows.last
    }

    // MARK: Following commits

    /// An object that a commit has placed anew.
    private struct Placed {
        let object: ObjectRef
        let root: MovedRoot
        /// The index of the row that the window has held; nil if it held none.
        let index: Int?
        /// Where it belongs; nil if nowhere.
        var place: WindowPlace?
        /// Whether the window holds it there, whatever it reads from the source.
        var isHeld = false
    }

    /// Follows a commit group; see ``RootState/apply(_:_:in:before:)``.
    ///
    /// The window changes once everything is read, so that one that could not follow is as it was before the group.
    func apply(
        _ commit: CommitDelta, _ judge: RootMatcher, in source: any ViewSource, before: any ObjectSource
    ) throws -> RootChanges {
        guard let affected = try judge.affected(by: commit, in: source, atMost: judge.shape.affectedCountMax) else {
            return try readAnew(commit, judge, in: source, before: before)
        }
        var placed: [Placed] = []
        var mayChangeRows = false
        var unmoved: [(object: ObjectRef, entry: WindowEntry)] = []
        var countedMatches = CountedMatches(matchCount)
        try judge.forEachMove(commit, affected, in: source) { object, position, old, new, isMoved in
            let index = try index(of: old, judge, in: before)
            guard isMoved else {
                if let index { unmoved.append((object, rows[index])) }
                return
            }
            let matches = try new.map { try judge.matches($0, in: source) } ?? false
            if countedMatches.isOn {
                let matched = try index != nil || (old.map { try judge.matches($0, in: before) } ?? false)
                let counted = try judge.counts(old, isMatch: matched, in: before)
                let counts = try judge.counts(new, isMatch: matches, in: source)
                if counted != counts { countedMatches.note(isMatch: counts, position, affected.causes(of: object)) }
            }
            guard matches || index != nil else { return }
            let root = MovedRoot(wasMember: index.map { $0 < limit } ?? false, isPresent: new != nil, matches: matches)
            var place = try matches ? new.map { try self.place(of: $0, judge, in: source) } : nil
            if index != nil || !isBeyondBoundary(&place) { mayChangeRows = true }
            placed.append(Placed(object: object, root: root, index: index, place: place))
        }
        // Most changes are behind the rows that are held.
        guard mayChangeRows || !unmoved.isEmpty else {
            matchCount = countedMatches.count
            return countedMatches.changes([])
        }
        let oldLast = last
        let (removed, added) = moves(of: &placed)
        let heldCount = rows.count - removed.count + added.count
        let isRefilled = boundary != nil && heldCount < limit
        var wider = surplus
        if isRefilled { wider.widen() }
        let refill = try isRefilled ? rows(beyond: heldCount, surplus: wider, judge, in: source) : nil

        rows.replace(removed, by: added, order)
        surplus = wider
        if let refill { append(refill.read, wanted: refill.wanted) }
        matchCount = countedMatches.count
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
        return countedMatches.changes(changes)
    }

    /// Whether a place is behind the last row up to which all matches are held.
    private func isBeyondBoundary(_ place: inout WindowPlace?) -> Bool {
        guard let end = boundary?.rank, let rank = place?.rank else { return false }
        guard end == rank else { return end < rank }
        guard let boundary, var known = place else { return false }
        let isBeyond = order.compare(boundary, &known) < 0
        place = known
        return isBeyond
    }

    /// The rows that are to be removed, and those to be added. A row whose place stays is neither, and one beyond the
    /// boundary is not added.
    private func moves(of placed: inout [Placed]) -> (removed: [Int], added: [WindowEntry]) {
        var removed: [Int] = []
        var added: [WindowEntry] = []
        for position in placed.indices {
            let index = placed[position].index
            if let index, let place = placed[position].place {
                let old = rows[index]
                placed[position].place?.tie = old.tie
                placed[position].isHeld = old.rank == place.rank && order.compare(old.values, place.values) == 0
                if placed[position].isHeld { continue }
            }
            if let index { removed.append(index) }
            guard limit > 0, var place = placed[position].place else { continue }
            placed[position].isHeld = boundary.map { order.compare($0, &place) >= 0 } ?? true
            placed[position].place = place
            if placed[position].isHeld { added.append(WindowEntry(place)) }
        }
        return (removed, added)
    }

    /// Reads the window anew, since a group concerns more possible roots than are judged one by one.
    private func readAnew(
        _ commit: CommitDelta, _ judge: RootMatcher, in source: any ViewSource, before: any ObjectSource
    ) throws -> RootChanges {
        let anew = try Window(limit: limit, judge, overscan: surplus.usualCount, in: source)
        let classIndex = judge.query.classIndex
        let changes = try judge.changes(
            from: members.map { ObjectRef(classIndex, $0) }, to: anew.members.map { ObjectRef(classIndex, $0) }, commit,
            in: source, before: before)
        rows = anew.rows
        boundary = anew.boundary
        surplus.reset()
        guard let count = anew.matchCount, count != matchCount else { return RootChanges(all: changes) }
        matchCount = count
        return RootChanges(all: changes, total: count, totalCauses: Array(commit.changes.indices))
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
