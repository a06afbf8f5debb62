internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The live views of a database: one for each query that somebody subscribes to and each
/// context that it is read in, kept current from commit to commit.
final class ViewHub {
    let database: Database
    /// The views by their numbers in the index; nil for a free number.
    private var slots: [SharedView?] = []
    /// The numbers of the views by their queries' keys. There may be a million views, and this takes 16 bytes for each.
    private var numbers = HashedNumbers<Query.Key>()
    private(set) var index: ViewIndex
    private var shapes: ViewShapes
    /// How many views commits have found that they might change.
    private(set) var concernedCount: UInt64 = 0

    private var storage: any ServerStorage { database.storage }

    init(_ database: Database) {
        self.database = database
        index = ViewIndex(schema: database.storage.schema)
        shapes = ViewShapes(schema: database.storage.schema)
    }

    var all: some Collection<SharedView> { slots.lazy.compactMap { $0 } }

    /// The view of a query, by the query's key.
    subscript(key: Query.Key) -> SharedView? {
        var found: SharedView?
        numbers.forEach(of: key) { number in
            if let view = slots[Int(number)], view.query.key == key { found = view }
        }
        return found
    }

    // MARK: Making views

    /// A view that is not at any state yet. It may be activated on another thread, before it is inserted.
    func unmade(_ query: Query) -> LiveView { LiveView(query, shape: shapes.shape(of: query)) }

    /// The shape of a query's view.
    func shape(of query: Query) -> ViewShape { shapes.shape(of: query) }

    /// A view at the present state, which is not kept current before it is inserted.
    func make(_ query: Query) throws -> LiveView {
        let live = unmade(query)
        try live.activate(in: storage)
        return live
    }

    /// Adds a view to those that are kept current.
    func insert(_ live: LiveView) -> SharedView {
        let view = SharedView(live)
        place(view)
        return view
    }

    private func place(_ view: SharedView) {
        let number = index.insert(view.live)
        while slots.count <= number { slots.append(nil) }
        slots[number] = view
        numbers.insert(UInt64(number), for: view.query.key)
    }

    /// Removes a view that nobody subscribes to any more.
    func remove(_ view: SharedView) {
        guard let number = index.remove(view.live) else { return }
        slots[number] = nil
        numbers.remove(UInt64(number), for: view.query.key)
        if index.count == 0 { slots = [] }
    }

    /// Removes all views. Call it when the schema has changed in another way than by growing.
    func removeAll() {
        for view in all { view.forgetSubscriptions() }
        slots = []
        numbers = HashedNumbers()
        index = ViewIndex(schema: storage.schema)
        shapes = ViewShapes(schema: storage.schema)
    }

    /// Makes the views anew that must include what has come to the schema, which has grown.
    func grow() throws {
        index.schema = storage.schema
        let changed = Set(shapes.grow(to: storage.schema).map(ObjectIdentifier.init))
        for view in Array(all) where changed.contains(ObjectIdentifier(view.live.shape)) {
            let live = try make(view.query.rebound(to: storage.schema))
            remove(view)
            view.replace(by: live)
            place(view)
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
        let source = CommitSource(commit, over: storage)
        let before = OldStateSource(commit, over: source, schema: storage.schema)
        var failures: [(view: SharedView, error: any Error)] = []
        var spent: [SessionID: Int] = [:]
        #if SLUICE_CHECK
            var deltas: [ObjectIdentifier: ViewDelta] = [:]
            defer { check(after: commit, reporting: deltas, except: failures.map(\.view)) }
        #endif
        let concerned = concerned(by: commit, in: source, before: before)
        concernedCount += UInt64(concerned.count)
        for view in concerned {
            let live = view.live
            do {
                let delta = try limitingUpkeep(of: view, spending: &spent) {
                    defer { index.update(live) }
                    return try live.apply(commit, in: source, before: before)
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
    private func concerned(
        by commit: CommitDelta, in source: CommitSource, before: OldStateSource
    ) -> [SharedView] {
        do {
            return try index.numbers(for: commit, in: source, before: before).compactMap { slots[$0] }
        } catch {
            database.note(.error, "the views that a commit concerns were not found", [("error", "\(error)")])
            return Array(all)
        }
    }

    /// Updates a view within the steps that one of its sessions has left. It is charged to the session that was charged
    /// least.
    private func limitingUpkeep(
        of view: SharedView, spending spent: inout [SessionID: Int], _ body: () throws -> ViewDelta?
    ) throws -> ViewDelta? {
        let limits = database.limits
        // Most views of most commits take no steps.
        let payer = spent.isEmpty ? nil : payer(of: view, spent)
        let left = limits.upkeepStepCountMax - (payer.flatMap { spent[$0] } ?? 0)
        var stepCount = 0
        defer {
            if stepCount > 0, let payer = payer ?? self.payer(of: view, spent) {
                spent[payer, default: 0] += stepCount
            }
        }
        return try database.limitingWork(for: nil, stepCountMax: max(left, limits.viewUpkeepStepCountMin)) { work in
            defer { stepCount = work.stepCount }
            return try body()
        }
    }

    /// The session that a view's work is charged to.
    private func payer(of view: SharedView, _ spent: [SessionID: Int]) -> SessionID? {
        view.subscriptions.lazy.map(\.session).min { spent[$0, default: 0] < spent[$1, default: 0] }
    }
}
