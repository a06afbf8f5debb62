internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// The page runs of a database, and the memory that they may take.
///
/// A run that nobody takes pages from any more stays for a while, so that those who ask the same query a moment later
/// share its pages.
struct PageCache {
    /// The runs of each view by the hash of its query, the newest last.
    private var runs: [Query.Key: [PageRun]] = [:]
    /// The runs whose pages a change of an object may make stale, by its class.
    private var concerned = ConcernedRuns()
    /// The runs without receivers, the one that was left first first.
    private var idle: [PageRun] = []
    private let byteCountMax: Int
    private let idleCountMax: Int
    /// How long a run without receivers is kept, in microseconds.
    private let idleTime: Int64

    init(byteCountMax: Int, idleCountMax: Int, idleTime: Int64) {
        self.byteCountMax = byteCountMax
        self.idleCountMax = idleCountMax
        self.idleTime = idleTime
    }

    /// What all pages take, about, in bytes.
    private(set) var byteCount = 0

    /// The run that a new subscription of a view may share from the first page on.
    func openRun(of query: Query.Key) -> PageRun? { runs[query]?.last.flatMap { $0.isWorthJoining ? $0 : nil } }

    var isEmpty: Bool { runs.isEmpty }

    private func has(_ run: PageRun) -> Bool { runs[run.query]?.contains { $0 === run } ?? false }

    mutating func add(_ run: PageRun) {
        runs[run.query, default: []].append(run)
        concerned.insert(run)
    }

    // MARK: Receivers

    mutating func join(_ run: PageRun) {
        run.receiverCount += 1
        run.idleSince = nil
        idle.removeAll { $0 === run }
    }

    mutating func leave(_ run: PageRun) {
        run.receiverCount -= 1
        guard run.receiverCount == 0, has(run) else { return }
        guard run.isWorthJoining, runs[run.query]?.last === run, !run.remaining.isUnlisted else {
            return remove(run)
        }
        idle.append(run)
        if idle.count > idleCountMax { remove(idle[0]) }
    }

    private mutating func remove(_ run: PageRun) {
        idle.removeAll { $0 === run }
        runs[run.query]?.removeAll { $0 === run }
        if runs[run.query]?.isEmpty ?? false { runs[run.query] = nil }
        concerned.remove(run)
        byteCount -= run.takeCounted()
    }

    /// Removes the runs of a view that has no subscriptions any more.
    mutating func removeAll(of query: Query.Key) {
        for run in runs.removeValue(forKey: query) ?? [] {
            concerned.remove(run)
            byteCount -= run.takeCounted()
        }
        idle.removeAll { $0.query == query }
    }

    mutating func removeAll() {
        runs = [:]
        concerned = ConcernedRuns()
        idle = []
        byteCount = 0
    }

    /// Drops runs that nobody has used for a while.
    mutating func dropIdle(now: Timestamp) {
        for run in idle {
            let since = run.idleSince ?? now
            run.idleSince = since
            if now.microseconds - since.microseconds >= idleTime || !run.isWorthJoining { remove(run) }
        }
    }

    /// Frees memory after a run has grown: first the runs without receivers, and then pages that are behind most
    /// receivers. Those who come to them later begin runs of their own.
    mutating func makeRoom(after run: PageRun) {
        // A page that was read beside the writer may come when its run is gone.
        guard has(run) else { return }
        byteCount += run.takeGrowth()
        while byteCount > byteCountMax, let unused = idle.first { remove(unused) }
        let excess = byteCount - byteCountMax
        guard excess > 0 else { return }
        run.evict(to: max(0, run.byteCount - excess))
        byteCount += run.takeGrowth()
    }

    // MARK: Changes

    /// Makes pages stale that bring objects which a commit has changed. Runs of other classes cost nothing.
    func noteChanges(_ commit: CommitDelta) { concerned.noteChanges(commit) }

    /// Makes all pages stale, since views include other properties now.
    mutating func noteChangedViews() {
        concerned = ConcernedRuns()
        for run in runs.values.joined() {
            run.noteChangedView()
            concerned.insert(run)
        }
    }

    /// Records objects whose place or content in a view a commit has changed.
    ///
    /// - Parameter isRuled: whether an object that the commit has not changed may show something else since, or not show
    ///   at all: a page that brings it must not be sent as it is.
    func touch(_ delta: ViewDelta, of query: Query.Key, isRuled: Bool) {
        for run in runs[query] ?? [] {
            delta.forEachObject(run.touch)
            if isRuled { delta.forEachObject(run.makeStale) }
        }
    }
}

/// Page runs by the classes of which a change may make a page stale.
private struct ConcernedRuns {
    private var byClass: [Int: [ObjectIdentifier: PageRun]] = [:]
    /// Those that a change of any class may concern.
    private var ofAllClasses: [ObjectIdentifier: PageRun] = [:]

    mutating func insert(_ run: PageRun) {
        guard let classes = run.classes else {
            ofAllClasses[ObjectIdentifier(run)] = run
            return
        }
        for classIndex in classes { byClass[classIndex, default: [:]][ObjectIdentifier(run)] = run }
    }

    /// - Precondition: the run's classes are those that it was inserted with.
    mutating func remove(_ run: PageRun) {
        guard let classes = run.classes else {
            ofAllClasses[ObjectIdentifier(run)] = nil
            return
        }
        for classIndex in classes {
            byClass[classIndex]?[ObjectIdentifier(run)] = nil
            if byClass[classIndex]?.isEmpty ?? false { byClass[classIndex] = nil }
        }
    }

    func noteChanges(_ commit: CommitDelta) {
        for run in ofAllClasses.values { for change in commit.changes { run.makeStale(change.object) } }
        guard !byClass.isEmpty else { return }
        for change in commit.changes {
            for run in (byClass[change.object.classIndex] ?? [:]).values { run.makeStale(change.object) }
        }
    }
}
