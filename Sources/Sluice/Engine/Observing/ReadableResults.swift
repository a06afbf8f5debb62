internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// The results that an observer's type can represent.
///
/// As long as that is all of them, they are the list of all results, and nothing is kept twice. From the first that
/// cannot be read on, a list of its own has the others. The edits that keep all results current keep it current too,
/// so its changes come about as those of any list: what cannot be read any more is removed, what can again is
/// inserted. Whether an object can be read is decided when it comes and when it changes.
struct ReadableResults: ~Copyable {
    /// A change of the results.
    struct Step {
        /// The results after it.
        let list: ResultList
        let change: ResultChange
        /// The objects of the change's deletions, in the same order.
        let removed: [ObjectRef]
        /// Whether other objects cannot be read than before, or for another reason.
        let changesUnreadable: Bool
    }

    private var readability: Readability?
    /// What can be read, once something cannot: from when ``isApart`` is set.
    private var own = ResultEditor(ResultList(schema: Schema(), order: SortOrder([]), limit: nil))
    private var isApart = false
    private let ignored: PropertySet
    private let reportsPending: Bool
    /// Why objects among the results cannot be read.
    private(set) var unreadable: [ObjectRef: ModelError] = [:]
    private var changesUnreadable = false
    /// Whether the schema has changed since objects were looked at.
    private var mustLookAgain = false

    /// - Parameters:
    ///   - readability: which objects can be read; nil for all.
    ///   - ignored: the properties whose changes are no modifications.
    ///   - reportsPending: whether it is a modification that writes of an object begin or cease to be pending.
    init(_ readability: Readability?, ignoring ignored: PropertySet, reportsPending: Bool) {
        self.readability = readability
        self.ignored = ignored
        self.reportsPending = reportsPending
    }

    /// Goes on with a later schema.
    mutating func adopt(_ schema: Schema) {
        if readability?.adopt(schema) ?? false { mustLookAgain = true }
        if isApart { own.adopt(schema) }
    }

    /// Follows a change of all results.
    ///
    /// - Parameters:
    ///   - edits: what has changed them.
    ///   - change: the change.
    ///   - before: all results before it.
    ///   - all: all results after it.
    mutating func follow(
        _ edits: some Collection<ResultEdit>, _ change: ResultChange, from before: ResultList,
        to all: borrowing ResultEditor
    ) -> Step {
        changesUnreadable = false
        let edits = readableEdits(edits, change, from: before, to: all)
        if !isApart, !unreadable.isEmpty {
            own = ResultEditor(before.list(of: before.visible), ignoring: ignored, reportsPending: reportsPending)
            isApart = true
        }
        guard isApart else {
            let removed = change.deletions.map { before.entries[$0.index].object }
            return Step(list: all.list, change: change, removed: removed, changesUnreadable: false)
        }
        let old = own.list
        let change = own.apply(edits)
        let removed = change.deletions.map { old.entries[$0.index].object }
        return Step(list: own.list, change: change, removed: removed, changesUnreadable: changesUnreadable)
    }

    /// The edits of what can be read.
    private mutating func readableEdits(
        _ edits: some Collection<ResultEdit>, _ change: ResultChange, from before: ResultList,
        to all: borrowing ResultEditor
    ) -> [ResultEdit] {
        let list = all.list
        if !isApart, !mustLookAgain, readsEveryObject(of: edits) { return [] }
        var readable: [ResultEdit] = []
        readable.reserveCapacity(edits.count)
        for edit in edits {
            switch edit {
            case .touch: readable.append(edit)
            case .remove(let object, let reason): readable.append(removal(of: object, reason))
            case .upsert(let entry):
                let isShown = isVisible(entry.object, in: all)
                readable.append(isShown ? judged(entry, in: list) : removal(of: entry.object, .window))
            }
        }
        if list.limit != nil {
            // Others have been pushed over the limit, or have come within it.
            let edited = Set(edits.map(\.object))
            for deletion in change.deletions {
                readable.append(removal(of: before.entries[deletion.index].object, deletion.reason))
            }
            for index in change.insertions where !edited.contains(list.entries[index].object) {
                readable.append(judged(list.entries[index], in: list))
            }
        }
        if mustLookAgain { readable += editsOfOthers(than: readable, in: list) }
        return readable
    }

    private func isVisible(_ object: ObjectRef, in all: borrowing ResultEditor) -> Bool {
        guard all.list.limit != nil else { return true }
        guard let index = all.index(of: object) else { return false }
        return index < all.list.visibleCount
    }

    /// Whether nothing that edits bring needs to be looked at. Results are of one class. O(1).
    private mutating func readsEveryObject(of edits: some Collection<ResultEdit>) -> Bool {
        guard let first = edits.first else { return true }
        return readability?.readsEveryObject(ofClass: first.object.classIndex) ?? true
    }

    /// The edits of objects that a new schema has made readable, or unreadable. O(results).
    private mutating func editsOfOthers(than edits: [ResultEdit], in list: ResultList) -> [ResultEdit] {
        mustLookAgain = false
        let edited = Set(edits.map(\.object))
        return list.visible.filter { !edited.contains($0.object) }.compactMap { entry in
            let wasReadable = unreadable[entry.object] == nil
            let edit = judged(entry, in: list)
            return wasReadable == (unreadable[entry.object] == nil) ? nil : edit
        }
    }

    private mutating func judged(_ entry: ResultEntry, in list: ResultList) -> ResultEdit {
        guard let error = readability?.error(of: entry, in: list) else {
            noteReadable(entry.object)
            return .upsert(entry)
        }
        if unreadable.updateValue(error, forKey: entry.object) != error { changesUnreadable = true }
        return .remove(entry.object, .unreadable)
    }

    private mutating func removal(of object: ObjectRef, _ reason: RemovalReason) -> ResultEdit {
        noteReadable(object)
        return .remove(object, reason)
    }

    private mutating func noteReadable(_ object: ObjectRef) {
        if unreadable.removeValue(forKey: object) != nil { changesUnreadable = true }
    }
}
