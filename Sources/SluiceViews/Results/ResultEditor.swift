package import SluiceModel
import SluiceQuery

/// Keeps a list of results current by edits, and says how each changes it.
///
/// It alone knows where each object is, and it cannot be copied. So handing out ``list`` costs nothing, and an edit
/// after that copies one chunk of the list and no index of the whole.
package struct ResultEditor: ~Copyable, Sendable {
    /// The results now.
    package private(set) var list: ResultList
    /// The properties that the query excludes. Their changes do not count as modifications.
    private let ignored: PropertySet
    /// Whether it is a modification that writes of an object begin or cease to be pending.
    private let reportsPending: Bool
    /// The entry of each object in the list.
    private var entries = EntryTable()

    /// Begins with a list. Takes O(n).
    package init(_ list: ResultList, ignoring ignored: PropertySet = [], reportsPending: Bool = false) {
        self.list = list
        self.ignored = ignored
        self.reportsPending = reportsPending
        entries.reserveCapacity(list.entries.count)
        for entry in list.entries { entries[entry.object] = entry }
    }

    private var order: SortOrder { list.order }

    /// Goes on with a later schema. The rows stay as they are, and those that are alike show no change.
    package mutating func adopt(_ schema: Schema) {
        list.schema = schema
        list.mayHaveEarlierRows = true
    }

    /// The number of entries, within the limit and beyond.
    package var count: Int { entries.count }

    /// Whether the list holds an object, within the limit or beyond.
    package func contains(_ object: ObjectRef) -> Bool { entries[object] != nil }

    /// The index of an object among all entries. O(log n).
    package func index(of object: ObjectRef) -> Int? {
        entries[object].map { list.entries.firstIndex(notBefore: $0.position, in: order) }
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
        for entry in list.entries where !kept.contains(entry.object) { edits.append(.remove(entry.object, reason)) }
        return apply(edits)
    }

    /// Drops the entries from an index on, none of which is visible. O(log n) each, or O(index) if they are more than
    /// stay.
    package mutating func removeAll(from index: Int) {
        precondition(index >= list.visibleCount, "visible entries are not dropped")
        guard list.entries.count - index > index else {
            while list.entries.count > index {
                entries[list.entries[list.entries.count - 1].object] = nil
                list.entries.remove(at: list.entries.count - 1)
            }
            return
        }
        list.entries = ChunkedList(Array(list.entries.prefix(index)))
        entries = EntryTable()
        entries.reserveCapacity(index)
        for entry in list.entries { entries[entry.object] = entry }
    }

    /// Whether the list has an entry as it is, so that an edit with it would change nothing.
    package func holds(_ entry: ResultEntry) -> Bool { entries[entry.object].map { $0.isSame(as: entry) } ?? false }

    /// Applies edits. If an object has several, the last counts, except that a touch does not replace an earlier edit.
    ///
    /// - Returns: the change of the visible entries. A few edits cost O(log n) each plus the shifting of one chunk,
    ///   many edits O(n).
    package mutating func apply(_ edits: [ResultEdit]) -> ResultChange {
        if edits.count == 1 { return apply(edits[0]) }
        if let change = insert(edits) { return change }
        var last: [ObjectRef: ResultEdit] = [:]
        var objects: [ObjectRef] = []
        for edit in edits {
            let known = last[edit.object]
            if known == nil { objects.append(edit.object) }
            if case .touch = edit, known != nil { continue }
            last[edit.object] = edit
        }
        var diff = ResultDiff(oldCount: list.entries.count, oldVisible: list.visibleCount)
        for object in objects {
            guard let edit = last[object] else { continue }
            diff.add(object, edit, oldIndex: index(of: object), isChange: changesContent(edit))
        }
        update(objects.compactMap { last[$0] }, isBulk: isBulk(objects.count))
        for index in diff.items.indices { diff.items[index].newIndex = self.index(of: diff.items[index].object) }
        return diff.change(newVisible: list.visibleCount)
    }

    /// Applies an edit, in less time than several take: it looks for each position once.
    private mutating func apply(_ edit: ResultEdit) -> ResultChange {
        let visibleCount = list.visibleCount
        switch edit {
        case .touch(let object):
            var change = ResultChange()
            if let index = index(of: object), index < visibleCount { change.modifications = [index] }
            return change
        case .remove(let object, let reason):
            guard let index = index(of: object) else { return ResultChange() }
            list.entries.remove(at: index)
            entries[object] = nil
            return change(from: index, of: visibleCount, to: nil, reason: reason)
        case .upsert(let entry):
            let isModified = changesContent(edit)
            let old = index(of: entry.object)
            if let old, list.entries[old].position == entry.position {
                list.entries[old] = entry
                entries[entry.object] = entry
                var change = ResultChange()
                if isModified, old < visibleCount { change.modifications = [old] }
                return change
            }
            var new = list.entries.firstIndex(notBefore: entry.position, in: order)
            if let old {
                if new > old { new -= 1 }
                list.entries.remove(at: old)
            }
            list.entries.insert(entry, at: new)
            entries[entry.object] = entry
            return change(from: old, of: visibleCount, to: new, isModified: isModified)
        }
    }

    /// The change of the visible entries after one of them, or one beyond them, has come, gone or moved.
    ///
    /// - Parameters:
    ///   - old: its index before; nil if it has come.
    ///   - oldVisible: how many were visible before.
    ///   - new: its index; nil if it has gone.
    private func change(
        from old: Int?, of oldVisible: Int, to new: Int?, isModified: Bool = false, reason: RemovalReason = .window
    ) -> ResultChange {
        var change = ResultChange()
        let newVisible = list.visibleCount
        let shownOld = old.flatMap { $0 < oldVisible ? $0 : nil }
        let shownNew = new.flatMap { $0 < newVisible ? $0 : nil }
        if let shownOld, let shownNew {
            if isModified { change.modifications = [shownNew] }
            if shownOld != shownNew { change.moves = [.init(from: shownOld, to: shownNew)] }
            return change
        }
        if let shownOld { change.deletions = [.init(index: shownOld, reason: reason)] }
        if let shownNew { change.insertions = [shownNew] }
        // Another comes within the limit, or is pushed over it.
        let othersBefore = oldVisible - (shownOld == nil ? 0 : 1)
        let othersNow = newVisible - (shownNew == nil ? 0 : 1)
        if othersNow > othersBefore { change.insertions.append(newVisible - 1) }
        if othersNow < othersBefore { change.deletions.append(.init(index: oldVisible - 1, reason: .window)) }
        return change
    }

    /// Applies edits that do nothing but add objects, as those of a bootstrap do, in less time.
    ///
    /// - Returns: nil, and nothing is changed, if there are other edits, or few.
    private mutating func insert(_ edits: [ResultEdit]) -> ResultChange? {
        guard edits.count > Self.fewCount else { return nil }
        var coming: [ResultEntry] = []
        coming.reserveCapacity(edits.count)
        for edit in edits {
            guard case .upsert(let entry) = edit, entries[entry.object] == nil else { return nil }
            coming.append(entry)
        }
        let oldCount = entries.count
        entries.reserveCapacity(oldCount + coming.count)
        for entry in coming { entries[entry.object] = entry }
        guard entries.count == oldCount + coming.count else {
            // An object has several edits, of which the last counts.
            for entry in coming { entries[entry.object] = nil }
            return nil
        }
        let oldVisible = list.visibleCount
        var change = ResultChange()
        change.insertions = merge(coming)
        guard let limit = list.limit else { return change }
        change.insertions.removeAll { $0 >= limit }
        // What is pushed beyond the limit was visible before. These are the last of the old ones.
        let staying = list.visibleCount - change.insertions.count
        change.deletions = (staying..<oldVisible).map { .init(index: $0, reason: .window) }
        return change
    }

    /// Whether so many edits cost less together than one by one.
    private func isBulk(_ count: Int) -> Bool { count > Self.fewCount && count > list.entries.count / 16 }

    private static let fewCount = 16

    /// Merges new entries, in any order, into the list.
    ///
    /// - Returns: their indices, ascending.
    private mutating func merge(_ new: [ResultEntry]) -> [Int] {
        var coming = new
        order.sort(&coming)
        let order = list.order
        return list.entries.merge(coming) { $0.precedes($1, in: order) }
    }

    /// Whether an edit of an object that stays is a modification.
    private func changesContent(_ edit: ResultEdit) -> Bool {
        switch edit {
        case .touch: true
        case .remove: false
        case .upsert(let entry):
            entries[entry.object].map {
                shows($0.row, otherThan: entry.row, ofClass: entry.object.classIndex)
                    || reportsPending && $0.isPending != entry.isPending
            } ?? false
        }
    }

    /// Whether two versions of an object differ in the properties that the query includes. One that is older than a
    /// property has its default.
    private func shows(_ row: Row, otherThan other: Row, ofClass classIndex: Int) -> Bool {
        guard row.absent.subtracting(ignored) == other.absent.subtracting(ignored) else { return true }
        let (count, otherCount) = (row.values.count, other.values.count)
        let defaults = count == otherCount ? [] : list.schema[classIndex].defaultValues
        return (0..<max(count, otherCount)).contains { position in
            guard !ignored.contains(position) else { return false }
            let value = position < count ? row.values[position] : defaults[position]
            return !value.isIdentical(to: position < otherCount ? other.values[position] : defaults[position])
        }
    }

    private mutating func update(_ edits: [ResultEdit], isBulk: Bool) {
        if isBulk { return rebuild(edits) }
        for edit in edits {
            switch edit {
            case .touch: break
            case .remove(let object, _):
                guard let index = index(of: object) else { continue }
                list.entries.remove(at: index)
                entries[object] = nil
            case .upsert(let entry):
                defer { entries[entry.object] = entry }
                if let index = index(of: entry.object) {
                    if list.entries[index].position == entry.position {
                        list.entries[index] = entry
                        continue
                    }
                    list.entries.remove(at: index)
                }
                list.entries.insert(entry, at: list.entries.firstIndex(notBefore: entry.position, in: order))
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
                entries[object] = nil
            case .upsert(let entry):
                gone.insert(entry.object)
                coming.append(entry)
                entries[entry.object] = entry
            }
        }
        order.sort(&coming)
        var merged: [ResultEntry] = []
        merged.reserveCapacity(list.entries.count + coming.count)
        var next = 0
        for entry in list.entries where !gone.contains(entry.object) {
            while next < coming.count, coming[next].precedes(entry, in: order) {
                merged.append(coming[next])
                next += 1
            }
            merged.append(entry)
        }
        merged.append(contentsOf: coming[next...])
        list.entries = ChunkedList(merged)
    }
}
