import Foundation
import SluiceSimulation
import Synchronization

/// Runs the simulator over many seeds, on as many threads as there are processors, and reports each failure with how to
/// see it again: `Soak FIRST COUNT [ACTIONS [STEP]]`, every STEP-th seed. With `cluster` before the numbers, those alone
/// count in which the server is several nodes.
///
/// `make soak` builds it for release and keeps the assertions, so that a seed takes a tenth of the time of a test. It
/// ends with 1 if a seed failed.
@main struct Main {
    static func main() {
        var words = CommandLine.arguments.dropFirst()
        let wantsNodes = words.first == "cluster"
        if wantsNodes { words = words.dropFirst() }
        let numbers = words.compactMap { UInt64($0) }
        guard (2...4).contains(numbers.count), numbers.count == words.count else {
            print("usage: Soak [cluster] FIRST-SEED COUNT [ACTIONS, 250 if not named [STEP, 1 if not named]]")
            exit(2)
        }
        let step = numbers.count == 4 ? max(1, numbers[3]) : 1
        let actionCount = numbers.count >= 3 ? Int(numbers[2]) : 250
        // A plan of one action has the options of its seed.
        let seeds = Array(
            sequence(first: numbers[0]) { $0 + step }.lazy
                .filter { !wantsNodes || SimulationPlan(seed: $0, actionCount: 1).options.nodeCount > 1 }
                .prefix(Int(numbers[1])))
        let progress = Progress(seeds)
        let threads = (0..<ProcessInfo.processInfo.activeProcessorCount).map { _ in
            let thread = Thread {
                while let seed = progress.next() {
                    let plan = SimulationPlan(seed: seed, actionCount: actionCount)
                    let failure = SimulationShrinker.failure(of: plan)
                    progress.end(seed, failure.map { FailureReport($0, of: plan, actionCount: actionCount).text })
                }
                progress.endThread()
            }
            // The engines' evaluators recurse; a thread of Foundation has half a megabyte.
            thread.stackSize = 16 << 20
            return thread
        }
        for thread in threads { thread.start() }
        for _ in threads { progress.threads.wait() }
        let failureCount = progress.failureCount
        print("\(seeds.count) seeds from \(numbers[0]) with \(actionCount) actions each: \(failureCount) failed")
        exit(failureCount == 0 ? 0 : 1)
    }
}

/// The seeds that are left, and what has come of the others.
private final class Progress: Sendable {
    private struct State {
        var next = 0
        var endedCount = 0
        var failureCount = 0
    }

    private let seeds: [UInt64]
    private let state: Mutex<State>
    let threads = DispatchSemaphore(value: 0)

    init(_ seeds: [UInt64]) {
        self.seeds = seeds
        state = Mutex(State())
    }

    var failureCount: Int { state.withLock { $0.failureCount } }

    /// The next seed; nil if none is left.
    func next() -> UInt64? {
        state.withLock { state in
            guard state.next < seeds.count else { return nil }
            defer { state.next += 1 }
            return seeds[state.next]
        }
    }

    /// - Parameter failure: the report; nil if the seed has passed.
    func end(_ seed: UInt64, _ failure: String?) {
        state.withLock { state in
            state.endedCount += 1
            if let failure {
                state.failureCount += 1
                Self.say("seed \(seed) failed\n\(failure)")
            }
            if state.endedCount % 100 == 0 {
                Self.say("\(state.endedCount) of \(seeds.count) seeds, \(state.failureCount) failed")
            }
        }
    }

    /// Prints a line at once, also into a file.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    func endThread() { threads.signal() }
}
