import SluiceModel
import TestSupport

/// Jobs that are started, killed and run beside each other.
extension SimulationPlan {
    /// Whether a plan has them: every eleventh from 11,000,000 on. Not drawn from the plan's generator, so that old seeds
    /// keep their meaning.
    static func hasJobs(_ seed: UInt64) -> Bool { seed >= 11_000_000 && seed % 11 == 4 }

    /// Sets what goes wrong with them: of seeds from 12,000,000 on answers are lost, and in half of those that have no
    /// dates leases outlive everything.
    static func trouble(_ options: inout SimulationOptions, seed: UInt64) {
        options.hasJobs = true
        guard seed >= 12_000_000 else { return }
        options.losesJobAnswers = true
        if seed / 11 % 2 == 0, !options.readsTime { options.jobLease = SimulationOptions.longJobLease }
    }

    /// Adds them at random places.
    static func insertJobs(into actions: inout [SimulationAction], seed: UInt64) {
        var generator = SeededGenerator(seed: seed ^ 0x10B)
        func add(_ kind: SimulationAction.Kind, _ count: Int) {
            for _ in 0..<count {
                let action = SimulationAction(kind: kind, client: 0, seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        let count = actions.count
        add(.startJob, count / 10)
        add(.killJob, count / 20)
        add(.stepJobs, count)
        add(.advance, count / 10)
    }
}
