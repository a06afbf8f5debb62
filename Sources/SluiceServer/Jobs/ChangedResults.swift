internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Finds in the log what has changed in the results of a query, for a consumer that has come up to a version.
///
/// A query whose condition reads nothing but the object itself, and that has no limit, is *plain*. Its changes are found
/// in the log, a stretch of it at a time: an object is given when the log comes to its last change, so it is given once,
/// however often it has changed, and nothing is kept of what the log tells before. It is given as removed where the log
/// comes to a change before which it matched, and it does not match now. So memory is bounded by the stretch, however
/// long the log is.
///
/// For every other query the whole log since the version counts as one commit, and a view is taken back before it, as for
/// a client that returns (``LiveView/differences(since:in:)``). That takes memory for each object that has changed.
struct ChangedResults {
    private let storage: SQLiteServerStorage
    private let query: Query
    private let evaluator: Evaluator
    private let sizes: ChunkSizes

    init(_ query: Query, in storage: SQLiteServerStorage, _ sizes: ChunkSizes) {
        self.storage = storage
        self.sizes = sizes
        self.query = query
        evaluator = Evaluator(query, schema: storage.schema)
    }

    static func isPlain(_ query: Query) -> Bool {
        query.object == nil && !query.isPartial && !query.hasSection && !query.readsTime && query.stages.isEmpty
            && query.context.isEverything
            && query.predicateDependencies.linkPaths.isEmpty && !query.predicateDependencies.readsBacklinks
    }

    // MARK: Plain queries

    /// What the log tells of one object.
    private struct Trace {
        var last: UInt64
        /// Whether the object may have matched before one of its changes.
        var mayHaveMatched = false
    }

    /// Reads a stretch of the log.
    ///
    /// - Parameters:
    ///   - version: where the stretch begins.
    ///   - until: where it ends; nil after so many objects.
    ///   - key: objects up to this key are left out.
    ///   - last: objects behind this key are left out; nil for none.
    ///   - read: what was read at later versions, whose changes up to then are left out.
    /// - Returns: the items in the order of keys, and where the stretch ended.
    func plainChanges(
        after version: UInt64, until: UInt64?, beyond key: ObjectKey?, through last: ObjectKey? = nil,
        read: [Checkpoint.Stretch]
    ) throws -> (items: [ConsumerChunk.Item], until: UInt64) {
        var traces: [ObjectKey: Trace] = [:]
        var end = until ?? storage.version
        try storage.forEachLogEntry(after: version) { entry in
            if let until, entry.version > until { return false }
            for change in entry.changes where change.object.classIndex == query.classIndex {
                let object = change.object.key
                if let key, object <= key { continue }
                if let last, object > last { continue }
                if !read.isEmpty, entry.version <= read.version(of: object) { continue }
                traces[object, default: Trace(last: 0)].last = entry.version
                guard traces[object]?.mayHaveMatched == false else { continue }
                traces[object]?.mayHaveMatched = try mayHaveMatched(before: change, at: entry.version)
            }
            guard until == nil, traces.count >= sizes.objectCountMax else { return true }
            end = entry.version
            return false
        }
        let items = try traces.compactMap { object, trace -> ConsumerChunk.Item? in
            let reference = ObjectRef(query.classIndex, object)
            guard let row = try storage.row(reference) else {
                return trace.mayHaveMatched ? .removal(object, .deleted) : nil
            }
            guard try evaluator.matches(row, in: storage) else {
                return trace.mayHaveMatched ? .removal(object, .filter) : nil
            }
            // The log comes to its last change later.
            return row.version > end ? nil : .upsert(row)
        }
        return (items.sorted { $0.key < $1.key }, end)
    }

    /// Whether an object may have matched before a change. What later changes have written is not known as it was, so
    /// the answer is yes where the condition reads such a property, too.
    private func mayHaveMatched(before change: LogChange, at version: UInt64) throws -> Bool {
        let declared = storage.schema[query.classIndex]
        let needed = query.predicateDependencies.rootProperties
        switch change.kind {
        case .create: return false
        case .delete:
            guard change.oldVersion > 0 else { return false }
            let defaults = declared.defaultValues(for: change.object.key)
            let values = change.oldValues + defaults.dropFirst(change.oldValues.count)
            return try evaluator.matches(Row(key: change.object.key, values: values), in: storage)
        case .update:
            let written = change.written
            // What decides is not changed by it.
            if written.intersection(needed).isEmpty { return false }
            var row = try storage.row(change.object)
            let isLast = row?.version == version
            guard isLast || needed.subtracting(written).isEmpty else { return true }
            if row == nil {
                row = Row(key: change.object.key, values: declared.defaultValues(for: change.object.key))
            }
            for (property, value) in zip(written, change.oldValues) {
                // Of a list that was edited only what undoes that is kept.
                if case .undo? = change.oldLists[property], needed.contains(property) { return true }
                row?.set(value, of: property)
            }
            return try row.map { try evaluator.matches($0, in: storage) } ?? true
        }
    }

    // MARK: Other queries

    /// Finds everything that has changed since a version, or since what was read later.
    ///
    /// - Parameter read: what was read at which version: the changes of those objects since then.
    /// - Returns: the items, and the class of one of them; nil if more has changed than can be kept in memory.
    func differences(
        after version: UInt64, read: [Checkpoint.Stretch]
    ) throws -> (items: [ConsumerChunk.Item], classIndex: Int?)? {
        let live = LiveView(query, schema: storage.schema)
        try live.activate(in: storage)
        var items: [ConsumerChunk.Item] = []
        var classIndex: Int?
        var begin: ObjectKey?
        for stretch in read.isEmpty ? [Checkpoint.Stretch(through: nil, version: version)] : read {
            if let begin, let end = stretch.key, end <= begin { continue }
            guard let found = try differences(of: live, since: stretch.version, from: begin, through: stretch.key)
            else { return nil }
            items += found.map(\.item)
            classIndex = classIndex ?? found.first?.classIndex
            begin = stretch.key
        }
        return (items.sorted { $0.key < $1.key }, classIndex)
    }

    private func differences(
        of live: LiveView, since version: UInt64, from begin: ObjectKey?, through end: ObjectKey?
    ) throws -> [(item: ConsumerChunk.Item, classIndex: Int)]? {
        guard let olds = try storage.oldImages(since: version, countMax: sizes.differenceCountMax) else { return nil }
        var changed: Set<ObjectRef> = []
        let deltas = try olds.compactMap { object, old, written -> ObjectDelta? in
            let new = try storage.row(object)
            guard old != nil || new != nil else { return nil }
            changed.insert(object)
            return ObjectDelta(object: object, old: old, new: new, authors: [], written: written)
        }
        let time = TimeStep(from: try storage.time(ofVersion: version), to: storage.now)
        let changes = CommitDelta(changes: deltas, version: storage.version, time: time)
        let commit = try changes.passing(
            query.form.timeEdges, in: storage, schema: storage.schema, countMax: sizes.differenceCountMax)
        guard let commit else { return nil }
        return try live.differences(since: commit, in: storage).compactMap { difference in
            let object = difference.object
            if let begin, object.key <= begin { return nil }
            if let end, object.key > end { return nil }
            let (was, isNow) = (difference.before?.role == .root, difference.now?.role == .root)
            guard isNow, let row = try storage.row(object) else {
                return was ? (.removal(object.key, difference.reason), object.classIndex) : nil
            }
            return was && !changed.contains(object) ? nil : (.upsert(row), object.classIndex)
        }
    }
}
