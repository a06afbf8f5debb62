package import SluiceModel

/// The figures of all groups of a query, while objects come to match it and cease to.
///
/// A group is there while it has an object; a query without GROUP has one group, which is always there. Adding or taking
/// away an object costs one look at the group, its functions, and O(log groups) where the query has a limit.
package struct FigureTable: Sendable {
    private struct Group: Sendable {
        let keys: [Value]
        var count = 0
        var figures: [Figure]
        /// The columns by which the group stands in ``order``; empty if it does not.
        var place: [Value] = []
        /// Whether the group is in ``unplaced``.
        var isUnplaced = false
    }

    package let aggregates: Query.Aggregates
    private var groups: [Group?] = []
    private var free: [Int] = []
    /// The positions of the groups, by their keys.
    private var positions: [[Value]: Int] = [:]
    /// The positions of the groups in their order, as it was when they were last placed; empty unless the query has a
    /// limit.
    private var order: [Int] = []
    /// The positions of groups whose columns may be others than those by which they were placed, and perhaps of groups
    /// that are gone; empty unless the query has a limit.
    private var unplaced: [Int] = []
    /// The bytes that the keys take.
    private var keySize = 0
    /// Whether the groups are all that there are, so that one that is not here has no objects.
    package private(set) var isWhole = true
    /// Whether what changes is noted, from ``beginChange()`` to ``endChange()``.
    private var isNoting = false
    /// What was shown of the groups that have changed meanwhile, where there is no limit; nil for one that was not there.
    private var former: [[Value]: GroupFigures?] = [:]
    /// What was shown before, where there is a limit; nil as long as nothing that is shown has changed.
    private var formerlyShown: [GroupFigures]?

    package init(_ aggregates: Query.Aggregates) {
        self.aggregates = aggregates
        if !aggregates.isGrouped {
            groups = [Group(keys: [], figures: aggregates.functions.map(Figure.init))]
            positions = [[]: 0]
        }
    }

    /// The figures that ``shown`` gave, for one who has no others.
    ///
    /// - Parameter shown: as ``Query/Aggregates/groups(_:)`` gives them.
    package init(_ aggregates: Query.Aggregates, knowing shown: [GroupFigures]) {
        self.init(aggregates)
        for group in shown {
            let figures = zip(aggregates.functions, group.figures).map { Figure($0, from: $1) ?? Figure($0) }
            let made = Group(keys: group.keys, count: group.count, figures: figures)
            if let position = positions[group.keys] {
                groups[position] = made
            } else {
                positions[group.keys] = groups.count
                groups.append(made)
            }
        }
        isWhole = !aggregates.isGrouped || aggregates.limit.map { shown.count < $0 } ?? true
        for position in groups.indices { displace(position) }
        settle()
    }

    // MARK: Changing

    /// Adds an object that matches.
    ///
    /// - Parameter values: those of the query's ``Query/positionPaths``.
    /// - Throws: ``FigureError`` when there are too many groups; the table is then of no use any more.
    package mutating func add(_ values: [Value]) throws(FigureError) {
        let keys = Array(values.prefix(aggregates.groups.count))
        let position: Int
        if let known = positions[keys] {
            position = known
            note(position)
        } else {
            guard positions.count < Query.Aggregates.groupCountMax else { throw .tooManyGroups }
            keySize += Self.size(of: keys)
            guard keySize <= Query.Aggregates.groupSizeMax else { throw .tooLargeGroups }
            if isNoting, aggregates.limit == nil, former[keys] == nil { former[keys] = .some(nil) }
            let group = Group(keys: keys, figures: aggregates.functions.map(Figure.init))
            if let unused = free.popLast() {
                position = unused
                groups[position] = group
            } else {
                position = groups.count
                groups.append(group)
            }
            positions[keys] = position
        }
        change(position, by: values, isAdded: true)
    }

    /// Takes an object away that was added with the same values.
    package mutating func remove(_ values: [Value]) {
        let keys = Array(values.prefix(aggregates.groups.count))
        guard let position = positions[keys] else { return }
        note(position)
        change(position, by: values, isAdded: false)
        guard aggregates.isGrouped, groups[position]?.count ?? 0 <= 0 else { return }
        if let columns = groups[position]?.place, !columns.isEmpty { order.remove(at: place(of: columns)) }
        groups[position] = nil
        positions[keys] = nil
        free.append(position)
        keySize -= Self.size(of: keys)
    }

    private mutating func change(_ position: Int, by values: [Value], isAdded: Bool) {
        displace(position)
        groups[position]?.count += isAdded ? 1 : -1
        for (index, function) in aggregates.functions.enumerated() {
            let value: Value = if case .value(_, let path, _) = function { values[path] } else { .null }
            groups[position]?.figures[index].change(by: value, isAdded: isAdded)
        }
    }

    private static func size(of keys: [Value]) -> Int { keys.reduce(0) { $0 + ($1.byteCount ?? 16) } }

    // MARK: Order

    /// Records that the columns of a group may change, before they do; see ``settle()``.
    private mutating func displace(_ position: Int) {
        guard aggregates.limit != nil, groups[position]?.isUnplaced == false else { return }
        if isNoting, formerlyShown == nil, isShown(position) { formerlyShown = shown }
        groups[position]?.isUnplaced = true
        unplaced.append(position)
    }

    /// Whether a group was among the first in the order when it was last placed.
    private func isShown(_ position: Int) -> Bool {
        guard let limit = aggregates.limit, limit > 0, let columns = groups[position]?.place, !columns.isEmpty else {
            return false
        }
        return order.count <= limit || aggregates.compare(columns, groups[order[limit - 1]]?.place ?? []) <= 0
    }

    /// Places the groups that have changed, before they are shown. A group that moves shifts those between its places.
    package mutating func settle() {
        guard let limit = aggregates.limit else { return }
        for position in unplaced {
            guard let group = groups[position] else { continue }
            groups[position]?.isUnplaced = false
            let columns = group.keys + group.figures.map(\.result)
            if columns == group.place { continue }
            let to = place(of: columns)
            // A group that has been shown was noted when it changed, so what is shown is still what was.
            if isNoting, formerlyShown == nil, to < limit { formerlyShown = shown }
            if group.place.isEmpty {
                order.insert(position, at: to)
            } else {
                let from = place(of: group.place)
                move(from, to: to > from ? to - 1 : to)
            }
            groups[position]?.place = columns
        }
        unplaced.removeAll(keepingCapacity: true)
    }

    private mutating func move(_ from: Int, to: Int) {
        let position = order[from]
        if from < to {
            for index in from..<to { order[index] = order[index + 1] }
        } else {
            for index in stride(from: from, to: to, by: -1) { order[index] = order[index - 1] }
        }
        order[to] = position
    }

    private func place(of columns: [Value]) -> Int {
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            if aggregates.compare(groups[order[middle]]?.place ?? [], columns) < 0 {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    // MARK: Extremes that have gone

    /// The keys of the groups some of whose extremes have gone, so that what follows them must be read.
    package var unknownExtremes: [[Value]] {
        let changed = aggregates.limit == nil ? former.keys.compactMap { positions[$0] } : unplaced
        return changed.compactMap { position in
            guard let group = groups[position], group.figures.contains(where: { !$0.isExact && $0.isExtreme }) else {
                return nil
            }
            return group.keys
        }
    }

    /// Begins to read the extremes of a group anew.
    ///
    /// - Returns: the positions of the functions, for ``readExtremes(_:of:_:)``.
    package mutating func resetExtremes(of keys: [Value]) -> [Int] {
        guard let position = positions[keys], let group = groups[position] else { return [] }
        displace(position)
        var read: [Int] = []
        for (index, figure) in group.figures.enumerated() {
            guard case .extreme(var extremes) = figure, !extremes.isKnown else { continue }
            extremes.reset()
            groups[position]?.figures[index] = .extreme(extremes)
            read.append(index)
        }
        return read
    }

    /// Adds what an object of the group has.
    package mutating func readExtremes(_ functions: [Int], of keys: [Value], _ values: [Value]) {
        guard let position = positions[keys] else { return }
        for index in functions {
            guard case .value(_, let path, _) = aggregates.functions[index] else { continue }
            groups[position]?.figures[index].change(by: values[path], isAdded: true)
        }
    }

    // MARK: What is shown

    private func shown(_ position: Int) -> GroupFigures? {
        groups[position].map { GroupFigures(keys: $0.keys, count: $0.count, figures: $0.figures.map(\.value)) }
    }

    /// The groups that the query shows: in its order where it has a limit, else in no particular order. Changes count
    /// once they are settled.
    package var shown: [GroupFigures] {
        guard let limit = aggregates.limit else { return groups.indices.compactMap(shown) }
        return order.prefix(limit).compactMap(shown)
    }

    /// Whether a group is here.
    package func knows(_ values: [Value]) -> Bool { positions[Array(values.prefix(aggregates.groups.count))] != nil }

    /// Whether the figures of a group are those of all that it has.
    package func isExact(_ keys: [Value]) -> Bool {
        positions[keys].flatMap { groups[$0] }?.figures.allSatisfy(\.isExact) ?? true
    }

    /// Begins to note what changes.
    package mutating func beginChange() {
        isNoting = true
        former = [:]
        formerlyShown = nil
    }

    /// What has changed of what is shown since ``beginChange()``; nil if nothing has.
    package mutating func endChange() -> FigureChange? {
        settle()
        isNoting = false
        defer { (former, formerlyShown) = ([:], nil) }
        var change = FigureChange()
        guard aggregates.limit == nil else {
            guard let formerlyShown else { return nil }
            let before = Dictionary(uniqueKeysWithValues: formerlyShown.map { ($0.keys, $0) })
            let now = shown
            change.changed = now.filter { before[$0.keys] != $0 }
            let kept = Set(now.map(\.keys))
            change.removed = formerlyShown.map(\.keys).filter { !kept.contains($0) }
            return change.isEmpty ? nil : change
        }
        for (keys, before) in former {
            if let now = positions[keys].flatMap(shown) {
                if now != before { change.changed.append(now) }
            } else if before != nil {
                change.removed.append(keys)
            }
        }
        // So that equal changes are equal bytes.
        change.changed.sort { Self.precedes($0.keys, $1.keys) }
        change.removed.sort(by: Self.precedes)
        return change.isEmpty ? nil : change
    }

    private static func precedes(_ left: [Value], _ right: [Value]) -> Bool {
        for (left, right) in zip(left, right) {
            let order = Value.compare(left, right)
            if order != 0 { return order < 0 }
        }
        return false
    }

    private mutating func note(_ position: Int) {
        guard isNoting, aggregates.limit == nil, let group = groups[position], former[group.keys] == nil else { return }
        former[group.keys] = shown(position)
    }
}

/// How the figures of a query change.
package struct FigureChange: Hashable, Sendable {
    /// The groups that are new, or have other figures than before.
    package var changed: [GroupFigures] = []
    /// The keys of those that are shown no more.
    package var removed: [[Value]] = []

    package init(changed: [GroupFigures] = [], removed: [[Value]] = []) {
        self.changed = changed
        self.removed = removed
    }

    package var isEmpty: Bool { changed.isEmpty && removed.isEmpty }

    /// The change in the form in which it is sent: of a query without GROUP its figures; else one value for each group that
    /// is new or has others, and a list of the list of keys for each that is gone.
    package var values: [Value] {
        if let only = changed.first, only.keys.isEmpty { return only.figures }
        return changed.map(\.value) + removed.map { .list([.list($0)]) }
    }
}

extension Figure {
    var isExtreme: Bool { if case .extreme = self { true } else { false } }
}
