import Synchronization

/// Tells those who watch that the machine has other addresses or routes than before.
///
/// Changes come in bursts; a burst is told of once, a moment after its last change, and no burst lasts for long.
package final class NetworkMonitor: Sendable {
    /// Somebody who watches, as long as it exists.
    private final class Watch: Sendable {
        let number: UInt64
        let monitor: NetworkMonitor

        init(_ number: UInt64, _ monitor: NetworkMonitor) {
            self.number = number
            self.monitor = monitor
        }

        deinit { _ = monitor.state.withLock { $0.watchers.removeValue(forKey: number) } }
    }

    private struct State {
        var watchers: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let loop: EventLoop

    /// The monitor of this process; nil where the system tells nothing of its network.
    package static let shared: NetworkMonitor? = {
        guard let loop = try? EventLoop(), let socket = try? NetlinkSocket() else { return nil }
        return NetworkMonitor(socket, loop: loop)
    }()

    /// - Parameters:
    ///   - socket: where changes are read from.
    ///   - loop: reads them.
    init(_ socket: NetlinkSocket, loop: EventLoop) {
        self.loop = loop
        let watcher = NetlinkWatcher(socket, loop: loop) { [weak self] in self?.notify() }
        loop.execute { watcher.begin() }
    }

    /// Calls `changed` after each change, on a thread of its own, as long as what is returned exists. It must not block.
    package func watch(_ changed: @escaping @Sendable () -> Void) -> any Sendable {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.watchers[state.lastNumber] = changed
            return state.lastNumber
        }
        return Watch(number, self)
    }

    private func notify() {
        for changed in state.withLock({ Array($0.watchers.values) }) { changed() }
    }
}

/// Reads the changes of a socket on an event loop, and gathers those of a burst.
private final class NetlinkWatcher: PollHandler, @unchecked Sendable {  // Kept to the loop's thread.
    /// How long a burst must be over, and how long it may last.
    private static let quietTime: Duration = .milliseconds(250)
    private static let burstCountMax = 8

    private let socket: NetlinkSocket
    private let loop: EventLoop
    private let changed: @Sendable () -> Void
    private var timer: UInt64?
    private var burstCount = 0

    init(_ socket: NetlinkSocket, loop: EventLoop, changed: @escaping @Sendable () -> Void) {
        self.socket = socket
        self.loop = loop
        self.changed = changed
    }

    func begin() {
        // A machine whose network cannot be watched is served as before, by waits between attempts.
        try? loop.register(socket.descriptor, .read, self)
    }

    override func ready(_ readiness: PollEvents) {
        guard socket.readChanges() else { return }
        burstCount += 1
        if let timer {
            guard burstCount < Self.burstCountMax else { return }
            loop.cancel(timer)
        }
        timer = loop.schedule(after: Self.quietTime) { [self] in
            timer = nil
            burstCount = 0
            changed()
        }
    }
}
