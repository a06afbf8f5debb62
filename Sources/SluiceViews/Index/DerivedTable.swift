import SluiceModel
import SluiceQuery

/// Stores numbers under conditions on one computed value, such as a count of backlinks. A commit computes the values of
/// the objects that it concerns once for all numbers, in the state before it and in the state after it.
struct DerivedTable {
    private let value: DerivedValue
    private let dependents: PathDependents
    private let rootClass: Int
    /// The numbers that a change of an object of the queried class finds: the value of each result meets the condition.
    let anchors = ConditionTable()
    /// The numbers that changes of linked objects find.
    let linked = ConditionTable()

    /// The most objects whose values a commit computes. A commit that concerns more of them finds all numbers.
    static let objectCountMax = 256

    /// - Parameters:
    ///   - condition: a condition on the value.
    ///   - filing: a filing whose query has the condition.
    init(_ condition: DerivedCondition, _ filing: Filing) {
        value = DerivedValue(condition, schema: filing.schema)
        dependents = PathDependents(value.dependencies)
        rootClass = filing.rootClass ?? -1
    }

    var isEmpty: Bool { anchors.isEmpty && linked.isEmpty }

    func forEachCandidate(
        of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        if !anchors.isEmpty, commit.classes.contains(rootClass) {
            // Nothing is read for what the object itself has.
            var left = value.dependencies.linkPaths.isEmpty ? Int.max : Self.objectCountMax
            for change in commit.changes where change.object.classIndex == rootClass {
                left -= 1
                guard left >= 0 else { return anchors.forEach(body) }
                try find(anchors, change.old, change.new, of: commit, in: source, before: before, body)
            }
        }
        guard !linked.isEmpty else { return }
        let affected = try dependents.roots(affectedBy: commit, in: source)
        guard affected.count <= Self.objectCountMax else { return linked.forEach(body) }
        for (object, _) in affected {
            let change = commit.change(of: object)
            let new = try change.map { $0.new } ?? source.row(object)
            try find(linked, change.map { $0.old } ?? new, new, of: commit, in: source, before: before, body)
        }
    }

    private func find(
        _ conditions: ConditionTable, _ old: Row?, _ new: Row?, of commit: CommitDelta, in source: any ObjectSource,
        before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        let newValue = try new.map { try value.value(of: $0, in: source) }
        let oldValue = try old.map { old in
            try earlierCount(of: old.key, newValue, commit) ?? value.value(of: old, in: before)
        }
        if let oldValue { conditions.forEach(metBy: oldValue, body) }
        if let newValue, newValue != oldValue { conditions.forEach(metBy: newValue, body) }
    }

    /// The count of backlinks before a commit, from the count after it and the links that the commit changed. Nil if the
    /// value is no such count, or is not known after the commit.
    private func earlierCount(of key: ObjectKey, _ newValue: Value?, _ commit: CommitDelta) -> Value? {
        guard let backlinks = value.countedBacklinks, case .int(var count)? = newValue else { return nil }
        for change in commit.changes {
            for backlink in backlinks where backlink.classIndex == change.object.classIndex {
                if Self.links(change.new, to: key, by: backlink.property) { count -= 1 }
                if Self.links(change.old, to: key, by: backlink.property) { count += 1 }
            }
        }
        return .int(count)
    }

    private static func links(_ row: Row?, to key: ObjectKey, by property: Int) -> Bool {
        var links = false
        row?.forEachLink(in: property) { links = links || $0 == key }
        return links
    }
}
