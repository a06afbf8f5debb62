internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The live views of a database: one for each query that somebody subscribes to and each
/// context that it is read in, kept current from commit to commit.
final class ViewHub {
    let database: Database
    private var views: [Query.Key: SharedView] = [:]
    private(set) var index: ViewIndex
    private var shapes: ViewShapes

    private var storage: any ServerStorage { database.storage }

    init(_ database: Database) {
        self.database = database
        index = ViewIndex(schema: database.storage.schema)
        shapes = ViewShapes(schema: database.storage.schema)
    }

    var all: some Collection<SharedView> { views.values }

    /// The view of a query, by the query's key.
    subscript(key: Query.Key) -> SharedView? { views[key] }

    // MARK: Making views

    /// A view that is not at any state yet. It may be activated on another thread, before it is inserted.
    func unmade(_ query: Query) -> LiveView { LiveView(query, shape: shapes.shape(of: query)) }

    /// A view at the present state, which is not kept current before it is inserted.
    func make(_ query: Query) throws -> LiveView {
        let live = unmade(query)
        try live.activate(in: storage)
        return live
    }

    /// Adds a view to those that are kept current.
    func insert(_ live: LiveView) -> SharedView {
        let view = SharedView(live)
        views[live.query.key] = view
        index.insert(live)
        return view
    }

    /// Removes a view that nobody subscribes to any more.
    func remove(_ view: SharedView) {
        views[view.query.key] = nil
        index.remove(view.live)
    }

    /// Removes all views. Call it when the schema has changed in another way than by growing.
    func removeAll() {
        for view in views.values { view.forgetSubscriptions() }
        views = [:]
        index = ViewIndex(schema: storage.schema)
        shapes = ViewShapes(schema: storage.schema)
    }

    /// Makes the views anew that must include what has come to the schema, which has grown.
    func grow() throws {
        index.schema = storage.schema
        let changed = Set(shapes.grow(to: storage.schema).map(ObjectIdentifier.init))
        for view in views.values where changed.contains(ObjectIdentifier(view.live.shape)) {
            let live = try make(view.query.rebound(to: storage.schema))
            index.remove(view.live)
            index.insert(live)
            view.replace(by: live)
        }
    }

    // MARK: Commits

    /// Lets the views follow a commit that the database has just made.
    ///
    /// - Parameter body: called with each view that has changed, and with its change.
    /// - Returns: the views that could not follow, or for which `body` threw, with the reasons.
    func follow(
        _ commit: CommitDelta, _ body: (SharedView, ViewDelta) throws -> Void
    ) -> [(view: SharedView, error: any Error)] {
        let before = OldStateSource(commit, over: storage, schema: storage.schema)
        var failures: [(view: SharedView, error: any Error)] = []
        var spent: [SessionID: Int] = [:]
        #if SLUICE_CHECK
            var deltas: [ObjectIdentifier: ViewDelta] = [:]
            defer { check(after: commit, reporting: deltas, except: failures.map(\.view)) }
        #endif
        for live in concerned(by: commit, before: before) {
            guard let view = views[live.query.key] else { continue }
            do {
                let delta = try limitingUpkeep(of: view, spending: &spent) {
                    defer { index.update(live) }
                    return try live.apply(commit, in: storage, before: before)
                }
                guard let delta else { continue }
                #if SLUICE_CHECK
                    deltas[ObjectIdentifier(live)] = delta
                #endif
                view.noteChange()
                try body(view, delta)
            } catch {
                failures.append((view, error))
            }
        }
        return failures
    }

    /// The views that a commit may change. If the index cannot be read, these are all views: each of them then fails by
    /// itself, or follows the commit.
    private func concerned(by commit: CommitDelta, before: OldStateSource) -> [LiveView] {
        do {
            return try index.candidates(for: commit, in: storage, before: before)
        } catch {
            database.note(.error, "the views that a commit concerns were not found", [("error", "\(error)")])
            return views.values.map(\.live)
        }
    }

    /// Updates a view within the steps that one of its sessions has left. It is charged to the session that was charged
    /// least.
    private func limitingUpkeep(
        of view: SharedView, spending spent: inout [SessionID: Int], _ body: () throws -> ViewDelta?
    ) throws -> ViewDelta? {
        let limits = database.limits
        let payer = view.subscriptions.map(\.session).min { spent[$0, default: 0] < spent[$1, default: 0] }
        let left = limits.upkeepStepCountMax - (payer.flatMap { spent[$0] } ?? 0)
        var stepCount = 0
        defer { if let payer { spent[payer, default: 0] += stepCount } }
        return try database.limitingWork(for: nil, stepCountMax: max(left, limits.viewUpkeepStepCountMin)) { work in
            defer { stepCount = work.stepCount }
            return try body()
        }
    }
}
