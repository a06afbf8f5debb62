internal import Dispatch
public import Sluice
internal import Synchronization

/// Observes results, records every change, and lets a test wait for a change.
///
/// A wait ends with the event, not after a time, and it ends at once where the server has rejected the query. The
/// timeout, in real time, is only a safety net that makes a hanging test fail.
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

        /// Why nothing more comes, as the last of the events from an index says; nil if more may come.
        func error(from index: Int) -> SyncError? { events.dropFirst(index).last?.rejection }
    }

    /// Keeps the query in sync until the test stops it.
    public let token: NotificationToken
    private let state: Box
    private let core: StoreCore

    private final class Box: Sendable {
        let mutex = Mutex(State())
    }

    /// Begins to observe.
    ///
    /// - Throws: what `Results.observe(on:_:onError:)` throws.
    public init(_ results: Results<Element>) throws {
        let state = Box()
        self.state = state
        core = results.core
        token = try results.observe { change in
            let rejection = change.rejection
            let (met, failed) = state.mutex.withLock { state -> ([Waiter], [Waiter]) in
                state.events.append(change)
                let met = state.waiters.filter { $0.condition(change) }
                state.waiters.removeAll { waiter in met.contains { $0.id == waiter.id } }
                guard rejection != nil else { return (met, []) }
                defer { state.waiters = [] }
                return (met, state.waiters)
            }
            for waiter in met { waiter.continuation.resume(returning: change) }
            if let rejection {
                for waiter in failed { waiter.continuation.resume(throwing: rejection) }
            }
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
    /// - Throws: the subscription's `SyncError`, at once, if the last change that counts says that the server has
    ///   rejected the query and no change meets the condition; ``TimedOut``.
    @discardableResult
    public func event(
        from index: Int = 0, timeout: Duration = .seconds(120),
        where condition: @escaping @Sendable (Change<Element>) -> Bool
    ) async throws -> Change<Element> {
        try await withCheckedThrowingContinuation { continuation in
            var known: Change<Element>?
            var error: SyncError?
            let id: UInt64 = state.mutex.withLock { state in
                known = state.events.dropFirst(index).first(where: condition)
                error = state.error(from: index)
                state.lastID += 1
                if known == nil, error == nil {
                    state.waiters.append(
                        Waiter(id: state.lastID, condition: condition, continuation: continuation))
                }
                return state.lastID
            }
            if let known { return continuation.resume(returning: known) }
            if let error { return continuation.resume(throwing: error) }
            let nanoseconds = Int(timeout / .nanoseconds(1))
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [state, core] in
                let (late, events) = state.mutex.withLock { state in
                    let late = state.waiters.first { $0.id == id }
                    state.waiters.removeAll { $0.id == id }
                    return (late, state.events)
                }
                guard let late else { return }
                let obstacle = (try? core.performAndWait(\.obstacle)) ?? nil
                late.continuation.resume(
                    throwing: TimedOut(
                        eventCount: events.count, lastState: events.last?.state, obstacle: obstacle))
            }
        }
    }

    /// Waits until the subscription is complete: the server has named and sent every result.
    ///
    /// - Throws: as ``event(from:timeout:where:)``.
    @discardableResult
    public func complete(from index: Int = 0, timeout: Duration = .seconds(120)) async throws -> Change<Element> {
        try await event(from: index, timeout: timeout) { $0.state == .complete }
    }
}

/// The error when an expected change does not arrive in time.
public struct TimedOut: SluiceError {
    /// How many changes had arrived.
    public let eventCount: Int
    /// The state of the subscription in the last of them; nil if there were none.
    public let lastState: SubscriptionState?
    /// What keeps the store from its server, as far as it is known.
    public let obstacle: String?

    /// What had come instead.
    public var message: String {
        "the expected change did not come; there were \(eventCount)"
            + (lastState.map { ", the last of them \($0.rawValue)" } ?? "") + (obstacle.map { ": \($0)" } ?? "")
    }
}

extension Change {
    /// Why the server has rejected the query; nil if it has not.
    fileprivate var rejection: SyncError? {
        guard state == .error else { return nil }
        return subscription.error ?? SyncError(.server, "the server rejected the query")
    }
}
