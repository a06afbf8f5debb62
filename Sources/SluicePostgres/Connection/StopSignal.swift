#if PostgreSQL

internal import Glibc
internal import Synchronization

/// Ends, once and for all, every wait that includes it: those that are under way and those that come.
final class StopSignal: Sendable {
    /// Readable, to `poll`, once the signal was given.
    let descriptor: Int32
    /// The other end of the pipe; -1 once it is closed.
    private let writer: Mutex<Int32>

    init() {
        var ends: [Int32] = [-1, -1]
        let result = pipe(&ends)
        precondition(result == 0, "the process has as many files open as it may")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        descriptor = ends[0]
        writer = Mutex(ends[1])
    }

    deinit {
        give()
        close(descriptor)
    }

    /// Ends the waits. Any thread may call it, and more than once.
    func give() {
        writer.withLock { writer in
            if writer >= 0 { close(writer) }
            writer = -1
        }
    }

    var isGiven: Bool { writer.withLock { $0 < 0 } }

    /// Waits until a time, or for the signal.
    ///
    /// - Returns: whether the time has come.
    func wait(until deadline: ContinuousClock.Instant) -> Bool {
        PollWait(descriptor: -1, stop: descriptor).run(events: 0, until: deadline) == .time
    }
}

/// A wait for one descriptor, beside a ``StopSignal``.
struct PollWait {
    enum End { case ready, time, stop }

    /// What is waited for; negative for nothing.
    let descriptor: Int32
    let stop: Int32

    /// - Parameters:
    ///   - events: `POLLIN`, `POLLOUT` or both.
    ///   - deadline: when the wait ends; nil for never.
    func run(events: Int32, until deadline: ContinuousClock.Instant?) -> End {
        var places = [
            pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(events), revents: 0),
        ]
        while true {
            var milliseconds: Int32 = -1
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline)
                // Rounded up, so that a wait does not end before its time and begins again.
                milliseconds = Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
                if left <= .zero { milliseconds = 0 }
            }
            let count = poll(&places, 2, milliseconds)
            if count < 0, errno == EINTR { continue }
            if places[0].revents != 0 { return .stop }
            if places[1].revents != 0 { return .ready }
            if count <= 0, milliseconds >= 0 { return .time }
        }
    }
}

#endif
