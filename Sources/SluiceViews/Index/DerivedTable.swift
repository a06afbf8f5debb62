import SluiceModel
import SluiceQuery

/// Stores numbers under conditions on what one expression computes, such as a count of backlinks. A commit computes the
/// values of the objects that it concerns once for all numbers, in the state before it and in the state after it.
struct DerivedTable {
    private let value: DerivedValues
    private let dependents: PathDependents
    private let rootClass: Int
    /// The numbers that a change of an object of the queried class finds: the values of each result meet the condition.
    let anchors = ConditionTable()
    /// The numbers that changes of linked objects find.
    let linked = ConditionTable()

    /// The most objects whose values a commit computes. A commit that concerns more of them finds all numbers.
    static let objectCountMax = 256

    /// - Parameters:
    ///   - condition: a condition on the values.
    ///   - filing: a filing whose query has the condition.
    init(_ condition: DerivedCondition, _ filing: Filing) {
        value = DerivedValues(condition, schema: filing.schema)
        dependents = PathDependents(value.dependencies)
        rootClass = filing.rootClass ?? -1
    }

    var isEmpty: Bool { anchors.isEmpty && linked.isEmpty }

    func forEachCandidate(
        of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        if !anchors.isEmpty, commit.classes.contains(rootClass) {
            // Nothing is read for what the object itself has.
            var left = dependents.isEmpty ? Int.max : Self.objectCountMax
            for change in commit.changes where change.object.classIndex == rootClass {
                left -= 1
                guard left >= 0 else { return anchors.forEach(body) }
                try find(anchors, change.old, change.new, of: commit, in: source, before: before, body)
            }
        }
        guard !linked.isEmpty else { return }
        guard let affected = try dependents.roots(affectedBy: commit, in: source, atMost: Self.objectCountMax) else {
            return linked.forEach(body)
        }
        for (object, _) in affected {
            let change = commit.change(of: object)
            let new = try change.map { $0.new } ?? source.row(object)
            try find(linked, change.map { $0.old } ?? new, new, of: commit, in: source, before: before, body)
        }
    }

    /// Calls `body` with the numbers that an object of the queried class meets, in the state before a commit or in the
    /// state after it.
    func forEachAnchored(
        _ old: Row?, _ new: Row?, of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource,
        _ body: (UInt64) -> Void
    ) throws {
        guard !anchors.isEmpty else { return }
        try find(anchors, old, new, of: commit, in: source, before: before, body)
    }

    private func find(
        _ conditions: ConditionTable, _ old: Row?, _ new: Row?, of commit: CommitDelta, in source: any ObjectSource,
        before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        let newValues = try new.map { try value.found(of: $0, in: source) }
        let oldValues = try old.map { old in
            try earlierCount(of: old.key, newValues, commit) ?? value.found(of: old, in: before)
        }
        guard let lookups = Self.values([oldValues, newValues]) else { return conditions.forEach(body) }
        for value in lookups { conditions.forEach(metBy: value, body) }
    }

    /// All values of two states, each once; nil if every condition may hold.
    private static func values(_ states: [DerivedValues.Found?]) -> [Value]? {
        var all: [Value] = []
        for case .some(let state) in states {
            guard case .values(let values) = state else { return nil }
            all += values
        }
        guard all.count > 1 else { return all }
        if all.count == 2 { return all[0] == all[1] ? [all[0]] : all }
        return Array(Set(all))
    }

    /// The count of backlinks before a commit, from the count after it and the links that the commit changed. Nil if the
    /// value is no such count, or is not known after the commit.
    private func earlierCount(
        of key: ObjectKey, _ newValues: DerivedValues.Found?, _ commit: CommitDelta
    ) -> DerivedValues.Found? {
        guard let backlinks = value.countedBacklinks, case .values(let values)? = newValues,
            case .int(var count)? = values.first
        else { return nil }
        for change in commit.changes {
            for backlink in backlinks where backlink.classIndex == change.object.classIndex {
                if Self.links(change.new, to: key, by: backlink.property) { count -= 1 }
                if Self.links(change.old, to: key, by: backlink.property) { count += 1 }
            }
        }
        return .values([.int(count)])
    }

    private static func links(_ row: Row?, to key: ObjectKey, by property: Int) -> Bool {
        var links = false
        row?.forEachLink(in: property) { links = links || $0 == key }
        return links
    }
}
