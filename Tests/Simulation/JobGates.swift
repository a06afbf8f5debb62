import SluiceModel

/// The awaits at which a simulated job stands. Each goes on when the simulation opens its gate, or never, where the job is
/// killed.
///
/// Sound as `Sendable`: the job's tasks run on the thread of the simulation.
final class JobGates: @unchecked Sendable {
    /// One await.
    final class Gate {
        let label: String
        /// When it can be opened; nil for at any time.
        let time: Timestamp?
        fileprivate var open: () -> Void = {}
        fileprivate var end: () -> Void = {}
        /// Whether it was opened, and waits for an answer.
        fileprivate(set) var isOpen = false

        /// Whether the job writes something behind it.
        var isWrite: Bool { label == "write" || label == "apply" }

        fileprivate init(_ label: String, _ time: Timestamp?) {
            self.label = label
            self.time = time
        }
    }

    private(set) var gates: [Gate] = []
    private(set) var isKilled = false
    /// Whether the job has ended.
    var hasEnded = false
    /// Whether something that it wrote was refused, or an answer was lost.
    var isTroubled = false
    /// How often it has waited for a time that had come, since it last waited for another one or wrote something.
    private(set) var vainSleepCount = 0
    /// What everything throws that a killed job asks.
    private let killed: any Error

    init(throwing killed: any Error) { self.killed = killed }

    /// The gates that can be opened.
    func openable(at now: Timestamp) -> [Gate] {
        gates.filter { gate in !gate.isOpen && gate.time.map { $0 <= now } ?? true }
    }

    /// The next time for which the job waits.
    var nextTime: Timestamp? { gates.compactMap(\.time).min() }

    func open(_ gate: Gate) {
        if gate.isWrite { vainSleepCount = 0 }
        gate.isOpen = true
        gate.open()
    }

    /// Kills the job: whatever it asks has no effect from now on.
    func kill() {
        isKilled = true
        while let gate = gates.first { gate.end() }
    }

    /// Waits until the simulation lets the job go on, and then does something at once.
    func pass<Result: Sendable>(
        _ label: String, _ body: @escaping () throws -> Result
    ) async throws -> Result {
        try await wait(label) { reply in reply(Swift.Result { try body() }) }
    }

    /// Waits until the simulation lets the job go on, and then for an answer.
    ///
    /// - Parameter start: is given what to call with the answer.
    func wait<Result: Sendable>(
        _ label: String, _ start: @escaping (@escaping (Swift.Result<Result, any Error>) -> Void) -> Void
    ) async throws -> Result {
        guard !isKilled else {
            await Task.yield()
            throw killed
        }
        return try await withCheckedThrowingContinuation { continuation in
            let gate = Gate(label, nil)
            var isDone = false
            func finish(_ result: Swift.Result<Result, any Error>) {
                guard !isDone else { return }
                isDone = true
                gates.removeAll { $0 === gate }
                continuation.resume(with: result)
            }
            gate.open = { start(finish) }
            gate.end = { [killed] in finish(.failure(killed)) }
            gates.append(gate)
        }
    }

    /// Waits until a time, or until the task is cancelled.
    func sleep(until time: Timestamp, now: Timestamp) async {
        guard !isKilled else { return await Task.yield() }
        vainSleepCount = time <= now ? vainSleepCount + 1 : 0
        let waiting = AsyncStream<Void>.makeStream()
        let gate = Gate("sleep", time)
        func finish() {
            gates.removeAll { $0 === gate }
            waiting.continuation.finish()
        }
        (gate.open, gate.end) = (finish, finish)
        gates.append(gate)
        for await _ in waiting.stream {}
        gates.removeAll { $0 === gate }
    }
}
