import Synchronization

@testable import SluiceTransport

struct WaitedTooLong: Error, CustomStringConvertible {
    let description: String
}

/// A value that tests can wait for.
final class Observed<Value: Sendable>: Sendable {
    private struct Waiter {
        let predicate: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Value, any Error>
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var lastID = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    func update(_ change: @Sendable (inout Value) -> Void) {
        let (value, ready) = state.withLock { state in
            change(&state.value)
            var ready: [Waiter] = []
            for (id, waiter) in state.waiters where waiter.predicate(state.value) {
                ready.append(waiter)
                state.waiters[id] = nil
            }
            return (state.value, ready)
        }
        for waiter in ready { waiter.continuation.resume(returning: value) }
    }

    /// Returns as soon as the value satisfies the predicate; throws after 30 s.
    @discardableResult
    func wait(
        for what: String, timeout: Duration = .seconds(120), until predicate: @escaping @Sendable (Value) -> Bool
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let (id, value): (Int?, Value) = state.withLock { state in
                guard !predicate(state.value) else { return (nil, state.value) }
                state.lastID += 1
                state.waiters[state.lastID] = Waiter(predicate: predicate, continuation: continuation)
                return (state.lastID, state.value)
            }
            guard let id else { return continuation.resume(returning: value) }
            Clock.loop.execute {
                _ = Clock.loop.schedule(after: timeout) { [self] in
                    let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
                    waiter?.continuation.resume(
                        throwing: WaitedTooLong(description: "waited \(timeout) for \(what); have \(self.value)"))
                }
            }
        }
    }
}

/// An event loop for the time limits of tests.
enum Clock {
    static let loop: EventLoop = {
        do { return try EventLoop() } catch { preconditionFailure("no event loop for the tests: \(error)") }
    }()
}
