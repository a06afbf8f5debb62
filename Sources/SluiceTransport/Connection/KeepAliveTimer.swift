/// Runs a ``KeepAlive`` on an event loop for as long as it exists.
final class KeepAliveTimer {
    private var machine: KeepAlive
    private let loop: EventLoop
    private let isDue: () -> Void
    private var timer: UInt64?

    /// - Parameter isDue: called on the loop when it is time to ``tick()``.
    init(_ options: WebSocketOptions, loop: EventLoop, isDue: @escaping () -> Void) {
        machine = KeepAlive(
            interval: options.pingInterval, timeout: options.pongTimeout, now: MonotonicClock.now,
            jitter: Double.random(in: 0..<1))
        self.loop = loop
        self.isDue = isDue
        schedule()
    }

    deinit {
        if let timer { loop.cancel(timer) }
    }

    /// Something was received from the peer.
    func didReceive() { machine.didReceive(now: MonotonicClock.now) }

    /// The kernel accepted bytes.
    func didWrite(isQueueEmpty: Bool) { machine.didWrite(now: MonotonicClock.now, isQueueEmpty: isQueueEmpty) }

    /// Begins to find out at once whether the peer is there.
    func probe(timeout: Duration) {
        machine.probe(timeout: timeout, now: MonotonicClock.now)
        schedule()
    }

    /// What to do now.
    func tick() -> KeepAlive.Action {
        defer { schedule() }
        return machine.tick(now: MonotonicClock.now)
    }

    private func schedule() {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: machine.deadline) { [weak self] in
            self?.timer = nil
            self?.isDue()
        }
    }
}
