internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import Synchronization

/// What a costly query makes the database do, on a snapshot, while the database goes on.
///
/// The engine hands it out (``DatabaseEngine/takePreparation()``); whoever drives the engine runs it wherever that holds up
/// nobody, and gives it back with ``DatabaseEvent/prepared(_:)``. Sound as `Sendable`: it is in one hand after the other,
/// and only ``cancel()`` is called meanwhile.
package final class QueryPreparation: @unchecked Sendable {
    enum Outcome {
        /// Not run yet.
        case none
        /// The view as of the snapshot's version.
        case view(LiveView, version: UInt64)
        case roots([ObjectRef])
        case failed(any Error)
    }

    private enum Work {
        case view(LiveView)
        case roots(Query, after: RowCursor?)
    }

    /// Whom it is done for.
    let session: SessionID
    private let work: Work
    private let snapshot: any ServerSnapshot
    private let stepCountMax: Int
    private let isAbandoned: () -> Bool
    private let isCancelled = Atomic(false)
    private(set) var outcome = Outcome.none

    /// - Parameters:
    ///   - view: not active yet; nobody else has it meanwhile.
    ///   - isAbandoned: whether nobody waits any more for anything; may be called on any thread.
    init(
        making view: LiveView, for session: SessionID, on snapshot: any ServerSnapshot, stepCountMax: Int,
        isAbandoned: @escaping () -> Bool
    ) {
        self.session = session
        work = .view(view)
        self.snapshot = snapshot
        self.stepCountMax = stepCountMax
        self.isAbandoned = isAbandoned
    }

    /// - Parameter cursor: where the roots begin that are wanted.
    init(
        listing query: Query, after cursor: RowCursor?, for session: SessionID, on snapshot: any ServerSnapshot,
        stepCountMax: Int, isAbandoned: @escaping () -> Bool
    ) {
        self.session = session
        work = .roots(query, after: cursor)
        self.snapshot = snapshot
        self.stepCountMax = stepCountMax
        self.isAbandoned = isAbandoned
    }

    /// Does the work. Returns when it is done, has failed or was cancelled.
    package func run() {
        defer { snapshot.close() }
        let limit = WorkLimit(stepCountMax: stepCountMax) { [self] in
            isCancelled.load(ordering: .relaxed) || isAbandoned()
        }
        do {
            // A short query is over before anybody looks.
            guard !isCancelled.load(ordering: .relaxed), !isAbandoned() else {
                throw StorageError(.cancelled, "a query was not begun: nobody waits for it any more")
            }
            outcome = try snapshot.withWorkLimit(limit) {
                switch work {
                case .view(let view):
                    try view.activate(in: snapshot)
                    return .view(view, version: snapshot.version)
                case .roots(let query, let cursor):
                    return .roots(try snapshot.roots(matching: query, after: cursor))
                }
            }
        } catch {
            outcome = .failed(error)
        }
    }

    /// Has ``run()`` return soon. From any thread.
    func cancel() { isCancelled.store(true, ordering: .relaxed) }
}
