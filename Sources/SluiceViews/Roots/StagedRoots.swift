import SluiceModel
import SluiceQuery

/// Holds everything that matches a query with stages (DISTINCT, or SORT after LIMIT), and the results that the stages
/// leave. If the first stage is a limit, only the objects within that limit count as matches.
///
/// One change may add and remove results anywhere. So the stages run again over all matches whenever one of them moves,
/// which costs a sort of what is held and reads nothing.
struct StagedRoots {
    private(set) var positions: [ObjectRef: SortPosition] = [:]
    /// The results, in order.
    private(set) var members: [ObjectRef] = []
    private var memberSet: Set<ObjectRef> = []
    /// The window of the first stage, if that is a limit, with what judges its roots.
    private var leading: (judge: RootMatcher, window: Window)?

    /// Reads everything that matches or, if the first stage is a limit, what that leaves.
    init(_ judge: RootMatcher, overscan: Int?, in source: any ViewSource) throws {
        let query = judge.query
        if let first = query.leading(schema: judge.shape.schema), let limit = first.limit {
            let shape = ViewShape(
                first.form, in: first.context, schema: judge.shape.schema,
                affectedCountMax: judge.shape.affectedCountMax)
            let leadingJudge = RootMatcher(first, shape: shape)
            let window = try Window(limit: limit, leadingJudge, overscan: overscan, in: source)
            for key in window.members {
                let object = ObjectRef(query.classIndex, key)
                guard let row = try source.row(object) else { continue }
                positions[object] = try judge.position(of: row, in: source)
            }
            leading = (leadingJudge, window)
        } else {
            try source.rows(matching: query, after: nil, limit: nil) { row in
                positions[ObjectRef(query.classIndex, row.key)] = try judge.position(of: row, in: source)
                return true
            }
        }
        derive(for: query)
    }

    /// The same state, which can then change independently.
    func copy() -> StagedRoots {
        var copy = self
        copy.leading = leading.map { ($0.judge, $0.window.copy()) }
        return copy
    }

    func contains(_ object: ObjectRef) -> Bool { memberSet.contains(object) }

    /// Runs the stages over all matches.
    private mutating func derive(for query: Query) {
        let matches = positions.map { (object: $0.key, position: $0.value) }
        members = query.results(among: matches, values: \.position.values, id: \.position.id).map(\.object)
        memberSet = Set(members)
    }

    /// Follows a commit group; see ``RootState/apply(_:_:in:before:)``.
    mutating func apply(
        _ commit: CommitDelta, _ judge: RootMatcher, in source: any ViewSource, before: any ObjectSource
    ) throws -> [RootChange] {
        let query = judge.query
        // Without a leading limit everything that matches is held, and reading that anew may take longer.
        let countMax = leading == nil ? Int.max : judge.shape.affectedCountMax
        guard let affected = try judge.affected(by: commit, in: source, atMost: countMax) else {
            let former = members
            self = try StagedRoots(judge, overscan: nil, in: source)
            return try judge.changes(from: former, to: members, commit, in: source, before: before)
        }
        let (oldMembers, oldSet) = (members, memberSet)
        let leadingChanges = try followLeading(commit, in: source, before: before)
        var moved: [ObjectRef: MovedRoot] = [:]
        var order: [ObjectRef] = []
        var hasMoved = false
        func place(_ object: ObjectRef, _ row: Row?) throws {
            var position: SortPosition?
            let matches = try row.map { try judge.matches($0, in: source) } ?? false
            if let row, matches, try leading.map({ try $0.window.contains(row, $0.judge, in: source) }) ?? true {
                position = try judge.position(of: row, in: source)
            }
            if positions[object] != position { hasMoved = true }
            positions[object] = position
            moved[object] = MovedRoot(wasMember: oldSet.contains(object), isPresent: row != nil, matches: matches)
            order.append(object)
        }
        var unmoved: [ObjectRef] = []
        try judge.forEachMove(commit, affected, in: source) { object, _, _, row, isMoved in
            if isMoved { try place(object, row) } else if positions[object] != nil { unmoved.append(object) }
        }
        for change in leadingChanges where change.wasRoot != change.isRoot && moved[change.object] == nil {
            try place(change.object, try source.row(change.object))
        }
        if hasMoved { derive(for: query) }

        var changes: [RootChange] = []
        for object in order {
            guard let move = moved[object], move.wasMember || contains(object) else { continue }
            changes.append(
                RootChange(
                    object: object, wasRoot: move.wasMember, isRoot: contains(object), reason: move.reason,
                    causes: affected.causes(of: object)))
        }
        for object in oldMembers where moved[object] == nil && !contains(object) {
            changes.append(RootChange(object: object, wasRoot: true, isRoot: false, reason: .window))
        }
        for object in members where moved[object] == nil && !oldSet.contains(object) {
            changes.append(RootChange(object: object, wasRoot: false, isRoot: true, reason: .window))
        }
        for object in unmoved where moved[object] == nil && oldSet.contains(object) && contains(object) {
            changes.append(RootChange(object: object, wasRoot: true, isRoot: true, reason: .window))
        }
        return changes
    }

    /// What enters and leaves the window of the first stage, if that is a limit.
    private func followLeading(
        _ commit: CommitDelta, in source: any ViewSource, before: any ObjectSource
    ) throws -> [RootChange] {
        try leading.map { try $0.window.apply(commit, $0.judge, in: source, before: before).all } ?? []
    }
}
