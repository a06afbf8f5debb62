/// Finds a smaller plan that still fails by leaving out actions (after Zeller and Hildebrandt, "Simplifying and
/// Isolating Failure-Inducing Input", 2002).
package enum SimulationShrinker {
    /// Runs a plan.
    ///
    /// - Returns: the failure; nil if there was none.
    package static func failure(of plan: SimulationPlan) -> SimulationFailure? {
        do {
            try Simulation(plan).run()
            return nil
        } catch {
            return SimulationFailure(error)
        }
    }

    /// Shrinks a failing plan.
    ///
    /// - Parameters:
    ///   - failure: the plan's failure.
    ///   - runCountMax: the maximum number of runs.
    /// - Returns: the smallest failing plan found, and its failure.
    package static func shrink(
        _ plan: SimulationPlan, failure: SimulationFailure, runCountMax: Int = 300
    ) -> (plan: SimulationPlan, failure: SimulationFailure) {
        var best = (plan: plan, failure: failure)
        var runCount = 0
        var chunk = max(1, plan.actions.count / 2)
        while runCount < runCountMax {
            var start = 0
            var hasShrunk = false
            while start < best.plan.actions.count, runCount < runCountMax {
                var candidate = best.plan
                candidate.actions.removeSubrange(start..<min(start + chunk, candidate.actions.count))
                runCount += 1
                // With fewer actions something else may go wrong, which is then not understood in place of this.
                if let failure = Self.failure(of: candidate), failure.kind == best.failure.kind {
                    best = (candidate, failure)
                    hasShrunk = true
                } else {
                    start += chunk
                }
            }
            if chunk == 1, !hasShrunk { break }
            if !hasShrunk { chunk = max(1, chunk / 2) }
        }
        return best
    }
}

extension SimulationFailure {
    /// The first words of the message, without names, numbers and queries.
    fileprivate var kind: [Substring] {
        let parts = message.split(separator: "'", omittingEmptySubsequences: false).enumerated()
        let text = parts.filter { $0.offset % 2 == 0 }.map(\.element).joined(separator: " ")
        return text.split(separator: " ").filter { $0.allSatisfy(\.isLetter) && $0 != "client" }.prefix(3)
            .map { Substring($0) }
    }
}
