import SluiceModel
import SluiceQuery

/// Holds everything that matches a query with stages (DISTINCT, or SORT after LIMIT), and the results that the stages
/// leave. If the first stage is a limit, only the objects within that limit count as matches.
///
/// One change may add and remove results anywhere. So the stages run again over all matches whenever one of them moves,
/// which costs a sort of what is held and reads nothing.
struct Chain {
    private(set) var positions: [ObjectRef: SortPosition] = [:]
    /// The results, in order.
    private(set) var members: [ObjectRef] = []
    private var memberSet: Set<ObjectRef> = []

    func contains(_ object: ObjectRef) -> Bool { memberSet.contains(object) }

    /// Records the current position of an object; nil if it no longer matches.
    mutating func place(_ object: ObjectRef, at position: SortPosition?) { positions[object] = position }

    /// Runs the stages over all matches.
    mutating func derive(for query: Query) {
        let matches = positions.map { (object: $0.key, position: $0.value) }
        members = query.results(among: matches, values: \.position.values, id: \.position.id).map(\.object)
        memberSet = Set(members)
    }
}

extension LiveView {
    /// Reads everything that matches.
    func makeChain(in source: any ViewSource) throws -> Chain {
        var chain = Chain()
        if let leading {
            let window = try leading.makeWindow(in: source)
            leading.window = window
            for object in window?.members.map({ $0 }) ?? [] {
                if let row = try source.row(object) { chain.place(object, at: try position(of: row, in: source)) }
            }
            chain.derive(for: query)
            return chain
        }
        try source.rows(matching: query, after: nil, limit: nil) { row in
            chain.place(ObjectRef(query.classIndex, row.key), at: try position(of: row, in: source))
            return true
        }
        chain.derive(for: query)
        return chain
    }

    func chainChanges(
        _ commit: CommitDelta, _ affected: [(object: ObjectRef, changes: [Int])], in source: any ViewSource
    ) throws -> [RootChange] {
        guard var chain else { return [] }
        self.chain = nil
        defer { self.chain = chain }
        let before = chain
        let causes = Dictionary(uniqueKeysWithValues: affected.map { ($0.object, $0.changes) })
        let leadingChanges = try leadingChanges(commit, in: source)
        var moved: [ObjectRef: MovedRoot] = [:]
        var order: [ObjectRef] = []
        var hasMoved = false
        func place(_ object: ObjectRef, _ row: Row?) throws {
            var position: SortPosition?
            let matches = try row.map { try evaluator.matches($0, in: source) } ?? false
            if let row, matches, leading?.window?.contains(object) ?? true {
                position = try self.position(of: row, in: source)
            }
            if chain.positions[object] != position { hasMoved = true }
            chain.place(object, at: position)
            moved[object] = MovedRoot(
                wasMember: before.contains(object), isPresent: row != nil, matches: matches)
            order.append(object)
        }
        var unmoved: [ObjectRef] = []
        for change in commit.changes where change.object.classIndex == query.classIndex {
            if change.concerns(query.dependencies.rootProperties) || causes[change.object] != nil {
                try place(change.object, change.new)
            } else if chain.positions[change.object] != nil {
                unmoved.append(change.object)
            }
        }
        for (object, _) in affected where commit.change(of: object) == nil {
            try place(object, try source.row(object))
        }
        for change in leadingChanges where change.wasRoot != change.isRoot && moved[change.object] == nil {
            try place(change.object, try source.row(change.object))
        }
        if hasMoved { chain.derive(for: query) }

        var changes: [RootChange] = []
        for object in order {
            guard let move = moved[object], move.wasMember || chain.contains(object) else { continue }
            changes.append(
                RootChange(
                    object: object, wasRoot: move.wasMember, isRoot: chain.contains(object), reason: move.reason,
                    causes: causes[object] ?? []))
        }
        for object in before.members where moved[object] == nil && !chain.contains(object) {
            changes.append(RootChange(object: object, wasRoot: true, isRoot: false, reason: .window))
        }
        for object in chain.members where moved[object] == nil && !before.contains(object) {
            changes.append(RootChange(object: object, wasRoot: false, isRoot: true, reason: .window))
        }
        for object in unmoved where moved[object] == nil && before.contains(object) && chain.contains(object) {
            changes.append(RootChange(object: object, wasRoot: true, isRoot: true, reason: .window))
        }
        return changes
    }

    /// What enters and leaves the window of the first stage, if that is a limit.
    private func leadingChanges(_ commit: CommitDelta, in source: any ViewSource) throws -> [RootChange] {
        guard let leading else { return [] }
        let affected = try leading.dependents.roots(affectedBy: commit, in: source)
        return try leading.windowChanges(commit, affected, in: source)
    }
}
