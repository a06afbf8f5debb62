internal import Foundation

/// A failure of the simulator, shrunk to the fewest actions that still fail, and how to see it again.
package struct FailureReport {
    package let text: String

    /// Shrinks the failure in at most `SLUICE_SHRINK_RUNS` runs, 300 if the environment does not say.
    ///
    /// - Parameter actionCount: the number of actions that the plan of the seed has as a whole.
    package init(_ failure: SimulationFailure, of plan: SimulationPlan, actionCount: Int) {
        let all = SimulationPlan(seed: plan.seed, actionCount: actionCount).actions
        let runCountMax = ProcessInfo.processInfo.environment["SLUICE_SHRINK_RUNS"].flatMap { Int($0) } ?? 300
        let shrunk = SimulationShrinker.shrink(plan, failure: failure, runCountMax: runCountMax)
        let seeds = Set(shrunk.plan.actions.map(\.seed))
        let kept = all.indices.filter { seeds.contains(all[$0].seed) }.map(String.init).joined(separator: ",")
        let replay =
            "SWIFT_DETERMINISTIC_HASHING=1 SLUICE_SEED=\(plan.seed) SLUICE_ACTIONS=\(actionCount) SLUICE_KEPT=\(kept)"
        text = """
            \(failure.message)
            smallest: \(shrunk.failure)
            options: \(shrunk.plan.options)
            replay: \(replay) swift test --filter whateverHappens
            """
    }
}
