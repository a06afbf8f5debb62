internal import Dispatch
public import Sluice
internal import Synchronization

/// Observes results, keeps every change, and lets a test wait for one.
///
/// Waiting ends by the event, not by time; the timeout, in real time, is a safety net that turns a hanging test into a
/// failing one.
public final class EventRecorder<Element: ResultElement>: Sendable {
    private struct Waiter {
        let id: UInt64
        let condition: @Sendable (Change<Element>) -> Bool
        let continuation: CheckedContinuation<Change<Element>, any Error>
    }

    private struct State {
        var events: [Change<Element>] = []
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
    }

    /// What keeps the query in sync; stop it as the test wants.
    public let token: NotificationToken
    private let state: Box

    private final class Box: Sendable {
        let mutex = Mutex(State())
    }

    /// Begins to observe.
    ///
    /// - Throws: what `Results.observe(on:_:)` throws.
    public init(_ results: Results<Element>) throws {
        let state = Box()
        self.state = state
        token = try results.observe { change in
            let met = state.mutex.withLock { state in
                state.events.append(change)
                let met = state.waiters.filter { $0.condition(change) }
                state.waiters.removeAll { waiter in met.contains { $0.id == waiter.id } }
                return met
            }
            for waiter in met { waiter.continuation.resume(returning: change) }
        }
    }

    /// Every change so far, the initial one first.
    public var events: [Change<Element>] { state.mutex.withLock { $0.events } }

    /// Waits for a change that meets a condition, one that has come already included.
    ///
    /// - Parameters:
    ///   - index: earlier changes do not count; ``events`` has them.
    ///   - timeout: how long at most, in real time.
    ///   - condition: what the change must be like.
    /// - Throws: ``TimedOut``.
    @discardableResult
    public func event(
        from index: Int = 0, timeout: Duration = .seconds(120),
        where condition: @escaping @Sendable (Change<Element>) -> Bool
    ) async throws -> Change<Element> {
        try await withCheckedThrowingContinuation { continuation in
            var known: Change<Element>?
            let id: UInt64 = state.mutex.withLock { state in
                known = state.events.dropFirst(index).first(where: condition)
                state.lastID += 1
                if known == nil {
                    state.waiters.append(
                        Waiter(id: state.lastID, condition: condition, continuation: continuation))
                }
                return state.lastID
            }
            if let known { return continuation.resume(returning: known) }
            let nanoseconds = Int(timeout / .nanoseconds(1))
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [state] in
                let (late, count) = state.mutex.withLock { state in
                    let late = state.waiters.first { $0.id == id }
                    state.waiters.removeAll { $0.id == id }
                    return (late, state.events.count)
                }
                late?.continuation.resume(throwing: TimedOut(eventCount: count))
            }
        }
    }

    /// Waits until the server has named and sent every result.
    ///
    /// - Throws: ``TimedOut``.
    @discardableResult
    public func complete(from index: Int = 0, timeout: Duration = .seconds(120)) async throws -> Change<Element> {
        try await event(from: index, timeout: timeout) { $0.state == .complete }
    }
}

/// Nothing that was waited for came.
public struct TimedOut: Error, Sendable, CustomStringConvertible {
    /// How many changes had come.
    public let eventCount: Int

    public var description: String { "the expected change did not come; there were \(eventCount)" }
}
