internal import Sluice
internal import Synchronization

/// Reports on stderr when the connection is lost and when it is back: once each, however many attempts there are.
final class ConnectionReporter: Sendable {
    private let isLost = Mutex(false)
    private let report: @Sendable (String) -> Void

    init(report: @escaping @Sendable (String) -> Void = { Diagnostics.report($0) }) { self.report = report }

    /// Begins to observe a store whose session is open.
    func observe(_ store: Store) async throws {
        try await store.core.perform { [self] engine in engine.onSession = { self.note(problem: $0) } }
    }

    /// Records that a session is open (nil), or why there is none.
    func note(problem: String?) {
        let wasLost = isLost.withLock { isLost in
            defer { isLost = problem != nil }
            return isLost
        }
        switch (problem, wasLost) {
        case (let problem?, false): report("connection lost: \(problem); trying again")
        case (nil, true): report("connected again")
        default: break
        }
    }
}
