internal import Dispatch
public import FoundationEssentials
package import SluiceModel
internal import Synchronization

/// A clock that stands still until a test moves it. It gives stores and servers the time and runs their timers.
///
/// Reconnecting and timeouts, such as that of `Results.synced(timeout:)`, follow this clock.
public final class ManualClock: Sendable {
    private struct Timer {
        let due: Duration
        let number: UInt64
        let isUpkeep: Bool
        let body: @Sendable () -> Void
    }

    private struct State {
        var elapsed: Duration = .zero
        var lastNumber: UInt64 = 0
        var timers: [Timer] = []
        var waiters: [Waiter] = []
        var afterMoves: [@Sendable () -> Void] = []

        var timerCount: Int { timers.count { !$0.isUpkeep } }

        /// Removes those whose timers are set.
        mutating func takeMet() -> [Waiter] {
            let met = waiters.filter { $0.count <= timerCount }
            waiters.removeAll { waiter in met.contains { $0.id == waiter.id } }
            return met
        }
    }

    /// Somebody who waits until timers are set.
    private struct Waiter {
        let id: UInt64
        let count: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let start: Date
    private let state = Mutex(State())

    /// - Parameter start: the initial time.
    public init(start: Date = Date(timeIntervalSince1970: 1_700_000_000)) { self.start = start }

    /// The current time of the clock.
    public var now: Date { start.addingTimeInterval(state.withLock { $0.elapsed } / .seconds(1)) }

    package var timestamp: Timestamp { Timestamp(now) }

    /// How many timers are waiting, except those of a store's upkeep, which nothing depends on.
    public var timerCount: Int { state.withLock { $0.timerCount } }

    /// How far the clock has moved since it was made.
    package var elapsed: Duration { state.withLock { $0.elapsed } }

    /// Waits until a number of timers is set, so that a test moves the clock only after what it means to end has begun.
    /// Counts as ``timerCount``.
    ///
    /// - Parameters:
    ///   - count: how many timers, at least.
    ///   - timeout: the longest wait, in real time.
    /// - Throws: ``NotSettled`` when they are not set in time.
    public func timers(_ count: Int, timeout: Duration = .seconds(120)) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let id: UInt64? = state.withLock { state in
                guard state.timerCount < count else { return nil }
                state.lastNumber += 1
                state.waiters.append(Waiter(id: state.lastNumber, count: count, continuation: continuation))
                return state.lastNumber
            }
            guard let id else { return continuation.resume() }
            let nanoseconds = Int(timeout / .nanoseconds(1))
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [self] in
                let (late, set) = state.withLock { state in
                    let late = state.waiters.first { $0.id == id }
                    state.waiters.removeAll { $0.id == id }
                    return (late, state.timerCount)
                }
                late?.continuation.resume(throwing: NotSettled("of \(count) timers only \(set) were set"))
            }
        }
    }

    /// Calls a closure after each move of the clock.
    package func afterMoves(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.afterMoves.append(body) } }

    /// Moves the clock to the next timer that is due by `end`, and runs it.
    ///
    /// - Returns: false, with the clock at `end`, if there is none.
    package func advanceToNextTimer(until end: Duration) -> Bool {
        defer { for body in state.withLock({ $0.afterMoves }) { body() } }
        if let timer = takeDue(until: end) {
            timer.body()
            return true
        }
        state.withLock { $0.elapsed = max($0.elapsed, end) }
        return false
    }

    /// Moves the clock forward. Timers that become due run on the calling thread, in order, each at its own time.
    public func advance(by duration: Duration) {
        let end = elapsed + duration
        while advanceToNextTimer(until: end) {}
    }

    private func takeDue(until end: Duration) -> Timer? {
        state.withLock { state in
            let due = state.timers.indices.filter { state.timers[$0].due <= end }
            guard let next = due.min(by: { Self.precedes(state.timers[$0], state.timers[$1]) }) else { return nil }
            let timer = state.timers.remove(at: next)
            state.elapsed = max(state.elapsed, timer.due)
            return timer
        }
    }

    private static func precedes(_ left: Timer, _ right: Timer) -> Bool {
        (left.due, left.number) < (right.due, right.number)
    }

    /// Calls `body` once the clock has moved forward by `delay`.
    ///
    /// - Parameter isUpkeep: whether nobody waits for it, so that ``timerCount`` does not count it.
    package func schedule(after delay: Duration, isUpkeep: Bool = false, _ body: @escaping @Sendable () -> Void) {
        let met = state.withLock { state in
            state.lastNumber += 1
            state.timers.append(
                Timer(due: state.elapsed + max(delay, .zero), number: state.lastNumber, isUpkeep: isUpkeep, body: body))
            return state.takeMet()
        }
        for waiter in met { waiter.continuation.resume() }
    }
}
