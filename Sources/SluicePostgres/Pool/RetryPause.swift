#if PostgreSQL

internal import Synchronization

/// When a server that does not answer may be tried again: after a wait that doubles with each failure, for all threads of
/// a node together.
final class RetryPause: Sendable {
    private struct State {
        var wait: Duration?
        var next = ContinuousClock.now
    }

    private let min: Duration
    private let max: Duration
    private let state = Mutex(State())

    init(min: Duration, max: Duration) {
        self.min = min
        self.max = max
    }

    /// Whether an attempt may be made now. Whoever may is the only one until it reports.
    func mayTry() -> Bool {
        state.withLock { state in
            guard let wait = state.wait else { return true }
            guard .now >= state.next else { return false }
            state.next = .now + wait
            return true
        }
    }

    /// When the next attempt may be made, and not before the shortest wait.
    var next: ContinuousClock.Instant { state.withLock { Swift.max($0.next, .now + min) } }

    func noteSuccess() { state.withLock { $0.wait = nil } }

    func noteFailure() {
        state.withLock { state in
            let wait = state.wait.map { Swift.min($0 * 2, max) } ?? min
            state.wait = wait
            state.next = .now + wait
        }
    }
}

#endif
