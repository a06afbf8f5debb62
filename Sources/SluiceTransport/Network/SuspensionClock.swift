import Glibc

/// Knows how long the machine was suspended.
package enum SuspensionClock {
    /// How long the machine was suspended since it was started, in all: one clock of Linux runs on meanwhile, and the
    /// other does not (clock_gettime(2), `CLOCK_BOOTTIME`).
    package static var suspendedTime: Duration {
        var whole = timespec()
        var running = timespec()
        clock_gettime(CLOCK_BOOTTIME, &whole)
        clock_gettime(CLOCK_MONOTONIC, &running)
        return .seconds(whole.tv_sec - running.tv_sec) + .nanoseconds(whole.tv_nsec - running.tv_nsec)
    }
}
