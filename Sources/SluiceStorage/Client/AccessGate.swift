internal import Glibc

/// Lets either one writer or any number of readers in: for databases in memory, which have no write-ahead log.
///
/// Sound as `Sendable`: everything is behind the mutex.
final class AccessGate: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var readerCount = 0
    private var writer: pthread_t?

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

    /// Waits until nobody is in, and lets the calling thread in to write.
    func enterWriting() {
        locked {
            while writer != nil || readerCount > 0 { pthread_cond_wait(condition, mutex) }
            writer = pthread_self()
        }
    }

    func leaveWriting() {
        locked {
            writer = nil
            pthread_cond_broadcast(condition)
        }
    }

    /// Waits until nobody writes, and lets the calling thread in to read.
    ///
    /// - Returns: false if it is the calling thread that writes.
    func enterReading() -> Bool {
        locked {
            if let writer, pthread_equal(writer, pthread_self()) != 0 { return false }
            while writer != nil { pthread_cond_wait(condition, mutex) }
            readerCount += 1
            return true
        }
    }

    func leaveReading() {
        locked {
            readerCount -= 1
            pthread_cond_broadcast(condition)
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}
