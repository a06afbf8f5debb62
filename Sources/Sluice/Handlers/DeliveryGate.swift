internal import Glibc
internal import Synchronization

/// Lets the calls of a handler through until it is closed. Closing it waits for a call that another thread makes.
package final class DeliveryGate: Sendable {
    private struct State {
        var isClosed = false
        var runningCount = 0
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let delivering = RecursiveLock()
    private let onEnd: @Sendable (ObjectIdentifier) -> Void

    package convenience init() { self.init { _ in } }

    /// - Parameter onEnd: called with the gate's identity when it is released.
    init(onEnd: @escaping @Sendable (ObjectIdentifier) -> Void) { self.onEnd = onEnd }

    deinit { onEnd(ObjectIdentifier(self)) }

    /// Whether no more calls begin.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Runs `body` unless the gate is closed.
    ///
    /// - Returns: whether it ran.
    @discardableResult
    package func deliver(_ body: () -> Void) -> Bool {
        delivering.lock()
        defer { delivering.unlock() }
        let isOpen = state.withLock { state in
            if !state.isClosed { state.runningCount += 1 }
            return !state.isClosed
        }
        guard isOpen else { return false }
        body()
        let waiters = state.withLock { state in
            state.runningCount -= 1
            guard state.runningCount == 0 else { return [@Sendable () -> Void]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
        return true
    }

    /// Closes the gate without waiting: no call begins from now on.
    func shut() { state.withLock { $0.isClosed = true } }

    /// Closes the gate: after this returns no call runs, except one that made this call.
    package func close() {
        shut()
        delivering.lock()
        delivering.unlock()
    }

    /// Calls `body` once no call runs.
    func whenIdle(_ body: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.runningCount > 0 { state.waiters.append(body) }
            return state.runningCount == 0
        }
        if isIdle { body() }
    }
}

/// A lock that the thread holding it may lock again.
private final class RecursiveLock: @unchecked Sendable {
    // The mutex is initialised once, never moved, and any thread may use it.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_RECURSIVE))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }
}
