internal import SluiceModel
internal import Synchronization

/// Ends a wait that takes too long. It counts only while somebody waits, and has at most one timer.
final class WaitLimit: Sendable {
    private struct State {
        var began: Timestamp?
        var isTimerSet = false
    }

    private let timeout: Duration
    private let environment: StoreEnvironment
    private let expire: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter expire: called when a wait has lasted for `timeout`.
    init(_ timeout: Duration, _ environment: StoreEnvironment, expire: @escaping @Sendable () -> Void) {
        self.timeout = timeout
        self.environment = environment
        self.expire = expire
    }

    /// A wait begins.
    func begin() {
        let mustSchedule = state.withLock { state in
            state.began = environment.now()
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSchedule { schedule(timeout) }
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
        if rest > .zero { schedule(rest) } else { expire() }
    }
}
