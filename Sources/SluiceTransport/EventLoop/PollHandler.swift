import CEpoll

/// What a descriptor is ready for.
struct PollEvents: OptionSet {
    let rawValue: UInt32

    static let read = PollEvents(rawValue: EPOLLIN.rawValue)
    static let write = PollEvents(rawValue: EPOLLOUT.rawValue)
    /// An error or a hang-up, which epoll always reports.
    static let failure = PollEvents(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// Something that an event loop serves. Every method runs on the loop's thread, except ``flushWhileAsleep()``.
class PollHandler: @unchecked Sendable {  // Subclasses keep their state to the loop's thread or behind a lock.
    /// The registered descriptor is readable or writable, or has failed.
    func ready(_ readiness: PollEvents) {}

    /// Called at the end of a turn, once for each call of ``EventLoop/scheduleFlush(_:)``.
    func flush() {}

    /// Called by a thread that has borrowed the loop while it sleeps. It must call nobody who could wait for that thread,
    /// and change no timer.
    ///
    /// - Returns: whether nothing is left to be done; if not, ``flush()`` is called in the loop's next turn.
    func flushWhileAsleep() -> Bool { false }

    /// The loop is about to end.
    func loopWillStop() {}
}
