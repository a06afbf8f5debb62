internal import Dispatch
internal import Synchronization

/// Runs the calls of a store's handlers in the order in which they are handed over: one after the other while they are
/// quick, and beside one that takes long.
///
/// So a burst of quick calls takes one thread, and each handler that takes long takes one of its own. Whose calls must
/// not overlap hands the next over once the last has returned, as ``HandlerSequence`` does.
package final class HandlerPool: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        /// How many of `waiting` have begun.
        var head = 0
        /// How many calls have begun in all.
        var begunCount: UInt64 = 0
        var threadCount = 0
        var isWatched = false
        /// The queues that no thread uses.
        var queues: [DispatchQueue] = []
        var idleWaiters: [@Sendable () -> Void] = []

        mutating func take() -> (@Sendable () -> Void)? {
            guard head < waiting.count else { return nil }
            let call = waiting[head]
            head += 1
            begunCount += 1
            if head == waiting.count {
                waiting.removeAll(keepingCapacity: waiting.count < 1_024)
                head = 0
            }
            return call
        }
    }

    /// How long a call waits behind others until there is another thread. It is the machine's time, not the store's: how
    /// long a handler keeps a thread is no event of the store.
    private static let patience: DispatchTimeInterval = .milliseconds(10)

    private let state = Mutex(State())

    package init() {}

    /// Has a call made soon, on another thread.
    package func run(_ call: @escaping @Sendable () -> Void) {
        let (starts, watches) = state.withLock { state in
            state.waiting.append(call)
            guard state.threadCount > 0 else {
                state.threadCount = 1
                return (true, false)
            }
            defer { state.isWatched = true }
            return (false, !state.isWatched)
        }
        if starts { startThread() }
        if watches { watch(since: state.withLock(\.begunCount)) }
    }

    /// Calls `body` once every call that was handed over has returned.
    package func whenIdle(_ body: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.threadCount > 0 { state.idleWaiters.append(body) }
            return state.threadCount == 0
        }
        if isIdle { body() }
    }

    private func startThread() {
        let queue = state.withLock { $0.queues.popLast() } ?? DispatchQueue(label: "sluice.handlers")
        queue.async { self.work(on: queue) }
    }

    private func work(on queue: DispatchQueue) {
        while let call = next(queue) { call() }
    }

    private func next(_ queue: DispatchQueue) -> (@Sendable () -> Void)? {
        let (call, waiters) = state.withLock { state in
            if let call = state.take() { return (Optional(call), [@Sendable () -> Void]()) }
            state.threadCount -= 1
            state.queues.append(queue)
            guard state.threadCount == 0 else { return (nil, []) }
            defer { state.idleWaiters = [] }
            return (nil, state.idleWaiters)
        }
        for waiter in waiters { waiter() }
        return call
    }

    /// Starts another thread when no call begins for a while although some wait.
    private func watch(since begunCount: UInt64) {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [self] in
            let (count, starts) = state.withLock { state -> (UInt64?, Bool) in
                guard state.head < state.waiting.count else {
                    state.isWatched = false
                    return (nil, false)
                }
                let isStuck = state.begunCount == begunCount
                if isStuck { state.threadCount += 1 }
                return (state.begunCount, isStuck)
            }
            if starts { startThread() }
            if let count { watch(since: count) }
        }
    }
}
