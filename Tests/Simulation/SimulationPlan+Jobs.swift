import SluiceModel
import TestSupport

/// Jobs that are started, killed and run beside each other.
extension SimulationPlan {
    /// Whether a plan has them: every eleventh from 11,000,000 on. Not drawn from the plan's generator, so that old seeds
    /// keep their meaning.
    static func hasJobs(_ seed: UInt64) -> Bool { seed >= 11_000_000 && seed % 11 == 4 }

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
