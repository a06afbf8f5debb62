internal import Sluice
internal import Synchronization

/// Says on stderr that the connection is lost, and that it is back: once each, however often it is tried.
final class ConnectionReporter: Sendable {
    private let isLost = Mutex(false)
    private let report: @Sendable (String) -> Void

    init(report: @escaping @Sendable (String) -> Void = { Diagnostics.report($0) }) { self.report = report }

    /// Begins to follow a store whose session is open.
    func observe(_ store: Store) async throws {
        try await store.core.perform { [self] engine in engine.onSession = { self.note(problem: $0) } }
    }

    /// Takes in that a session is open (nil), or why there is none.
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
