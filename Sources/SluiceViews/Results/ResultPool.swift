package import SluiceModel
package import SluiceQuery

/// Holds everything that matches a query with stages (DISTINCT, or SORT after LIMIT), beside the list of the results
/// that the stages leave.
package struct ResultPool: Sendable {
    private let query: Query
    private var entries: [ObjectRef: ResultEntry] = [:]

    /// Returns nil for a query without stages, whose list itself holds everything.
    package init?(_ query: Query) {
        guard !query.stages.isEmpty else { return nil }
        self.query = query
    }

    package func contains(_ object: ObjectRef) -> Bool { entries[object] != nil }

    package var objects: some Collection<ObjectRef> { entries.keys }

    /// Replaces the content, and returns what the stages leave.
    package mutating func replace(with new: [ResultEntry]) -> [ResultEntry] {
        entries = Dictionary(new.map { ($0.object, $0) }) { $1 }
        return derived
    }

    /// Applies edits of the matches, and returns the resulting edits of `results`, which has what the stages have left
    /// so far.
    package mutating func apply(_ edits: [ResultEdit], to results: borrowing ResultEditor) -> [ResultEdit] {
        var reasons: [ObjectRef: RemovalReason] = [:]
        var touched: Set<ObjectRef> = []
        for edit in edits {
            touched.insert(edit.object)
            switch edit {
            case .upsert(let entry): entries[entry.object] = entry
            case .touch: break
            case .remove(let object, let reason):
                entries[object] = nil
                reasons[object] = reason
            }
        }
        let upserted = Set(edits.compactMap { edit in if case .upsert(let entry) = edit { entry.object } else { nil } })
        var result: [ResultEdit] = []
        var kept: Set<ObjectRef> = []
        for entry in derived {
            kept.insert(entry.object)
            if !results.contains(entry.object) || upserted.contains(entry.object) {
                result.append(.upsert(entry))
            }
            if results.contains(entry.object), touched.contains(entry.object), !upserted.contains(entry.object) {
                result.append(.touch(entry.object))
            }
        }
        for entry in results.list.entries where !kept.contains(entry.object) {
            result.append(
                .remove(entry.object, entries[entry.object] == nil ? reasons[entry.object] ?? .unknown : .window))
        }
        return result
    }

    private var derived: [ResultEntry] {
        query.results(among: Array(entries.values), values: \.position.values, id: \.position.id)
    }
}
