import Foundation
import SluiceServer
import SluiceSimulation
import Synchronization
import TestSupport

/// The seeds that the tests simulate. Each seed is simulated once, however many tests ask for its outcome.
enum SimulatedSeeds {
    /// What a simulation showed.
    struct Outcome: Sendable {
        var failure: SimulationFailure?
        var starts = StartCounts()
        var follower = FollowerCounts()
        var access = AccessCounts()
        var sharedPages = SharedPageCounts()
        var putBackCount = 0
        var journal = JournalCounts()
        var resetCount = 0
        var backend = BackendCounts()
        var jobs = JobCounts()
        /// How many engines, views and stores there were, and those that outlived the simulation.
        var partCount = 0
        var survivors: [String] = []
    }

    /// The seeds of every run of the tests. Of the second kind are those in which the server is put back to a backup, of
    /// the third those in which the journal of several nodes forks.
    static let usual: [UInt64] =
        Array(1...24) + stride(from: 26, through: 187, by: 7) + [32, 38, 44, 62, 80, 134]
    /// Those in which the journal of several nodes takes groups late, and twice.
    static let withLateGroups: [UInt64] = [12_000_002, 12_000_008, 12_000_020, 12_000_032]
    /// Those with jobs; of the second kind are those in which answers to them are lost.
    static let withJobs: [UInt64] =
        Array(stride(from: 11_000_004, to: 11_000_070, by: 11)) + stride(from: 12_000_003, to: 12_000_070, by: 11)
    /// Those in which a server with rules and users is several nodes; in the last two the journal forks.
    static let withRulesAtNodes: [UInt64] = [13_000_007, 13_000_167, 13_000_019, 13_000_175]
    /// Those in which a server with validators, resolvers, observers and writers in its process is several nodes.
    static let withBackendAtNodes: [UInt64] = [13_000_000, 13_000_012, 13_000_024, 13_000_042]
    static let actionCount = ProcessInfo.processInfo.environment["SLUICE_ACTIONS"].flatMap { Int($0) } ?? 150

    private static let tasks = Mutex<[UInt64: Task<Outcome, Never>]>([:])

    /// The outcome of a seed, which is simulated if it was not yet.
    static func outcome(of seed: UInt64) async -> Outcome {
        let task = tasks.withLock { tasks in
            if let task = tasks[seed] { return task }
            let task = Task(executorPreference: ThreadExecutor()) {
                simulate(simulationPlan(seed: seed, actionCount: actionCount))
            }
            tasks[seed] = task
            return task
        }
        return await task.value
    }

    /// The outcomes of the usual seeds, in any order. As many are simulated at a time as there are processors.
    static func outcomes() async -> [Outcome] {
        await withTaskGroup(of: [Outcome].self) { group in
            let laneCount = max(1, ProcessInfo.processInfo.activeProcessorCount)
            for lane in 0..<laneCount {
                group.addTask {
                    var outcomes: [Outcome] = []
                    for seed in usual[lane...].enumerated() where seed.offset % laneCount == 0 {
                        outcomes.append(await outcome(of: seed.element))
                    }
                    return outcomes
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func simulate(_ plan: SimulationPlan) -> Outcome {
        struct Part {
            let name: String
            weak var object: AnyObject?
        }
        var outcome = Outcome()
        var parts: [Part] = []
        do {
            let simulation = try Simulation(plan)
            do { try simulation.run() } catch { outcome.failure = SimulationFailure(error) }
            outcome.starts = simulation.starts
            outcome.follower = simulation.follower
            outcome.access = simulation.access
            outcome.sharedPages = simulation.sharedPages
            outcome.putBackCount = simulation.putBackCount
            outcome.journal = simulation.journal
            outcome.resetCount = simulation.resetCount
            outcome.backend = simulation.backendCounts
            outcome.jobs = simulation.jobCounts
            parts = simulation.parts.map { Part(name: "\(type(of: $0))", object: $0) }
        } catch {
            outcome.failure = SimulationFailure(error)
        }
        outcome.partCount = parts.count
        outcome.survivors = parts.filter { $0.object != nil }.map(\.name)
        return outcome
    }
}
