import CEpoll

/// What a descriptor is ready for.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static let read = Readiness(rawValue: EPOLLIN.rawValue)
    static let write = Readiness(rawValue: EPOLLOUT.rawValue)
    /// An error or a hang-up, reported whether asked for or not.
    static let failure = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// Something that an event loop serves. Every method runs on the loop's thread.
class PollHandler: @unchecked Sendable {  // Subclasses keep their state to the loop's thread or behind a lock.
    /// The registered descriptor can be read, written, or has failed.
    func ready(_ readiness: Readiness) {}

    /// Asked for by ``EventLoop/scheduleFlush(_:)``, once at the end of a turn.
    func flush() {}

    /// The loop ends.
    func loopWillStop() {}
}
