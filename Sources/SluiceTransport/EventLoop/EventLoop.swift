import CEpoll
import Glibc
import Synchronization

/// One thread that serves many non-blocking sockets through epoll.
///
/// A turn: wait; serve ready descriptors; run due timers; run closures from other threads; flush the connections that
/// have something new to send, so that all messages of a turn to one socket leave in one system call.
///
/// A thread that has something to send while the loop sleeps borrows the loop and writes by itself: to wake the loop takes
/// longer than to write (a system call here, one there, and the time until the loop's thread runs). It gives up where it
/// would have to wait, and a loop that was borrowed a few times since its last turn is woken, so that one thread does not
/// do all of the writing of a fan-out.
package final class EventLoop: @unchecked Sendable {  // State is used by the owner alone, except `inbox` and atomics.
    private struct Inbox {
        var tasks: [@Sendable () -> Void] = []
        var flushes: [PollHandler] = []
        var isAsleep = false
        var isStopping = false
        var isStopped = false
        /// How often the loop was borrowed since its last turn.
        var borrowCount = 0

        /// - Returns: whether the loop has to be woken, for what was added to the inbox.
        mutating func wake() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }
    }

    /// How often the loop is borrowed at most between two turns.
    private static let borrowCountMax = 4

    private struct Slot {
        var generation: UInt32 = 0
        var handler: PollHandler?
    }

    private let epoll: Int32
    private let wakeUp: Int32
    private let inbox = Mutex(Inbox())
    /// Held by the owner of the loop's state: the loop's thread while it is awake, or another that has borrowed the loop.
    private let ownership = Mutex(())
    /// Whether other threads may borrow the loop. One that a test turns by hand sends when it is turned.
    private let isLent: Bool
    private let threadID = Atomic<UInt>(0)
    private var thread: pthread_t?

    private var slots: [Slot] = []
    private var timers = TimerQueue()

    /// Memory that a handler may use while it runs, 64 KiB.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)

    /// Where the kernel writes what is ready. Used by the loop's owner, and freed with the loop.
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 512)

    private static let wakeUpTag = UInt64.max

    /// Starts a loop and its thread.
    package convenience init() throws(TransportError) {
        try self.init(hasThread: true)
    }

    /// - Parameter hasThread: false for a loop that runs only while ``turn(waits:)`` is called.
    init(hasThread: Bool) throws(TransportError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw .system(errno, "create an event loop") }
        epoll = descriptor
        wakeUp = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        isLent = hasThread
        guard wakeUp >= 0 else {
            let number = errno
            Glibc.close(epoll)
            throw .system(number, "create an event loop")
        }
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = EventLoop.wakeUpTag
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeUp, &event)
        guard hasThread else { return }

        var identifier = pthread_t()
        // The thread keeps the loop until it ends; without a thread it is released below.
        let context = Unmanaged.passRetained(self)
        let result = pthread_create(
            &identifier, nil,
            { context in
                Unmanaged<EventLoop>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard result == 0 else {
            context.release()
            throw .system(result, "start a thread")
        }
        thread = identifier
    }

    deinit {
        Glibc.close(epoll)
        Glibc.close(wakeUp)
        scratch.deallocate()
        events.deallocate()
    }

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool { threadID.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs a closure on the loop's thread, in the order of the calls. After the loop has stopped, closures are
    /// dropped.
    package func execute(_ task: @escaping @Sendable () -> Void) {
        enqueue { $0.tasks.append(task) }
    }

    /// Has the handler flush: at once and on this thread if the loop sleeps and the handler agrees
    /// (``PollHandler/flushWhileAsleep()``), else at the end of this turn or of the next.
    func scheduleFlush(_ handler: PollHandler) {
        // One look at the inbox for each message of a fan-out, most of which meet a loop that is awake.
        let (mayBorrow, mustWake) = inbox.withLock { inbox in
            if isLent, inbox.isAsleep, inbox.borrowCount < EventLoop.borrowCountMax {
                inbox.borrowCount += 1
                return (true, false)
            }
            guard !inbox.isStopped else { return (false, false) }
            inbox.flushes.append(handler)
            return (false, inbox.wake())
        }
        if mustWake { eventfd_write(wakeUp, 1) }
        guard mayBorrow else { return }
        if ownership.withLockIfAvailable({ _ in handler.flushWhileAsleep() }) ?? false { return }
        enqueue { $0.flushes.append(handler) }
    }

    private func enqueue(_ body: (inout sending Inbox) -> Void) {
        let mustWake = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            body(&inbox)
            return inbox.wake()
        }
        if mustWake { eventfd_write(wakeUp, 1) }
    }

    /// Ends the loop after the closures that it was given before, and waits for its thread. Connections that are still
    /// open are aborted. Must not be called on the loop's thread.
    package func stop() {
        precondition(!isCurrent, "an event loop cannot wait for its own end")
        enqueue { $0.isStopping = true }
        let thread = inbox.withLock { _ in
            defer { self.thread = nil }
            return self.thread
        }
        if let thread { pthread_join(thread, nil) }
    }
}

// MARK: - Descriptors and timers, on the loop's thread

extension EventLoop {
    /// Begins to serve a descriptor.
    func register(_ descriptor: Int32, _ interest: PollEvents, _ handler: PollHandler) throws(TransportError) {
        let index = Int(descriptor)
        if index >= slots.count { slots.append(contentsOf: repeatElement(Slot(), count: index + 1 - slots.count)) }
        slots[index].generation &+= 1
        slots[index].handler = handler
        guard control(EPOLL_CTL_ADD, descriptor, interest) == 0 else {
            slots[index].handler = nil
            throw .system(errno, "watch a socket")
        }
    }

    /// Changes what a descriptor is watched for.
    func change(_ descriptor: Int32, _ interest: PollEvents) {
        _ = control(EPOLL_CTL_MOD, descriptor, interest)
    }

    /// Stops serving a descriptor. Call it before closing the descriptor; events that are already waiting are dropped.
    func deregister(_ descriptor: Int32) {
        slots[Int(descriptor)].handler = nil
        _ = control(EPOLL_CTL_DEL, descriptor, [])
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ interest: PollEvents) -> Int32 {
        var event = epoll_event()
        event.events = interest.rawValue
        event.data.u64 = UInt64(slots[Int(descriptor)].generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        return epoll_ctl(epoll, operation, descriptor, &event)
    }

    /// Runs a closure once after some time, on the loop's thread.
    ///
    /// - Returns: an identifier for ``cancel(_:)``.
    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> UInt64 {
        schedule(at: MonotonicClock.now + delay.nanoseconds, action)
    }

    /// Runs a closure once at a time of ``MonotonicClock``.
    func schedule(at deadline: Int64, _ action: @escaping () -> Void) -> UInt64 {
        timers.add(deadline: deadline, action: action)
    }

    /// Cancels a timer that has not fired.
    func cancel(_ timer: UInt64) { timers.remove(timer) }
}

// MARK: - The loop

extension EventLoop {
    private func run() {
        threadID.store(UInt(pthread_self()), ordering: .relaxed)
        // OpenSSL writes without MSG_NOSIGNAL. With SIGPIPE blocked, a broken pipe is only an error.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        while turn(waits: true) {}
    }

    /// Runs one turn.
    ///
    /// - Parameter waits: whether to sleep until there is something to do.
    /// - Returns: false when the loop is to end.
    @discardableResult
    func turn(waits: Bool) -> Bool {
        let time = ownership.withLock { _ in waitTime() }
        let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), waits ? time : 0)
        return ownership.withLock { _ in
            for index in 0..<Int(max(count, 0)) { dispatch(events[index]) }
            runTimers()
            return runInbox()
        }
    }

    private func dispatch(_ event: epoll_event) {
        let tag = event.data.u64
        guard tag != EventLoop.wakeUpTag else {
            var value: eventfd_t = 0
            eventfd_read(wakeUp, &value)
            return
        }
        let slot = slots[Int(tag & 0xFFFF_FFFF)]
        guard slot.generation == UInt32(tag >> 32), let handler = slot.handler else { return }
        handler.ready(PollEvents(rawValue: event.events))
    }

    /// How long to sleep, in milliseconds, rounded up so that the loop does not wake before the next timer is due.
    private func waitTime() -> Int32 {
        let deadline = timers.nextDeadline()
        let hasWork = inbox.withLock { inbox in
            let hasWork = !inbox.tasks.isEmpty || !inbox.flushes.isEmpty || inbox.isStopping
            inbox.isAsleep = !hasWork
            return hasWork
        }
        guard !hasWork else { return 0 }
        guard let deadline else { return -1 }
        return Int32(clamping: max(0, (deadline - MonotonicClock.now + 999_999) / 1_000_000))
    }

    private func runTimers() {
        let now = MonotonicClock.now
        while let action = timers.takeDue(now: now) { action() }
    }

    /// Runs the closures and flushes that were asked for; false when the loop is to end.
    private func runInbox() -> Bool {
        let (tasks, isStopping) = inbox.withLock { inbox in
            inbox.isAsleep = false
            inbox.borrowCount = 0
            let tasks = inbox.tasks
            inbox.tasks = []
            return (tasks, inbox.isStopping)
        }
        for task in tasks { task() }
        if isStopping {
            for slot in slots { slot.handler?.loopWillStop() }
        }
        let flushes = inbox.withLock { inbox in
            let flushes = inbox.flushes
            inbox.flushes = []
            if isStopping {
                inbox.isStopped = true
                inbox.tasks = []
            }
            return flushes
        }
        for handler in flushes { handler.flush() }
        return !isStopping
    }
}
