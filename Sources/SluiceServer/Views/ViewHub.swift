internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceTransport
internal import SluiceViews

/// The live views of a database: one for each query that somebody subscribes to and each
/// context that it is read in, kept current from commit to commit.
final class ViewHub {
    let database: Database
    /// The views by their numbers in the index; nil for a free number.
    private(set) var slots: [SharedView?] = []
    /// The numbers of the views by their queries' keys. There may be a million views, and this takes 10 bytes or more for
    /// each.
    private var numbers = HashedNumbers<Query.Key>()
    /// The numbers of the views that count their matches, by what they count.
    private var counting = HashedNumbers<Query.Key>()
    private(set) var index: ViewIndex
    private var shapes: ViewShapes
    private var atoms = AtomTable()
    /// When time changes results.
    let clock: QueryClock
    /// The classes for which it was logged that a view is of too many atoms.
    private var notedClasses: Set<Int> = []
    /// How many views had to work out what commits change for them.
    private(set) var concernedCount: UInt64 = 0
    /// How many steps views have taken to follow commits.
    private(set) var followedStepCount = 0

    private var storage: SQLiteServerStorage { database.storage }

    init(_ database: Database) {
        self.database = database
        index = ViewIndex(schema: database.storage.schema)
        clock = QueryClock(schema: database.storage.schema)
        shapes = ViewShapes(
            schema: database.storage.schema, affectedCountMax: database.limits.affectedRootCountMax)
    }

    var all: some Collection<SharedView> { slots.lazy.compactMap { $0 } }

    /// How many views are kept current: those that changes find as a whole, and the atoms of the others.
    var filedCount: Int { index.filedCount }

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
    func unmade(_ query: Query) -> LiveView {
        let live = LiveView(query, shape: shapes.shape(of: query))
        if let count = matchCount(of: query) { live.expect(matchCount: count) }
        return live
    }

    /// How many objects match a query at the present state, as far as another view counts them already: its windows of
    /// other lengths and orders count the same.
    private func matchCount(of query: Query) -> Int? {
        guard query.hasTotal else { return nil }
        let key = query.countingKey
        var found: Int?
        counting.forEach(of: key) { number in
            guard let live = slots[Int(number)]?.live, live.isActive, live.query.countingKey == key else { return }
            found = live.matchCount
        }
        return found
    }

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
        let parts = atoms(of: view.live)
        let number = parts == nil ? index.insert(view.live) : index.insertUnfiled(view.live)
        while slots.count <= number { slots.append(nil) }
        slots[number] = view
        numbers.insert(UInt64(number), for: view.query.key)
        if view.query.hasTotal { counting.insert(UInt64(number), for: view.query.countingKey) }
        clock.hold(view.query, in: storage)
        guard let parts else { return }
        atoms.hold(parts, of: view.query, by: UInt32(number)) { query in
            let live = unmade(query)
            live.activateWithoutReading()
            return (live, UInt32(index.insert(live)))
        }
    }

    /// The atoms of a view; nil if changes find it as a whole.
    private func atoms(of live: LiveView) -> ReadAtoms? {
        let count = live.atomCount
        guard count > database.limits.atomCountMax else { return count > 1 ? live.atoms : nil }
        if notedClasses.insert(live.query.classIndex).inserted {
            database.note(
                .warning, "what a reader may read of a class has too many parts to be shared part by part",
                [("class", live.query.className), ("parts", "\(count)"), ("most", "\(database.limits.atomCountMax)")])
        }
        return nil
    }

    /// The numbers of the atoms by which changes find a view, ascending; empty if they find it as a whole.
    func atoms(of view: SharedView) -> [UInt32] {
        var found: [UInt32] = []
        numbers.forEach(of: view.query.key) { number in
            if slots[Int(number)] === view { found = atoms.atoms(of: UInt32(number)) }
        }
        return found
    }

    /// Removes a view that nobody subscribes to any more.
    func remove(_ view: SharedView) {
        guard let number = index.remove(view.live) else { return }
        slots[number] = nil
        clock.release(view.query)
        numbers.remove(UInt64(number), for: view.query.key)
        if view.query.hasTotal { counting.remove(UInt64(number), for: view.query.countingKey) }
        atoms.release(by: UInt32(number))
        if atoms.hasManyIdle { dropIdleAtoms() }
        if index.count == 0 { slots = [] }
    }

    /// Drops the atoms that no view holds.
    func dropIdleAtoms() { for atom in atoms.takeIdle() { index.remove(atom.live) } }

    /// Removes all views. Call it when the schema has changed in another way than by growing.
    func removeAll() {
        for view in all { view.forgetSubscriptions() }
        slots = []
        numbers = HashedNumbers()
        counting = HashedNumbers()
        index = ViewIndex(schema: storage.schema)
        shapes = ViewShapes(schema: storage.schema, affectedCountMax: database.limits.affectedRootCountMax)
        atoms = AtomTable()
        clock.removeAll(schema: storage.schema)
    }

    /// Makes the views anew that must include what has come to the schema, which has grown.
    func grow() throws {
        index.schema = storage.schema
        clock.grow(to: storage.schema)
        let changed = Set(shapes.grow(to: storage.schema).map(ObjectIdentifier.init))
        guard !changed.isEmpty else { return }
        // Views that share an atom are made anew together.
        let stale = all.filter { !atoms(of: $0).isEmpty || changed.contains(ObjectIdentifier($0.live.shape)) }
        let made = try stale.map { try make($0.query.rebound(to: storage.schema)) }
        for view in stale { remove(view) }
        dropIdleAtoms()
        for (view, live) in zip(stale, made) {
            view.replace(by: live)
            place(view)
        }
    }

    // MARK: Commits

    /// A commit with the objects whose dates have passed with it for a query with `$now`. If they cannot be read, the
    /// commit alone.
    ///
    /// - Parameter authors: whose change that is.
    func passing(_ commit: CommitDelta, by authors: [Int]) -> CommitDelta {
        do { return try clock.passing(commit, in: storage, by: authors) } catch {
            database.note(.error, "what time has changed in queries was not found", [("error", "\(error)")])
            return commit
        }
    }

    /// The views that have not followed a commit.
    struct Stragglers {
        /// Those that could not, or for which the caller failed, with the reasons.
        var failures: [(view: SharedView, error: any Error)] = []
        /// Those that take longer than the commit may keep others waiting.
        var late: [SharedView] = []
    }

    /// Lets the views follow a commit that the database has just made.
    ///
    /// - Parameters:
    ///   - mayBeLate: whether a view may be brought up to date later instead; nil if none may.
    ///   - body: called with each view that has changed, and with its change.
    /// - Returns: the views that have not followed it. They are at no state, or at that before the commit, and must be
    ///   removed.
    func follow(
        _ commit: CommitDelta, where mayBeLate: ((SharedView) -> Bool)? = nil,
        _ body: (SharedView, ViewDelta) throws -> Void
    ) -> Stragglers {
        let source = CommitSource(commit, over: storage)
        let before = OldStateSource(commit, over: source, schema: storage.schema)
        var stragglers = Stragglers()
        var upkeep = Upkeep(database.limits, commit, isHurried: mayBeLate != nil)
        #if SLUICE_CHECK
            var deltas: [ObjectIdentifier: ViewDelta] = [:]
            defer {
                check(
                    after: commit, reporting: deltas, except: stragglers.failures.map(\.view) + stragglers.late)
            }
        #endif
        var start = MonotonicClock.now
        for (view, told) in concerned(by: commit, in: source, before: before, &upkeep) {
            let live = view.live
            // One reading of the clock for each view is where it ends and the next one begins.
            defer {
                let end = MonotonicClock.now
                view.cost.noteFound(took: end - start)
                start = end
            }
            do {
                let delta =
                    try told
                    ?? limitingUpkeep(of: view, &upkeep, mayBeLate: mayBeLate?(view) ?? false) {
                        concernedCount += 1
                        defer { index.update(live) }
                        return try live.apply(commit, in: source, before: before)
                    }
                guard let delta else { continue }
                #if SLUICE_CHECK
                    deltas[ObjectIdentifier(live)] = delta
                #endif
                view.noteChange()
                try body(view, delta)
            } catch is TakesTooLong {
                stragglers.late.append(view)
            } catch {
                stragglers.failures.append((view, error))
            }
        }
        return stragglers
    }

    /// Says that a view takes longer to follow a commit than others may be kept waiting.
    private struct TakesTooLong: Error {}

    /// The steps that views have taken to follow one commit, and those that they may still take.
    private struct Upkeep {
        var spent: [SessionID: Int] = [:]
        private var stepCountLeft: Int
        private let stepCountMin: Int

        /// - Parameter isHurried: whether views may be late.
        init(_ limits: DatabaseLimits, _ commit: CommitDelta, isHurried: Bool) {
            stepCountLeft = isHurried ? limits.followStepCount(changeCount: commit.changeCount) : .max
            stepCountMin = limits.followStepCountMin
        }

        /// The steps that the next view may take before others are served.
        var allowance: Int { max(stepCountLeft, stepCountMin) }

        mutating func note(_ stepCount: Int) { stepCountLeft -= min(stepCount, stepCountLeft) }
    }

    /// The views that a commit may change, each with what its atoms have told of the commit if that is all. If the index
    /// cannot be read, these are all views: each of them then fails by itself, or follows the commit.
    private func concerned(
        by commit: CommitDelta, in source: CommitSource, before: OldStateSource, _ upkeep: inout Upkeep
    ) -> [(view: SharedView, told: ViewDelta?)] {
        do {
            var changes = AtomChanges()
            var found: [Int] = []
            for number in try index.numbers(for: commit, in: source, before: before) {
                if let atom = atoms[number] {
                    follow(commit, atom, in: source, before: before, &changes, &upkeep)
                } else {
                    found.append(number)
                }
            }
            if !changes.isEmpty {
                found += changes.holders.map { Int($0) }
                found.sort()
            }
            return found.compactMap { number in
                slots[number].map { ($0, changes.told(to: UInt32(number))) }
            }
        } catch {
            database.note(.error, "the views that a commit concerns were not found", [("error", "\(error)")])
            return all.map { ($0, nil) }
        }
    }

    /// Works out once what a commit changes for all who hold an atom.
    private func follow(
        _ commit: CommitDelta, _ atom: Atom, in source: CommitSource, before: OldStateSource,
        _ changes: inout AtomChanges, _ upkeep: inout Upkeep
    ) {
        guard !atom.holders.isEmpty else { return }
        concernedCount += 1
        do {
            let stepCountMax = min(database.limits.upkeepStepCountMax, upkeep.allowance)
            let delta = try database.limitingWork(for: nil, stepCountMax: stepCountMax) { work in
                defer {
                    upkeep.note(work.stepCount)
                    followedStepCount += work.stepCount
                    index.update(atom.live)
                }
                return try atom.live.apply(commit, in: source, before: before)
            }
            if let delta { changes.add(delta, of: atom) }
        } catch {
            // Each of the views finds out by itself.
            changes.add(nil, of: atom)
        }
    }

    /// Updates a view within the steps that one of its sessions has left, and that the commit has left for all. It is
    /// charged to the session that was charged least.
    ///
    /// - Throws: ``TakesTooLong`` if the view may be late and the commit has no steps left.
    private func limitingUpkeep(
        of view: SharedView, _ upkeep: inout Upkeep, mayBeLate: Bool, _ body: () throws -> ViewDelta?
    ) throws -> ViewDelta? {
        let limits = database.limits
        // Most views of most commits take no steps.
        let payer = upkeep.spent.isEmpty ? nil : payer(of: view, upkeep.spent)
        let left = max(
            limits.upkeepStepCountMax - (payer.flatMap { upkeep.spent[$0] } ?? 0), limits.viewUpkeepStepCountMin)
        let hurry = mayBeLate ? upkeep.allowance : .max
        var stepCount = 0
        defer {
            upkeep.note(stepCount)
            followedStepCount += stepCount
            if stepCount > 0, let payer = payer ?? self.payer(of: view, upkeep.spent) {
                upkeep.spent[payer, default: 0] += stepCount
            }
        }
        do {
            return try database.limitingWork(for: nil, stepCountMax: min(left, hurry)) { work in
                defer { stepCount = work.stepCount }
                return try body()
            }
        } catch let error as StorageError where error.code == .interrupted && hurry <= left { throw TakesTooLong() }
    }

    /// The session that a view's work is charged to.
    private func payer(of view: SharedView, _ spent: [SessionID: Int]) -> SessionID? {
        view.subscriptions.lazy.map(\.session).min { spent[$0, default: 0] < spent[$1, default: 0] }
    }
}
