internal import Dispatch
internal import Synchronization

/// Computes password hashes, two at a time, so that logins cannot take all processors and all memory. What waits is
/// bounded.
package final class PasswordWorkers: Sendable {
    private let waitingCountMax: Int
    private let queues = (0..<2).map { DispatchQueue(label: "sluice.passwords.\($0)", qos: .utility) }
    private let counts = Mutex([0, 0])

    /// - Parameter waitingCountMax: the most computations that run or wait.
    package init(waitingCountMax: Int = 64) { self.waitingCountMax = waitingCountMax }

    /// Runs work on the worker that has less to do.
    ///
    /// - Returns: false when too much waits; the work is then dropped.
    package func run(_ work: @escaping @Sendable () -> Void) -> Bool {
        let index = counts.withLock { counts -> Int? in
            guard counts[0] + counts[1] < waitingCountMax else { return nil }
            let index = counts[0] <= counts[1] ? 0 : 1
            counts[index] += 1
            return index
        }
        guard let index else { return false }
        queues[index].async {
            work()
            self.counts.withLock { $0[index] -= 1 }
        }
        return true
    }
}
