import SluiceModel
import SluiceQuery

/// A commit group as the reader of a view sees it. An object that the group hides from the reader is deleted for the
/// reader, and one that it uncovers is created.
struct ReadableCommit {
    let commit: CommitDelta
    /// The state after the group.
    let source: ReadableSource
    /// The state before the group.
    let before: OldStateSource
    /// The objects that the group hides and does not delete.
    private let hidden: Set<ObjectRef>

    /// The cost is that of judging the changed objects, and those that a condition of the context reads changed objects
    /// for.
    ///
    /// - Parameters:
    ///   - commit: the group as it is.
    ///   - source: the state after it.
    ///   - before: the state before it.
    ///   - schema: the schema of the context.
    init(
        _ commit: CommitDelta, in context: ReadContext, _ source: any ViewSource, before: any ObjectSource,
        schema: Schema
    ) throws {
        var changes: [ObjectDelta] = []
        var hidden: Set<ObjectRef> = []
        func add(
            _ object: ObjectRef, _ old: Row?, _ new: Row?, _ authors: [Int], written: PropertySet = [],
            passed: PropertySet = []
        ) throws {
            let classIndex = object.classIndex
            let seenOld = try old.flatMap { try context.allows($0, ofClass: classIndex, in: before) ? $0 : nil }
            let seenNew = try new.flatMap { try context.allows($0, ofClass: classIndex, in: source) ? $0 : nil }
            guard seenOld != nil || seenNew != nil else { return }
            if seenOld != nil, seenNew == nil, new != nil { hidden.insert(object) }
            let shownOld = try seenOld.map { try context.shown($0, ofClass: classIndex, in: before) }
            let shownNew = try seenNew.map { try context.shown($0, ofClass: classIndex, in: source) }
            var written = written
            if context.veilsLinks {
                // That a link was written whose target the reader may not see is not told either.
                for (row, shown) in [(seenOld, shownOld), (seenNew, shownNew)] {
                    guard let row, let shown else { continue }
                    written.subtract(shown.differences(from: row))
                }
            }
            changes.append(
                ObjectDelta(
                    object: object, old: shownOld, new: shownNew, authors: authors, written: written, passed: passed))
        }
        for change in commit.changes {
            try add(
                change.object, change.old, change.new, change.authors, written: change.changed, passed: change.passed)
        }
        for classIndex in context.classes {
            guard let dependencies = context.condition(ofClass: classIndex)?.predicateDependencies else { continue }
            for (object, causes) in try PathDependents(dependencies).roots(affectedBy: commit, in: source)
            where commit.change(of: object) == nil {
                guard let row = try source.row(object) else { continue }
                let was = try context.allows(row, ofClass: classIndex, in: before)
                guard try context.allows(row, ofClass: classIndex, in: source) != was else { continue }
                let authors = Set(causes.flatMap { commit.changes[$0].authors }).sorted()
                try add(object, row, row, authors)
            }
        }
        // What links to an object whose identity shows or hides with it changes for the reader too.
        var known = context.veilsLinks ? Set(changes.map(\.object)) : []
        for change in context.veilsLinks ? changes : [] where change.changesPresence {
            try context.forEachVeiledLink(to: change.object, in: source) { object in
                guard commit.change(of: object) == nil, known.insert(object).inserted,
                    let row = try source.row(object)
                else { return }
                try add(object, row, row, change.authors)
            }
        }
        self.commit = CommitDelta(changes: changes, version: commit.version, time: commit.time)
        self.source = ReadableSource(source, in: context)
        self.before = OldStateSource(self.commit, over: self.source, schema: schema)
        self.hidden = hidden
    }

    /// The same changes of a view, where what was hidden has left for that reason.
    func explained(_ delta: ViewDelta) -> ViewDelta { delta.hiding(hidden) }
}
