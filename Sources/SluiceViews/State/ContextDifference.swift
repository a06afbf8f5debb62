package import SluiceModel
package import SluiceQuery

/// A commit group together with a change of what a reader may read, as that reader sees both: what is hidden from now
/// on is deleted for the reader, and what is uncovered is created.
///
/// All views that the reader has in the former context can follow it; see ``LiveView/switched(by:to:shape:memberCountMax:)``.
package final class ContextDifference {
    let commit: CommitDelta
    /// The state after the group, in the new context.
    let source: any ViewSource
    /// The state before the group, in the former context.
    let before: OldStateSource
    /// The objects that are hidden from now on, and present.
    private let hidden: Set<ObjectRef>
    /// How many objects the reader sees change.
    package var changeCount: Int { commit.changeCount }

    /// The cost is that of finding the objects that may be read in one of the contexts alone, and of judging them and
    /// what the group has changed.
    ///
    /// - Parameters:
    ///   - commit: the group as it is; without changes, only the context changes.
    ///   - former: what the reader could read before the group.
    ///   - context: what the reader may read after it.
    ///   - source: the state after the group.
    ///   - before: the state before it.
    ///   - schema: the schema of both contexts.
    package init(
        _ commit: CommitDelta, from former: ReadContext, to context: ReadContext, in source: any ViewSource,
        before: any ObjectSource, schema: Schema
    ) throws {
        var changes: [ObjectDelta] = []
        var hidden: Set<ObjectRef> = []
        var judged: Set<ObjectRef> = []
        func judge(
            _ object: ObjectRef, _ old: Row?, _ new: Row?, _ authors: [Int], passed: PropertySet = [], isChanged: Bool
        ) throws {
            let classIndex = object.classIndex
            let seenOld = try old.flatMap { try former.allows($0, ofClass: classIndex, in: before) ? $0 : nil }
            let seenNew = try new.flatMap { try context.allows($0, ofClass: classIndex, in: source) ? $0 : nil }
            guard isChanged ? seenOld != nil || seenNew != nil : (seenOld == nil) != (seenNew == nil) else { return }
            if seenOld != nil, seenNew == nil, new != nil { hidden.insert(object) }
            changes.append(
                ObjectDelta(
                    object: object, old: try seenOld.map { try former.shown($0, ofClass: classIndex, in: before) },
                    new: try seenNew.map { try context.shown($0, ofClass: classIndex, in: source) }, authors: authors,
                    passed: passed))
        }
        func judgeUnchanged(_ object: ObjectRef, _ row: Row) throws {
            guard commit.change(of: object) == nil, judged.insert(object).inserted else { return }
            try judge(object, row, row, [], isChanged: false)
        }
        for change in commit.changes {
            try judge(
                change.object, change.old, change.new, change.authors, passed: change.passed, isChanged: true)
        }
        for classIndex in schema.classes.indices where !schema[classIndex].isRetired {
            let (was, now) = (former.condition(ofClass: classIndex), context.condition(ofClass: classIndex))
            if let was, commit.changeCount > 0 {
                let dependents = PathDependents(was.predicateDependencies)
                for (object, _) in try dependents.roots(affectedBy: commit, in: source) {
                    if let row = try source.row(object) { try judgeUnchanged(object, row) }
                }
            }
            for difference in Self.differences(was, now, of: schema[classIndex].name, schema: schema) {
                // Judged after the search, which may be under way on the same connection.
                var rows: [Row] = []
                try source.rows(matching: difference, after: nil, limit: nil) { row in
                    rows.append(row)
                    return true
                }
                for row in rows { try judgeUnchanged(ObjectRef(classIndex, row.key), row) }
            }
        }
        // What links to an object whose identity shows or hides with it changes for the reader too.
        var known = Set(changes.map(\.object))
        for change in former.veilsLinks || context.veilsLinks ? changes : [] where change.changesPresence {
            try context.forEachVeiledLink(to: change.object, in: source) { object in
                guard commit.change(of: object) == nil, known.insert(object).inserted,
                    let row = try source.row(object)
                else { return }
                try judge(object, row, row, change.authors, isChanged: true)
            }
        }
        self.commit = CommitDelta(changes: changes, version: commit.version, time: commit.time)
        self.source = context.isEverything ? source : ReadableSource(source, in: context)
        self.before = OldStateSource(self.commit, over: self.source, schema: schema)
        self.hidden = hidden
    }

    /// Queries for the objects of a class that meet one of two conditions and not the other.
    private static func differences(_ was: Query?, _ now: Query?, of className: String, schema: Schema) -> [Query] {
        [(was, now), (now, was)].compactMap { Query.difference(on: className, $0, butNot: $1, schema: schema) }
    }

    /// A change of a view, where what is hidden has left for that reason.
    func explained(_ delta: ViewDelta) -> ViewDelta { delta.hiding(hidden) }
}
