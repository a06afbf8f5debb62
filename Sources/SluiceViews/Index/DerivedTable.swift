import SluiceModel
import SluiceQuery

/// Stores numbers under conditions on one computed value, such as a count of backlinks. A commit computes the values of
/// the objects that it concerns once for all numbers, in the state before it and in the state after it.
struct DerivedTable {
    private let value: DerivedValue
    private let dependents: PathDependents
    private let rootClass: Int
    /// The numbers that a change of an object of the queried class finds: the value of each result meets the condition.
    var anchors = ConditionTable()
    /// The numbers that changes of linked objects find.
    var linked = ConditionTable()

    /// The most objects whose values a commit computes. A commit that concerns more of them finds all numbers.
    static let objectCountMax = 256

    /// - Parameters:
    ///   - path: what computes the value.
    ///   - filing: a filing whose query has the path.
    init(_ path: Query.Path, _ filing: Filing) {
        value = DerivedValue(path, schema: filing.schema)
        dependents = PathDependents(value.dependencies)
        rootClass = filing.rootClass ?? -1
    }

    var isEmpty: Bool { anchors.isEmpty && linked.isEmpty }

    func forEachCandidate(
        of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        if !anchors.isEmpty, commit.classes.contains(rootClass) {
            var left = Self.objectCountMax
            for change in commit.changes where change.object.classIndex == rootClass {
                left -= 1
                guard left >= 0 else { return anchors.forEach(body) }
                try find(anchors, change.old, change.new, in: source, before: before, body)
            }
        }
        guard !linked.isEmpty else { return }
        let affected = try dependents.roots(affectedBy: commit, in: source)
        guard affected.count <= Self.objectCountMax else { return linked.forEach(body) }
        for (object, _) in affected {
            try find(linked, before.row(object), source.row(object), in: source, before: before, body)
        }
    }

    private func find(
        _ conditions: ConditionTable, _ old: Row?, _ new: Row?, in source: any ObjectSource,
        before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        let oldValue = try old.map { try value.value(of: $0, in: before) }
        let newValue = try new.map { try value.value(of: $0, in: source) }
        if let oldValue { conditions.forEach(metBy: oldValue, body) }
        if let newValue, newValue != oldValue { conditions.forEach(metBy: newValue, body) }
    }
}
