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
    }

    private let start: Date
    private let state = Mutex(State())

    /// - Parameter start: the initial time.
    public init(start: Date = Date(timeIntervalSince1970: 1_700_000_000)) { self.start = start }

    /// The current time of the clock.
    public var now: Date { start.addingTimeInterval(state.withLock { $0.elapsed } / .seconds(1)) }

    package var timestamp: Timestamp { Timestamp(now) }

    /// How many timers are waiting, except those of a store's upkeep, which nothing depends on.
    public var timerCount: Int { state.withLock { $0.timers.count { !$0.isUpkeep } } }

    /// Moves the clock forward. Timers that become due run on the calling thread, in order, each at its own time.
    public func advance(by duration: Duration) {
        let end = state.withLock { $0.elapsed } + duration
        while let timer = takeDue(until: end) { timer.body() }
        state.withLock { $0.elapsed = max($0.elapsed, end) }
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
        state.withLock { state in
            state.lastNumber += 1
            state.timers.append(
                Timer(due: state.elapsed + max(delay, .zero), number: state.lastNumber, isUpkeep: isUpkeep, body: body))
        }
    }
}
