internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import Synchronization

/// The costly part of a query, which runs on a snapshot while the database goes on.
///
/// The engine provides it (`takePreparation()`). The owner of the engine runs it where it delays
/// nobody, and gives it back with `DatabaseEvent.prepared`. It is sound as `Sendable`, because only one thread at
/// a time uses it, except for ``cancel()``.
package final class QueryPreparation: @unchecked Sendable {
    enum Outcome {
        /// Not run yet.
        case none
        /// The view as of the snapshot's version.
        case view(LiveView, version: UInt64)
        case roots([ObjectRef])
        /// The reading has what it was to read.
        case read
        case failed(any Error)
    }

    enum Task {
        /// The making of a view that is not active yet, and that nobody else uses meanwhile.
        case view(LiveView)
        /// The listing of a query's roots after a place; nil for all.
        case roots(Query, after: RowCursor?)
        /// The reading of a page or of a digest.
        case reading(any SnapshotReading)
    }

    /// The session for which the work is done.
    let session: SessionID
    private let task: Task
    private let snapshot: ServerSnapshot
    private let stepCountMax: Int
    /// Whether nobody waits for the work any more; any thread may ask.
    private let isAbandoned: @Sendable () -> Bool
    private let isCancelled = Atomic(false)
    private(set) var outcome = Outcome.none
    /// The steps that the work has taken.
    private(set) var stepCount = 0

    /// - Parameters:
    ///   - stepCountMax: the most steps that it may take; nil for those of a query.
    ///   - endsWithSession: whether nobody waits for the work once the session has ended.
    init(
        _ task: Task, for session: SessionID, of database: Database, on snapshot: ServerSnapshot,
        stepCountMax: Int? = nil, endsWithSession: Bool = false
    ) {
        self.session = session
        self.task = task
        self.snapshot = snapshot
        self.stepCountMax = stepCountMax ?? database.limits.queryStepCountMax
        let waiter = endsWithSession ? session : nil
        isAbandoned = { [isAbandoned = database.isAbandoned] in isAbandoned(waiter) }
    }

    /// Does the work. Returns when it is done, has failed or was cancelled.
    package func run() {
        let limit = WorkLimit(stepCountMax: stepCountMax) { [self] in
            isCancelled.load(ordering: .relaxed) || isAbandoned()
        }
        defer {
            stepCount = limit.stepCount
            snapshot.close()
        }
        do {
            // Checked first, because a short query ends before its work limit checks.
            guard !isCancelled.load(ordering: .relaxed), !isAbandoned() else {
                throw StorageError(.cancelled, "a query was not begun: nobody waits for it any more")
            }
            outcome = try snapshot.withWorkLimit(limit) {
                switch task {
                case .view(let view):
                    try view.activate(in: snapshot)
                    return .view(view, version: snapshot.version)
                case .roots(let query, let cursor):
                    return .roots(try snapshot.roots(matching: query, after: cursor))
                case .reading(let reading):
                    try reading.read(in: snapshot, within: limit)
                    return .read
                }
            }
        } catch {
            outcome = .failed(error)
        }
    }

    /// Makes ``run()`` return soon. Any thread may call it.
    func cancel() { isCancelled.store(true, ordering: .relaxed) }
}
