internal import Glibc

/// Lets in either one commit or any number of readers. Databases in memory need it, since they have no write-ahead log.
///
/// An open transaction does not disturb readers: its pages stay in the writer's cache until it commits. New readers
/// wait while a commit waits, so that readers who follow each other cannot keep it out. A thread that already reads
/// does not wait, since the commit waits for it.
///
/// Sound as `Sendable`: the mutex guards all state.
final class AccessGate: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// How many reads each thread has under way.
    private var readers: [pthread_t: Int] = [:]
    private var isCommitting = false
    private var waitingCommitCount = 0

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Waits until nobody reads or commits, and lets the calling thread in to commit.
    ///
    /// - Returns: false if the calling thread is reading, so that it would wait for itself.
    func enterCommitting() -> Bool {
        locked {
            guard readers[pthread_self()] == nil else { return false }
            waitingCommitCount += 1
            while isCommitting || !readers.isEmpty { pthread_cond_wait(condition, mutex) }
            waitingCommitCount -= 1
            isCommitting = true
            return true
        }
    }

    func leaveCommitting() {
        locked {
            isCommitting = false
            pthread_cond_broadcast(condition)
        }
    }

    /// Waits until nobody commits, and lets the calling thread in to read.
    func enterReading() {
        locked {
            if let count = readers[pthread_self()] {
                readers[pthread_self()] = count + 1
                return
            }
            while isCommitting || waitingCommitCount > 0 { pthread_cond_wait(condition, mutex) }
            readers[pthread_self()] = 1
        }
    }

    func leaveReading() {
        locked {
            let count = readers[pthread_self()] ?? 1
            readers[pthread_self()] = count > 1 ? count - 1 : nil
            if readers.isEmpty { pthread_cond_broadcast(condition) }
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}
