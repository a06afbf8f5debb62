import SluiceModel
import SluiceQuery

/// Judges and places the possible roots of one query. An object, since every view that a commit concerns asks its own
/// for each change.
final class RootMatcher: Sendable {
    let query: Query
    let shape: ViewShape
    let evaluator: Evaluator
    /// What judges the condition alone, where that is not what makes a match.
    private let conditionEvaluator: Evaluator?
    private let classIndex: Int
    /// The properties of a possible root that the predicate or the order reads.
    private let placingProperties: PropertySet
    private let predicateProperties: PropertySet
    private let concernedProperties: PropertySet

    init(_ query: Query, shape: ViewShape) {
        self.query = query
        self.shape = shape
        evaluator = Evaluator(query, schema: shape.schema)
        conditionEvaluator =
            query.countsMatches && query.hasSection ? Evaluator(query.condition, schema: shape.schema) : nil
        classIndex = query.classIndex
        placingProperties = query.dependencies.rootProperties
        predicateProperties = query.predicateDependencies.rootProperties
        concernedProperties = shape.concernedProperties[query.classIndex] ?? []
    }

    func matches(_ row: Row, in source: any ObjectSource) throws -> Bool { try evaluator.matches(row, in: source) }

    /// Whether an object counts for the query's total: whether it meets the condition, in the query's section or not.
    ///
    /// - Parameter isMatch: whether it is a match.
    func counts(_ row: Row?, isMatch: Bool, in source: any ObjectSource) throws -> Bool {
        guard let conditionEvaluator, !isMatch, let row else { return isMatch }
        return try conditionEvaluator.matches(row, in: source)
    }

    /// Whether an object counts for the query's total, judging its condition anew.
    func counts(_ row: Row?, in source: any ObjectSource) throws -> Bool {
        guard let row else { return false }
        return try (conditionEvaluator ?? evaluator).matches(row, in: source)
    }

    /// The position of a root in the query's order.
    func position(of row: Row, in source: any ObjectSource) throws -> SortPosition {
        SortPosition(
            values: try evaluator.sortValues(of: row, in: source),
            id: Identity(className: query.className, key: row.key).objectID)
    }

    /// The values that place a row in the query's order.
    func sortValues(of row: Row, in source: any ObjectSource) throws -> SortValues {
        try evaluator.sortPlace(of: row, in: source)
    }

    /// The objects of the queried class that a commit may make roots, or no roots any more, or move.
    func affected(by commit: CommitDelta, in source: any ObjectSource) throws -> AffectedRoots {
        try affected(by: commit, in: source, atMost: .max) ?? .none
    }

    /// Does the same, unless changes of other objects concern more than `countMax`; then the result is nil.
    func affected(
        by commit: CommitDelta, in source: any ObjectSource, atMost countMax: Int
    ) throws -> AffectedRoots? {
        guard !shape.dependents.isEmpty else { return AffectedRoots.none }
        return try shape.dependents.roots(affectedBy: commit, in: source, atMost: countMax).map(AffectedRoots.init)
    }

    /// The changes between the roots that were held before a commit and those that were read after it.
    ///
    /// - Complexity: O(held roots + changes), and following the paths of those that differ.
    func changes(
        from former: [ObjectRef], to now: [ObjectRef], _ commit: CommitDelta, in source: any ObjectSource,
        before: any ObjectSource
    ) throws -> [RootChange] {
        let (were, are) = (Set(former), Set(now))
        let differing = former.filter { !are.contains($0) } + now.filter { !were.contains($0) }
        let causes = try shape.dependents.causes(of: differing, in: commit, source, before: before)
        var changes = try differing.map { object in
            let row = try source.row(object)
            let root = MovedRoot(
                wasMember: were.contains(object), isPresent: row != nil,
                matches: try row.map { try matches($0, in: source) } ?? false)
            return RootChange(
                object: object, wasRoot: root.wasMember, isRoot: !root.wasMember, reason: root.reason,
                causes: causes[object] ?? [])
        }
        for change in commit.changes where were.contains(change.object) && are.contains(change.object) {
            changes.append(RootChange(object: change.object, wasRoot: true, isRoot: true, reason: .window))
        }
        return changes
    }

    /// Calls `body` with the possible roots that a commit may move, and with the other changed objects of the queried
    /// class, each with the position of its change in the commit, if there is one, and with its rows before and after
    /// the commit.
    func forEachMove(
        _ commit: CommitDelta, _ affected: AffectedRoots, in source: any ObjectSource,
        _ body: (_ object: ObjectRef, _ position: Int?, _ old: Row?, _ new: Row?, _ isMoved: Bool) throws -> Void
    ) throws {
        for (position, change) in commit.changes.enumerated() where change.object.classIndex == classIndex {
            let isMoved = change.concerns(placingProperties) || affected.contains(change.object)
            try body(change.object, position, change.old, change.new, isMoved)
        }
        if affected.objects.isEmpty { return }
        for object in affected.objects where commit.change(of: object) == nil {
            let row = try source.row(object)
            try body(object, nil, row, row, true)
        }
    }

    /// How the number of matches of a query changes that shows none of them.
    ///
    /// - Parameter count: the number before the commit.
    func countChanges(
        _ count: Int, _ commit: CommitDelta, in source: any ViewSource, before: any ObjectSource
    ) throws -> RootChanges {
        guard let affected = try affected(by: commit, in: source, atMost: shape.affectedCountMax) else {
            let now = try source.matchCount(of: query)
            return now == count
                ? RootChanges() : RootChanges(total: now, totalCauses: Array(commit.changes.indices))
        }
        var countedMatches = CountedMatches(count)
        try forEachMove(commit, affected, in: source) { object, position, old, new, isMoved in
            guard isMoved else { return }
            let (counted, counts) = (try counts(old, in: before), try counts(new, in: source))
            if counted != counts { countedMatches.note(isMatch: counts, position, affected.causes(of: object)) }
        }
        return countedMatches.changes([])
    }

    /// The object of an `OBJECT(id)` query, if the commit created it.
    func objectCreated(in commit: CommitDelta) -> ObjectRef? {
        commit.changes.first { change in
            change.new != nil
                && Identity(className: shape.schema[change.object.classIndex].name, key: change.object.key).objectID
                    == query.object
        }?.object
    }

    /// The changes of the roots of a query whose predicate alone decides what is a root.
    func matchChanges(
        _ commit: CommitDelta, in source: any ViewSource, before: OldStateSource
    ) throws -> [RootChange] {
        let affected = try affected(by: commit, in: source)
        var changes: [RootChange] = []
        func judge(_ object: ObjectRef, old: Row?, new: Row?, mayDiffer: Bool) throws {
            let wasRoot = try old.map { try matches($0, in: before) } ?? false
            let isRoot = mayDiffer ? try new.map { try matches($0, in: source) } ?? false : wasRoot
            guard wasRoot || isRoot else { return }
            changes.append(
                RootChange(
                    object: object, wasRoot: wasRoot, isRoot: isRoot, reason: new == nil ? .deleted : .filter,
                    causes: affected.causes(of: object)))
        }
        for change in commit.changes
        where change.object.classIndex == classIndex
            && (change.concerns(concernedProperties) || affected.contains(change.object))
        {
            let mayDiffer =
                change.concerns(predicateProperties) || affected.contains(change.object)
            try judge(change.object, old: change.old, new: change.new, mayDiffer: mayDiffer)
        }
        for object in affected.objects where commit.change(of: object) == nil {
            let row = try source.row(object)
            try judge(object, old: row, new: row, mayDiffer: true)
        }
        return changes
    }
}

/// The possible roots that read changed objects through links, and which changes these are.
struct AffectedRoots {
    let objects: [ObjectRef]
    private let changes: [ObjectRef: [Int]]

    static let none = AffectedRoots([])

    init(_ roots: [(object: ObjectRef, changes: [Int])]) {
        objects = roots.map(\.object)
        changes = roots.isEmpty ? [:] : Dictionary(uniqueKeysWithValues: roots.map { ($0.object, $0.changes) })
    }

    func contains(_ object: ObjectRef) -> Bool { !changes.isEmpty && changes[object] != nil }

    /// The positions in the commit of the changes that the object reads.
    func causes(of object: ObjectRef) -> [Int] { changes.isEmpty ? [] : changes[object] ?? [] }
}
