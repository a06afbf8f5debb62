import SluiceModel
import SluiceQuery

/// Judges and places the possible roots of one query.
struct RootJudge {
    let query: Query
    let shape: ViewShape
    let evaluator: Evaluator

    func matches(_ row: Row, in source: any ObjectSource) throws -> Bool { try evaluator.matches(row, in: source) }

    /// The position of a root in the query's order.
    func position(of row: Row, in source: any ObjectSource) throws -> SortPosition {
        SortPosition(
            values: try evaluator.sortValues(of: row, in: source),
            id: Identity(className: query.className, key: row.key).objectID)
    }

    /// The objects of the queried class that a commit may make roots, or no roots any more, or move.
    func affected(by commit: CommitDelta, in source: any ObjectSource) throws -> AffectedRoots {
        AffectedRoots(try shape.dependents.roots(affectedBy: commit, in: source))
    }

    /// The possible roots that a commit may move, with their rows after it, and the other changed objects of the
    /// queried class.
    func moves(
        _ commit: CommitDelta, _ affected: AffectedRoots, in source: any ObjectSource
    ) throws -> (moved: [(object: ObjectRef, row: Row?)], others: [ObjectRef]) {
        var moved: [(object: ObjectRef, row: Row?)] = []
        var others: [ObjectRef] = []
        for change in commit.changes where change.object.classIndex == query.classIndex {
            if change.concerns(query.dependencies.rootProperties) || affected.contains(change.object) {
                moved.append((change.object, change.new))
            } else {
                others.append(change.object)
            }
        }
        for object in affected.objects where commit.change(of: object) == nil {
            moved.append((object, try source.row(object)))
        }
        return (moved, others)
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
        let concerned = shape.concernedProperties[query.classIndex] ?? []
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
        where change.object.classIndex == query.classIndex
            && (change.concerns(concerned) || affected.contains(change.object))
        {
            let mayDiffer =
                change.concerns(query.predicateDependencies.rootProperties) || affected.contains(change.object)
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

    init(_ roots: [(object: ObjectRef, changes: [Int])]) {
        objects = roots.map(\.object)
        changes = roots.isEmpty ? [:] : Dictionary(uniqueKeysWithValues: roots.map { ($0.object, $0.changes) })
    }

    func contains(_ object: ObjectRef) -> Bool { changes[object] != nil }

    /// The positions in the commit of the changes that the object reads.
    func causes(of object: ObjectRef) -> [Int] { changes[object] ?? [] }
}
