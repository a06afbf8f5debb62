internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The changes of context that one publication makes at once. Sessions whose contexts change alike share the work.
///
/// All of them together take a bounded number of steps (``DatabaseLimits/contextStepCountMax``), since nobody else is
/// served meanwhile.
struct ContextTurns {
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
    private var turns: [Key: ContextTurn] = [:]
    private var turned: [ViewKey: (view: LiveView, delta: ViewDelta?)] = [:]
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
    mutating func turned(
        _ view: SharedView, to query: Query, shape: ViewShape
    ) throws -> (view: LiveView, delta: ViewDelta?)? {
        let key = ViewKey(view: ObjectIdentifier(view), context: query.context.id)
        if let known = turned[key] { return known }
        guard stepCountLeft > 0 else { return nil }
        let limits = database.limits
        do {
            let (made, stepCount) = try database.limitingWork(for: nil, stepCountMax: stepCountLeft) { work in
                let turn = try turn(from: view.query.context, to: query.context)
                guard turn.changeCount <= limits.touchedObjectCountMax else {
                    throw StorageError(.interrupted, "the change of context concerns \(turn.changeCount) objects")
                }
                let made = try view.live.turned(
                    by: turn, to: query, shape: shape, memberCountMax: limits.touchedObjectCountMax)
                // Following and encoding a change takes about as long as finding an object.
                return (made, work.stepCount + turn.changeCount * 10)
            }
            stepCountLeft -= stepCount
            views.append(view)
            turned[key] = made
            return made
        } catch let error as StorageError where error.code == .interrupted {
            stepCountLeft = 0
            return nil
        }
    }

    private mutating func turn(from former: ReadContext, to context: ReadContext) throws -> ContextTurn {
        let key = Key(former: former.id, context: context.id)
        if let known = turns[key] { return known }
        let turn = try ContextTurn(
            commit, from: former, to: context, in: source, before: before, schema: database.storage.schema)
        turns[key] = turn
        return turn
    }
}
