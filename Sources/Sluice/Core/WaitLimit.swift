internal import SluiceModel
internal import Synchronization

/// Ends a wait that takes too long. It counts only while somebody waits, and has at most one timer.
final class WaitLimit: Sendable {
    private struct State {
        var began: Timestamp?
        var isTimerSet = false
        /// How many waits have begun.
        var waitCount: UInt64 = 0
    }

    private let timeout: Duration
    private let environment: StoreEnvironment
    private let expire: @Sendable (_ timeout: Duration, _ clockStandsStill: Bool) -> Void
    private let state = Mutex(State())

    /// - Parameter expire: called when a wait has lasted for `timeout`, or for ``StoreEnvironment/patience`` in real
    ///   time while the store's clock is another.
    init(
        _ timeout: Duration, _ environment: StoreEnvironment,
        expire: @escaping @Sendable (_ timeout: Duration, _ clockStandsStill: Bool) -> Void
    ) {
        self.timeout = timeout
        self.environment = environment
        self.expire = expire
    }

    /// A wait begins.
    func begin() {
        let (mustSchedule, wait) = state.withLock { state in
            state.began = environment.now()
            state.waitCount += 1
            defer { state.isTimerSet = true }
            return (!state.isTimerSet, state.waitCount)
        }
        if mustSchedule { schedule(timeout) }
        guard let patience = environment.patience else { return }
        StoreEnvironment.delayed(patience) { [weak self] in
            guard let self, state.withLock({ $0.began != nil && $0.waitCount == wait }) else { return }
            expire(patience, true)
        }
    }

    /// The wait is over.
    func end() { state.withLock { $0.began = nil } }

    private func schedule(_ delay: Duration) {
        environment.schedule(delay) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        let rest = state.withLock { state -> Duration? in
            guard let began = state.began else {
                state.isTimerSet = false
                return nil
            }
            // The wall clock may have been set back.
            let waited = max(0, environment.now().microseconds - began.microseconds)
            return max(.zero, timeout - .microseconds(waited))
        }
        guard let rest else { return }
        if rest > .zero { schedule(rest) } else { expire(timeout, false) }
    }
}
