internal import Dispatch
internal import Synchronization

/// The serial queue of one store, which knows whether it has anything to do.
///
/// To hand work to the queue's thread and its result back wakes two threads, which takes longer than a small write. So
/// work runs on the caller's thread where that may be held and the queue is idle (flat combining: Hendler, Incze, Shavit,
/// Tzafrir, SPAA 2010).
final class StoreQueue: Sendable {
    private let queue = DispatchQueue(label: "sluice.store")
    private let mark = DispatchSpecificKey<Bool>()
    /// How many pieces of work wait or run.
    private let pendingCount = Atomic<Int>(0)

    init() { queue.setSpecific(key: mark, value: true) }

    /// Whether the queue makes the call.
    var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) == true }

    /// Whether no actor owns the thread of a caller, which may then be held for a moment.
    ///
    /// A function of its own: the compiler of Swift 6.3 fails to optimise one that compares its own isolation.
    @inline(never) static func isFree(caller: (any Actor)?) -> Bool { caller == nil }

    /// Runs work later, after what waits.
    func async(_ body: @escaping @Sendable () -> Void) {
        pendingCount.add(1, ordering: .sequentiallyConsistent)
        queue.async { [self] in
            defer { pendingCount.subtract(1, ordering: .sequentiallyConsistent) }
            body()
        }
    }

    /// Runs work after what waits, and waits for it.
    func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
        pendingCount.add(1, ordering: .sequentiallyConsistent)
        defer { pendingCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try queue.sync(execute: body)
    }

    /// Runs work at once, on the caller's thread, if nothing waits or runs.
    ///
    /// What another thread hands in at the same moment may come first; the caller then waits for that alone.
    ///
    /// - Returns: nil if the queue has something to do.
    func runIfIdle<Result>(_ body: () throws -> Result) rethrows -> Result? {
        let (isIdle, _) = pendingCount.compareExchange(
            expected: 0, desired: 1, ordering: .sequentiallyConsistent)
        guard isIdle else { return nil }
        defer { pendingCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try queue.sync(execute: body)
    }
}
