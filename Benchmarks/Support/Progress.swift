import Dispatch
import Synchronization

/// A number that only grows: observers report it, a benchmark waits for it.
final class Progress: Sendable {
    private struct State {
        var value = 0
        var reached = ContinuousClock.now
        var waiter: (value: Int, continuation: CheckedContinuation<ContinuousClock.Instant, any Error>)?
    }

    private let state = Mutex(State())

    /// Stores that `value` is reached now.
    func report(_ value: Int) {
        let now = ContinuousClock.now
        let waiter = state.withLock { state -> CheckedContinuation<ContinuousClock.Instant, any Error>? in
            guard value > state.value else { return nil }
            state.value = value
            state.reached = now
            guard let waiter = state.waiter, waiter.value <= value else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume(returning: now)
    }

    /// Waits until `value` is reached.
    ///
    /// - Returns: when it was reached.
    func wait(for value: Int, timeout: Duration = .seconds(60)) async throws -> ContinuousClock.Instant {
        let nanoseconds = Int(timeout / .nanoseconds(1))
        return try await withCheckedThrowingContinuation { continuation in
            let reached = state.withLock { state -> ContinuousClock.Instant? in
                if state.value >= value { return state.reached }
                state.waiter = (value, continuation)
                return nil
            }
            if let reached { return continuation.resume(returning: reached) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
                self?.giveUp(value)
            }
        }
    }

    private func giveUp(_ value: Int) {
        let (waiter, reached) = state.withLock { state in
            let waiter = state.waiter
            if waiter?.value == value { state.waiter = nil }
            return (waiter, state.value)
        }
        guard let waiter, waiter.value == value else { return }
        waiter.continuation.resume(throwing: BenchmarkError("waited for \(value), and only \(reached) was reached"))
    }
}
