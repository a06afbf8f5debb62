import SluiceModel
import SluiceQuery

extension LiveView {
    /// What a commit group changes about the roots: every object that became a root or stopped being one, and every
    /// changed object that was or is a root.
    func rootChanges(
        _ commit: CommitDelta, in source: any ViewSource, before: OldStateSource
    ) throws -> [RootChange] {
        if query.object != nil { return objectChanges(commit) }
        let affected = try dependents.roots(affectedBy: commit, in: source)
        if chain != nil { return try chainChanges(commit, affected, in: source) }
        return window == nil
            ? try predicateChanges(commit, affected, in: source, before: before)
            : try windowChanges(commit, affected, in: source)
    }

    private func objectChanges(_ commit: CommitDelta) -> [RootChange] {
        if resolved == nil {
            resolved =
                commit.changes.first { change in
                    change.new != nil
                        && Identity(className: schema[change.object.classIndex].name, key: change.object.key).objectID
                            == query.object
                }?.object
        }
        guard let resolved, let change = commit.change(of: resolved) else { return [] }
        return [
            RootChange(object: resolved, wasRoot: change.old != nil, isRoot: change.new != nil, reason: .deleted)
        ]
    }

    private func predicateChanges(
        _ commit: CommitDelta, _ affected: [(object: ObjectRef, changes: [Int])], in source: any ViewSource,
        before: OldStateSource
    ) throws -> [RootChange] {
        let causes = Dictionary(uniqueKeysWithValues: affected.map { ($0.object, $0.changes) })
        let concerned = concernedProperties[query.classIndex] ?? []
        var changes: [RootChange] = []
        func judge(_ object: ObjectRef, old: Row?, new: Row?, mayDiffer: Bool) throws {
            let wasRoot = try old.map { try evaluator.matches($0, in: before) } ?? false
            let isRoot = mayDiffer ? try new.map { try evaluator.matches($0, in: source) } ?? false : wasRoot
            guard wasRoot || isRoot else { return }
            changes.append(
                RootChange(
                    object: object, wasRoot: wasRoot, isRoot: isRoot, reason: new == nil ? .deleted : .filter,
                    causes: causes[object] ?? []))
        }
        for change in commit.changes
        where change.object.classIndex == query.classIndex
            && (change.concerns(concerned) || causes[change.object] != nil)
        {
            let mayDiffer =
                change.concerns(query.predicateDependencies.rootProperties) || causes[change.object] != nil
            try judge(change.object, old: change.old, new: change.new, mayDiffer: mayDiffer)
        }
        for (object, _) in affected where commit.change(of: object) == nil {
            let row = try source.row(object)
            try judge(object, old: row, new: row, mayDiffer: true)
        }
        return changes
    }

    func windowChanges(
        _ commit: CommitDelta, _ affected: [(object: ObjectRef, changes: [Int])], in source: any ViewSource
    ) throws -> [RootChange] {
        guard var window else { return [] }
        self.window = nil
        defer { self.window = window }
        let oldLimit = window.limitPosition
        let causes = Dictionary(uniqueKeysWithValues: affected.map { ($0.object, $0.changes) })
        var moved: [ObjectRef: MovedRoot] = [:]
        var order: [ObjectRef] = []
        func place(_ object: ObjectRef, _ row: Row?) throws {
            let wasMember = window.positions[object].map { window.isWithin($0, oldLimit) } ?? false
            var newPosition: SortPosition?
            if let row, try evaluator.matches(row, in: source) { newPosition = try position(of: row, in: source) }
            window.place(object, at: newPosition)
            moved[object] = MovedRoot(wasMember: wasMember, isPresent: row != nil, matches: newPosition != nil)
            order.append(object)
        }
        var unmoved: [ObjectRef] = []
        for change in commit.changes where change.object.classIndex == query.classIndex {
            if change.concerns(query.dependencies.rootProperties) || causes[change.object] != nil {
                try place(change.object, change.new)
            } else if window.positions[change.object] != nil {
                unmoved.append(change.object)
            }
        }
        for (object, _) in affected where commit.change(of: object) == nil {
            try place(object, try source.row(object))
        }
        if window.needsRefill { try fill(&window, in: source) }

        var changes: [RootChange] = []
        for object in order {
            guard let move = moved[object] else { continue }
            let isMember = window.contains(object)
            guard move.wasMember || isMember else { continue }
            changes.append(
                RootChange(
                    object: object, wasRoot: move.wasMember, isRoot: isMember, reason: move.reason,
                    causes: causes[object] ?? []))
        }
        for crossing in window.crossings(from: oldLimit) where moved[crossing.object] == nil {
            changes.append(crossing)
        }
        let crossed = Set(changes.lazy.map(\.object))
        for object in unmoved where !crossed.contains(object) && window.contains(object) {
            changes.append(RootChange(object: object, wasRoot: true, isRoot: true, reason: .window))
        }
        window.trim()
        return changes
    }
}

/// What happened to an object that was placed anew in a window or a chain.
struct MovedRoot {
    let wasMember: Bool
    let isPresent: Bool
    let matches: Bool

    var reason: RemovalReason { isPresent ? matches ? .window : .filter : .deleted }
}

extension Window {
    /// The entries between the old and the new last position within the limit: they entered or left the limit without
    /// moving.
    fileprivate func crossings(from oldLimit: SortPosition?) -> [RootChange] {
        let newLimit = limitPosition
        guard oldLimit != newLimit, limit > 0 else { return [] }
        let lower = [oldLimit, newLimit].compactMap { $0 }.min { order.precedes($0, $1) }
        guard let lower else { return [] }
        var changes: [RootChange] = []
        for entry in entries[firstIndex(notBefore: lower)...] {
            let was = isWithin(entry.position, oldLimit)
            let isNow = isWithin(entry.position, newLimit)
            guard was || isNow else { break }
            guard was != isNow else { continue }
            changes.append(RootChange(object: entry.object, wasRoot: was, isRoot: isNow, reason: .window))
        }
        return changes
    }
}
