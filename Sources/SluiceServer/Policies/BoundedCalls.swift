internal import Dispatch
internal import Synchronization

/// Calls closures of the server's user, and does not wait for those that take too long.
///
/// A closure cannot be stopped from outside, so one that hangs keeps its thread. When ``stuckCountMax`` hang, no others
/// are begun before one of them returns: so closures that hang delay a database a few times, and not with each write.
package final class BoundedCalls: Sendable {
    /// The most calls that are given up and have not returned.
    package static let stuckCountMax = 4

    /// Why there is no result.
    package enum Failure: Error, Equatable {
        /// A call took longer than it may.
        case timeOut
        /// The calls of one transaction together did.
        case timeOutInAll
        /// Calls that were given up earlier have not returned.
        case stuck
    }

    private let stuckCount = Mutex(0)

    package init() {}

    /// Calls `body` with each input, one after the other, on another thread, and waits for the results.
    ///
    /// - Parameters:
    ///   - limit: the longest that one call may take; all together take ten times that at most.
    ///   - body: what it throws becomes the result of its input.
    /// - Returns: the results in the order of the inputs.
    package func map<Input: Sendable, Output: Sendable>(
        _ inputs: [Input], within limit: Duration, _ body: @escaping @Sendable (Input) throws -> Output
    ) throws(Failure) -> [Result<Output, any Error>] {
        guard stuckCount.withLock({ $0 < Self.stuckCountMax }) else { throw .stuck }
        let batch = Batch<Output>()
        // A serial queue gets a thread at once, also while those of the common pool are blocked.
        DispatchQueue(label: "sluice.policies").async { [self] in
            for input in inputs {
                let result = Result { try body(input) }
                guard batch.append(result) else { break }
            }
            if batch.finish() { stuckCount.withLock { $0 -= 1 } }
        }
        let start = DispatchTime.now()
        let nanoseconds = UInt64(clamping: Int64(limit / .nanoseconds(1)))
        var seen = 0
        while batch.finished.wait(timeout: .now() + .nanoseconds(Int(clamping: nanoseconds))) == .timedOut {
            let isInTime = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds < nanoseconds * 10
            let count = batch.count
            if count > seen, isInTime {
                seen = count
                continue
            }
            guard batch.giveUp() else { break }
            stuckCount.withLock { $0 += 1 }
            throw count > seen ? .timeOutInAll : .timeOut
        }
        return batch.results
    }

    private final class Batch<Output: Sendable>: Sendable {
        private struct State {
            var results: [Result<Output, any Error>] = []
            var isGivenUp = false
            var isFinished = false
        }

        let finished = DispatchSemaphore(value: 0)
        private let state = Mutex(State())

        var count: Int { state.withLock { $0.results.count } }
        var results: [Result<Output, any Error>] { state.withLock { $0.results } }

        /// - Returns: false once nobody waits.
        func append(_ result: Result<Output, any Error>) -> Bool {
            state.withLock { state in
                state.results.append(result)
                return !state.isGivenUp
            }
        }

        /// - Returns: whether it had been given up.
        func finish() -> Bool {
            defer { finished.signal() }
            return state.withLock { state in
                state.isFinished = true
                return state.isGivenUp
            }
        }

        /// - Returns: false if it has finished meanwhile.
        func giveUp() -> Bool {
            state.withLock { state in
                guard !state.isFinished else { return false }
                state.isGivenUp = true
                return true
            }
        }
    }
}
