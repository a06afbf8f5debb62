internal import Glibc
internal import Synchronization

/// Lets callbacks run until it is closed. Closing it waits for a callback that is running on another thread.
package final class DeliveryGate: Sendable {
    private struct State {
        var isClosed = false
    }

    private let state = Mutex(State())
    private let delivering = RecursiveLock()

    package init() {}

    /// Runs `body` unless the gate is closed.
    package func deliver(_ body: () -> Void) {
        delivering.lock()
        defer { delivering.unlock() }
        guard !state.withLock({ $0.isClosed }) else { return }
        body()
    }

    /// Closes the gate: after this returns no callback runs, except one that made this call.
    package func close() {
        state.withLock { $0.isClosed = true }
        delivering.lock()
        delivering.unlock()
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
