internal import Dispatch
internal import Synchronization

/// Where the connections of a ``TestServer`` are delivered: one queue, which counts what happens on it, and the clock.
final class NetworkFloor: Sendable {
    let clock: ManualClock
    private let queue = DispatchQueue(label: "sluice.test.network")
    private let count = Atomic<UInt64>(0)

    init(_ clock: ManualClock) { self.clock = clock }

    /// How much has happened: whatever is sent or delivered makes it larger.
    var activity: UInt64 { count.load(ordering: .sequentiallyConsistent) }

    func noteActivity() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    /// Runs a closure on the queue, later.
    func run(_ body: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            noteActivity()
            body()
        }
    }

    /// Runs a closure on the queue once the clock has moved.
    func run(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        clock.schedule(after: delay, isUpkeep: true) { [self] in run(body) }
    }

    /// Waits until the queue has done what it had.
    func flush() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
