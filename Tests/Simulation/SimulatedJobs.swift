import Sluice
import SluiceBackend
import SluiceModel
import SluiceServer
import SluiceWire
import TestSupport

/// The jobs of a simulation: consumers, the workers of a queue, and a schedule. Each run of one is in the server's process
/// or beside a client's store, and is killed wherever it stands.
///
/// A job writes rows of `Copy`, one for each object that it was given and that is a result still, and of `Effect`, one for
/// each time that it has handled something. Both bear a generation, which a consumer begins with each reading of all
/// results: so what it has derived before need not be deleted.
final class SimulatedJobs {
    enum Kind {
        case consumer(query: String)
        case queue
        case schedule
    }

    struct Spec {
        let name: String
        let kind: Kind
    }

    enum Place: Equatable {
        case node(Int)
        case client(Int)
    }

    /// A process that runs a job.
    final class Run {
        let spec: Spec
        let place: Place
        let gates: JobGates
        /// Whether it ends when nothing is left.
        let isOnce: Bool
        fileprivate(set) var task: Task<Void, Never>?
        /// How it has ended; nil while it runs.
        fileprivate(set) var outcome: Result<Void, any Error>?

        fileprivate init(_ spec: Spec, on place: Place, _ gates: JobGates, isOnce: Bool) {
            self.spec = spec
            self.place = place
            self.gates = gates
            self.isOnce = isOnce
        }
    }

    struct Poison: Error {}

    let executor = SimulatedExecutor()
    let bells = JobBells()
    let specs: [Spec]
    let trouble: JobTrouble
    private(set) var runs: [Run] = []
    /// The number of the last body that was run, so that each effect has a name of its own.
    private var lastNumber = 0
    /// When bodies of schedules began, by their numbers.
    private(set) var runTimes: [Int: Timestamp] = [:]
    /// What went wrong while a job was doing something.
    var failure: (any Error)?
    private var noted = JobCounts()

    init(_ specs: [Spec], _ plan: SimulationPlan) {
        self.specs = specs
        trouble = JobTrouble(plan)
    }

    var counts: JobCounts {
        var counts = noted
        (counts.lostAnswers, counts.refusals) = (trouble.lostAnswerCount, trouble.refusalCount)
        return counts
    }

    /// How many runs of a job there may be at a time.
    private static let runCountMax = 3
    /// How often a job may wait in vain before it is said to spin.
    private static let vainSleepCountMax = 50

    // MARK: Running

    /// Begins a run.
    func start(_ spec: Spec, on place: Place, of simulation: Simulation, isOnce: Bool) -> Run? {
        guard runs.count(where: { $0.spec.name == spec.name }) < Self.runCountMax else { return nil }
        let gates: JobGates
        let host: any JobHost
        switch place {
        case .node(let index):
            gates = JobGates(throwing: ServerError(.stopped, "the process was killed"))
            host = SimulatedJobHost(simulation, node: index, gates, bells)
        case .client(let index):
            gates = JobGates(throwing: SyncError(.stopped, "the process was killed"))
            host = StoreJobHost(SimulatedJobLine(simulation, simulation.clients[index], gates))
        }
        let run = Run(spec, on: place, gates, isOnce: isOnce)
        runs.append(run)
        noted.runs += 1
        let body = work(of: run, host, simulation)
        let handle = RunHandle(run: run, jobs: self)
        run.task = Task(executorPreference: executor) {
            do {
                try await body()
                handle.end(.success(()))
            } catch { handle.end(.failure(error)) }
        }
        executor.drain()
        return run
    }

    /// Sound as `Sendable`: tasks of jobs run on the thread of the simulation.
    private struct RunHandle: @unchecked Sendable {
        let run: Run
        unowned let jobs: SimulatedJobs

        func end(_ outcome: Result<Void, any Error>) {
            run.outcome = outcome
            run.gates.hasEnded = true
            jobs.runs.removeAll { $0 === run }
            if case .failure(let error as JobError) = outcome, error.code == .superseded {
                jobs.noted.takeovers += 1
            }
        }
    }

    /// Kills the runs of a place, or one run.
    func kill(_ isKilled: (Run) -> Bool) {
        for run in runs where isKilled(run) {
            noted.kills += 1
            run.gates.kill()
            run.task?.cancel()
        }
        executor.drain()
    }

    /// Lets a run go on that can.
    ///
    /// - Parameter note: is told which, and at which await it stood.
    /// - Returns: false if none can.
    func step(
        at now: Timestamp, _ generator: inout SeededGenerator, noting note: (String, Place, String) -> Void
    ) throws -> Bool {
        executor.drain()
        let gates = runs.flatMap { run in run.gates.openable(at: now).map { (run, $0) } }
        guard !gates.isEmpty else { return false }
        let (run, gate) = generator.pick(gates)
        noted.steps += 1
        noted.labels[gate.label, default: 0] += 1
        note(run.spec.name, run.place, gate.label)
        run.gates.open(gate)
        executor.drain()
        if let failure { throw failure }
        guard run.gates.vainSleepCount <= Self.vainSleepCountMax else {
            throw SimulationFailure("\(run.spec.name) at \(run.place) waits again and again for a time that has come")
        }
        return true
    }

    // MARK: What jobs do

    private func work(
        of run: Run, _ host: any JobHost, _ simulation: Simulation
    ) -> @Sendable () async throws -> Void {
        let worker = JobWorker(self, run.gates, run.spec.name, simulation)
        let (spec, isOnce) = (run.spec, run.isOnce)
        switch spec.kind {
        case .consumer(let text):
            var options = Consumer<JobRow>.Options()
            options.limit = 1 + Int(JobHash.of(spec.name) % 5)
            options.attempts = 2
            options.backoff = .exponential(.zero, max: .zero)
            options.sizes.rowCountMax = 1 + Int(JobHash.of(spec.name + "r") % 6)
            options.sizes.objectCountMax = 1 + Int(JobHash.of(spec.name + "o") % 4)
            let consumer = Consumer<JobRow>(host, spec.name, options) { try Query.parse(text, schema: $0) }
            return {
                if isOnce {
                    try await consumer.runOnce { try await worker.handle($0) }
                } else {
                    try await consumer.run { try await worker.handle($0) }
                }
            }
        case .queue:
            var options = WorkQueue<JobRow>.Options()
            options.attempts = 2
            options.lease = .microseconds(simulation.plan.options.jobLease)
            options.backoff = .exponential(.zero, max: .zero)
            let text =
                simulation.plan.options.readsTime ? "Task WHERE done == 0 AND due <= $now" : "Task WHERE done == 0"
            let queue = WorkQueue<JobRow>(host, spec.name, options) { try Query.parse(text, schema: $0) }
            return {
                if isOnce {
                    try await queue.runOnce(workers: 2) { try await worker.work($1) }
                } else {
                    try await queue.run(workers: 2) { try await worker.work($1) }
                }
            }
        case .schedule:
            let desk = ScheduleDesk(host, spec.name, .every(seconds: 1))
            return {
                try await desk.run(.all, .exponential(.zero, max: .zero)) { try await worker.perform($0) }
            }
        }
    }

    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Notes when a body of a schedule began.
    func noteRun(_ number: Int, at time: Timestamp) { runTimes[number] = time }

    func noteParked() { noted.poisoned += 1 }
    func noteReset() { noted.resets += 1 }
}

/// What jobs have met.
package struct JobCounts: Sendable {
    package var runs = 0
    package var kills = 0
    package var steps = 0
    package var takeovers = 0
    package var resets = 0
    /// How many bodies have met poison.
    package var poisoned = 0
    /// How many writes were stored whose answers were lost, and how many were not.
    package var lostAnswers = 0
    package var refusals = 0
    /// How often jobs have stood at each kind of await.
    package var labels: [String: Int] = [:]

    package init() {}

    package static func += (left: inout JobCounts, right: JobCounts) {
        left.runs += right.runs
        left.kills += right.kills
        left.steps += right.steps
        left.takeovers += right.takeovers
        left.resets += right.resets
        left.poisoned += right.poisoned
        left.lostAnswers += right.lostAnswers
        left.refusals += right.refusals
        left.labels.merge(right.labels, uniquingKeysWith: +)
    }
}

/// A hash that is the same in every run (FNV-1a).
enum JobHash {
    static func of(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 7
    }
}
