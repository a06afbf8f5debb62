package import SluiceModel
package import SluiceQuery

/// An ordered list of results in memory, kept current by edits.
///
/// The list may hold more entries than the query's limit; only those within the limit are visible. Copies share their
/// content, so a copy is a cheap snapshot.
package struct ResultList: Sendable {
    package let order: SortOrder
    /// The maximum number of visible entries; nil for no limit.
    package let limit: Int?
    /// The properties that the query excludes. Their changes do not count as modifications.
    package let ignored: PropertySet
    /// All entries, in order, including those beyond the limit.
    package private(set) var entries = ChunkedList<ResultEntry>()
    private var positions: [ObjectRef: SortPosition] = [:]

    package init(order: SortOrder, limit: Int?, ignoring ignored: PropertySet = []) {
        self.order = order
        self.limit = limit
        self.ignored = ignored
    }

    /// Makes a list of the given entries, in any order, each object once. O(n) if they are in order.
    package init(order: SortOrder, limit: Int?, ignoring ignored: PropertySet = [], entries: [ResultEntry]) {
        self.init(order: order, limit: limit, ignoring: ignored)
        var sorted = entries
        order.sort(&sorted)
        positions.reserveCapacity(sorted.count)
        for entry in sorted { positions[entry.object] = entry.position }
        self.entries = ChunkedList(sorted)
    }

    /// The entries within the limit.
    package var visible: Slice<ChunkedList<ResultEntry>> { entries[0..<visibleCount] }

    /// The number of entries within the limit.
    package var visibleCount: Int { Swift.min(limit ?? .max, entries.count) }

    /// Whether the list holds an object, within the limit or beyond.
    package func contains(_ object: ObjectRef) -> Bool { positions[object] != nil }

    /// The index of an object among all entries. O(log n).
    package func index(of object: ObjectRef) -> Int? {
        positions[object].map { entries.firstIndex(notBefore: $0, in: order) }
    }

    /// Replaces the content with the given entries, in any order, each object once.
    ///
    /// - Parameter reason: why the objects that are not among them left.
    /// - Returns: the change of the visible entries.
    package mutating func replace(with new: [ResultEntry], reason: RemovalReason) -> ResultChange {
        var edits: [ResultEdit] = []
        var kept: Set<ObjectRef> = []
        for entry in new {
            kept.insert(entry.object)
            edits.append(.upsert(entry))
        }
        for entry in entries where !kept.contains(entry.object) { edits.append(.remove(entry.object, reason)) }
        return apply(edits)
    }

    /// Applies edits. If an object has several, the last counts, except that a touch does not replace an earlier edit.
    ///
    /// - Returns: the change of the visible entries. A few edits cost O(log n) each plus the shifting of one chunk,
    ///   many edits O(n).
    package mutating func apply(_ edits: [ResultEdit]) -> ResultChange {
        var last: [ObjectRef: ResultEdit] = [:]
        var order: [ObjectRef] = []
        for edit in edits {
            let known = last[edit.object]
            if known == nil { order.append(edit.object) }
            if case .touch = edit, known != nil { continue }
            last[edit.object] = edit
        }
        var diff = ResultDiff(oldCount: entries.count, oldVisible: visibleCount)
        for object in order {
            guard let edit = last[object] else { continue }
            diff.add(object, edit, oldIndex: index(of: object), isChange: changesContent(edit))
        }
        update(order.compactMap { last[$0] }, isBulk: order.count > 16 && order.count > entries.count / 16)
        for index in diff.items.indices { diff.items[index].newIndex = self.index(of: diff.items[index].object) }
        return diff.change(newCount: entries.count, newVisible: visibleCount)
    }

    /// Whether an edit of an object that stays is a modification.
    private func changesContent(_ edit: ResultEdit) -> Bool {
        switch edit {
        case .touch: true
        case .remove: false
        case .upsert(let entry):
            index(of: entry.object).map { shows(entries[$0].row, otherThan: entry.row) } ?? false
        }
    }

    /// Whether two versions of an object differ in the properties that the query includes.
    private func shows(_ row: Row, otherThan other: Row) -> Bool {
        guard row.absent.subtracting(ignored) == other.absent.subtracting(ignored) else { return true }
        return row.values.indices.contains {
            !ignored.contains($0) && !row.values[$0].isIdentical(to: other.values[$0])
        }
    }

    private mutating func update(_ edits: [ResultEdit], isBulk: Bool) {
        if isBulk { return rebuild(edits) }
        for edit in edits {
            switch edit {
            case .touch: break
            case .remove(let object, _):
                guard let index = index(of: object) else { continue }
                entries.remove(at: index)
                positions[object] = nil
            case .upsert(let entry):
                if let index = index(of: entry.object) {
                    if entries[index].position == entry.position {
                        entries[index] = entry
                        continue
                    }
                    entries.remove(at: index)
                }
                entries.insert(entry, at: entries.firstIndex(notBefore: entry.position, in: order))
                positions[entry.object] = entry.position
            }
        }
    }

    /// Merges the remaining entries with the new ones.
    private mutating func rebuild(_ edits: [ResultEdit]) {
        var gone: Set<ObjectRef> = []
        var coming: [ResultEntry] = []
        for edit in edits {
            switch edit {
            case .touch: break
            case .remove(let object, _):
                gone.insert(object)
                positions[object] = nil
            case .upsert(let entry):
                gone.insert(entry.object)
                coming.append(entry)
                positions[entry.object] = entry.position
            }
        }
        coming.sort { order.precedes($0.position, $1.position) }
        var merged: [ResultEntry] = []
        merged.reserveCapacity(entries.count + coming.count)
        var next = 0
        for entry in entries where !gone.contains(entry.object) {
            while next < coming.count, order.precedes(coming[next].position, entry.position) {
                merged.append(coming[next])
                next += 1
            }
            merged.append(entry)
        }
        merged.append(contentsOf: coming[next...])
        entries = ChunkedList(merged)
    }
}

extension SortOrder {
    /// Sorts entries, if they are not sorted yet.
    package func sort(_ entries: inout [ResultEntry]) {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy { !precedes($1.position, $0.position) }
        if !isSorted { entries.sort { precedes($0.position, $1.position) } }
    }
}

extension ChunkedList<ResultEntry> {
    /// The index of the first entry that does not precede `position`.
    func firstIndex(notBefore position: SortPosition, in order: SortOrder) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if order.precedes(self[middle].position, position) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
