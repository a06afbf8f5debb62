internal import Dispatch
public import Sluice
internal import Synchronization

/// Observes results, records every change, and lets a test wait for a change.
///
/// A wait ends with the event, not after a time. The timeout, in real time, is only a safety net that makes a hanging
/// test fail.
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

    /// Keeps the query in sync until the test stops it.
    public let token: NotificationToken
    private let state: Box

    private final class Box: Sendable {
        let mutex = Mutex(State())
    }

    /// Begins to observe.
    ///
    /// - Throws: what `Results.observe(on:_:onError:)` throws.
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

    /// Every change so far, beginning with the initial one.
    public var events: [Change<Element>] { state.mutex.withLock { $0.events } }

    /// Waits for a change that meets a condition; a change that has already arrived counts too.
    ///
    /// - Parameters:
    ///   - index: the position in ``events`` from which changes count.
    ///   - timeout: the longest wait, in real time.
    ///   - condition: the condition that the change must meet.
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

    /// Waits until the subscription is complete: the server has named and sent every result.
    ///
    /// - Throws: ``TimedOut``.
    @discardableResult
    public func complete(from index: Int = 0, timeout: Duration = .seconds(120)) async throws -> Change<Element> {
        try await event(from: index, timeout: timeout) { $0.state == .complete }
    }
}

/// The error when an expected change does not arrive in time.
public struct TimedOut: Error, Sendable, CustomStringConvertible {
    /// How many changes had arrived.
    public let eventCount: Int

    public var description: String { "the expected change did not come; there were \(eventCount)" }
}
