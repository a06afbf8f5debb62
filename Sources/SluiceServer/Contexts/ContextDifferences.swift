internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The changes of context that one publication makes at once. Sessions whose contexts change alike share the work.
///
/// All of them together take a bounded number of steps (``DatabaseLimits/contextStepCountMax``), since nobody else is
/// served meanwhile.
struct ContextDifferences {
    private struct Key: Hashable {
        let former: ObjectID
        let context: ObjectID
    }

    private struct ViewKey: Hashable {
        let view: ObjectIdentifier
        let context: ObjectID
    }

    private let commit: CommitDelta
    private let database: Database
    private let source: CommitSource
    private let before: OldStateSource
    private var differences: [Key: ContextDifference] = [:]
    private var switched: [ViewKey: (view: LiveView, delta: ViewDelta?)] = [:]
    /// Kept, so that their addresses stay theirs.
    private var views: [SharedView] = []
    private var stepCountLeft: Int

    init(_ commit: CommitDelta, _ database: Database) {
        self.commit = commit
        self.database = database
        source = CommitSource(commit, over: database.storage)
        before = OldStateSource(commit, over: source, schema: database.storage.schema)
        stepCountLeft = database.limits.contextStepCountMax
    }

    /// A view in another context, and what that changes for its clients; an inner nil if nothing.
    ///
    /// - Returns: nil if it takes more steps than are left.
    /// - Throws: why the change cannot be found at all.
    mutating func switched(
        _ view: SharedView, to query: Query, shape: ViewShape
    ) throws -> (view: LiveView, delta: ViewDelta?)? {
        let key = ViewKey(view: ObjectIdentifier(view), context: query.context.id)
        if let known = switched[key] { return known }
        guard stepCountLeft > 0 else { return nil }
        let limits = database.limits
        do {
            let (made, stepCount) = try database.limitingWork(for: nil, stepCountMax: stepCountLeft) { work in
                let difference = try difference(from: view.query.context, to: query.context)
                guard difference.changeCount <= limits.touchedObjectCountMax else {
                    throw StorageError(.interrupted, "the change of context concerns \(difference.changeCount) objects")
                }
                let made = try view.live.switched(
                    by: difference, to: query, shape: shape, memberCountMax: limits.touchedObjectCountMax)
                // Following and encoding a change takes about as long as finding an object.
                return (made, work.stepCount + difference.changeCount * 10)
            }
            stepCountLeft -= stepCount
            views.append(view)
            switched[key] = made
            return made
        } catch let error as StorageError where error.code == .interrupted {
            stepCountLeft = 0
            return nil
        }
    }

    private mutating func difference(from former: ReadContext, to context: ReadContext) throws -> ContextDifference {
        let key = Key(former: former.id, context: context.id)
        if let known = differences[key] { return known }
        let difference = try ContextDifference(
            commit, from: former, to: context, in: source, before: before, schema: database.storage.schema)
        differences[key] = difference
        return difference
    }
}
