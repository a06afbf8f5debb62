import Foundation
import SluiceServer
import SluiceTesting
import Testing

/// Runs one seed; a failure is shrunk to the fewest actions that still fail, in at most `SLUICE_SHRINK_RUNS` runs.
/// `SLUICE_KEPT` runs some of the seed's actions only, by their positions.
func simulate(seed: UInt64, actionCount: Int = 150) {
    var plan = SimulationPlan(seed: seed, actionCount: actionCount)
    let all = plan.actions
    if let kept = ProcessInfo.processInfo.environment["SLUICE_KEPT"] {
        plan.actions = kept.split(separator: ",").compactMap { Int($0) }.map { all[$0] }
    }
    guard let failure = SimulationShrinker.failure(of: plan) else { return }
    let runCountMax = ProcessInfo.processInfo.environment["SLUICE_SHRINK_RUNS"].flatMap { Int($0) } ?? 300
    let shrunk = SimulationShrinker.shrink(plan, failure: failure, runCountMax: runCountMax)
    let seeds = Set(shrunk.plan.actions.map(\.seed))
    let kept = all.indices.filter { seeds.contains(all[$0].seed) }.map(String.init).joined(separator: ",")
    let replay =
        "SWIFT_DETERMINISTIC_HASHING=1 SLUICE_SEED=\(seed) SLUICE_ACTIONS=\(actionCount) SLUICE_KEPT=\(kept)"
    Issue.record(
        """
        \(failure.message)
        smallest: \(shrunk.failure)
        options: \(shrunk.plan.options)
        replay: \(replay) swift test --filter whateverHappens
        """)
}

/// The whole system on one thread, checked against the oracle after every step.
@Suite struct SimulationTests {
    private static var seeds: [UInt64] {
        if let seed = ProcessInfo.processInfo.environment["SLUICE_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        if let range = ProcessInfo.processInfo.environment["SLUICE_SEEDS"]?.split(separator: "-").map({ UInt64($0)! }) {
            return Array(stride(from: range[0], through: range[1], by: Int(range.count > 2 ? range[2] : 1)))
        }
        return Array(1...48)
    }

    private static let actionCount = ProcessInfo.processInfo.environment["SLUICE_ACTIONS"].flatMap { Int($0) } ?? 150

    @Test(arguments: seeds) func whateverHappensEveryClientShowsWhatTheServerHolds(seed: UInt64) {
        simulate(seed: seed, actionCount: Self.actionCount)
    }

    /// An element was moved past an equal one; who resumed by equal digests edited the other of the two.
    @Test func whoResumesByEqualDigestsKnowsWhichOfEqualElementsIsWhich() {
        simulate(seed: 603_241)
    }

    /// A commit moved two subscriptions to another context, and the second was resumed as if it had that commit.
    @Test func whatMovesToAnotherContextIsResumedFromBeforeTheMove() {
        simulate(seed: 801_195, actionCount: 250)
    }

    /// A program that changes the schema as its session opens was once judged by rules bound before that, for good.
    @Test func whoReshapesTheSchemaWhileItsSessionOpensIsJudgedByWhatHolds() {
        simulate(seed: 1_023, actionCount: 250)
    }

    /// A dealer was in a page on its way when the user came back who works there, and whom it is hidden from.
    @Test func whatLeavesAViewBecauseOfOthersLeavesThePageOnItsWay() {
        simulate(seed: 20_995, actionCount: 250)
    }

    /// A commit came for a subscription that had just ended; when it was resumed from before, a value was the former again.
    @Test func whatWasChangedAndChangedBackIsSentToWhoResumes() {
        simulate(seed: 30_605, actionCount: 250)
    }

    /// A client's connection broke after the server had lost uploads that it had acknowledged, and before the next one.
    @Test func whoseAcknowledgedUploadsWereLostCanStillUpload() {
        simulate(seed: 60_366, actionCount: 250)
    }

    /// A path came to lead to an object with a list that the view had left out of it until then.
    @Test func aListThatAViewComesToIncludeIsSentAsAWhole() {
        simulate(seed: 50_396, actionCount: 150)
    }

    /// A user that was created with what hides it was told to be gone to who began anew because of that.
    @Test func whatComesHiddenIsNotToldToBeGone() {
        simulate(seed: 51_299, actionCount: 250)
    }

    /// A page was sent without one object that had changed meanwhile, and lost the identity of the others' lists.
    @Test func aPageWithoutWhatHasChangedKeepsTheIdentityOfLists() {
        simulate(seed: 40_284, actionCount: 250)
    }

    /// A client had pages of a version that a server with a backup did not have, and no complete subscription.
    @Test func whoHasPagesOfALostHistoryBeginsAnew() {
        simulate(seed: 204_356, actionCount: 250)
    }

    /// A bootstrap was requested anew while it was under way, and what its pages had brought stayed a part of the next.
    @Test func aBootstrapThatIsRequestedAnewBeginsWithNothing() {
        simulate(seed: 304_081, actionCount: 250)
    }

    /// An object of two queries was shown again for each of them, the second time from an image that was dropped.
    @Test func whatTwoResumedQueriesHaveIsShownAgainOnce() {
        simulate(seed: 500_039, actionCount: 250)
    }

    /// A dealer was created here, acknowledged and deleted by another while a query that links to it was compared.
    @Test func aTargetThatWasDeletedWhileItsQueryWasComparedIsNotHere() {
        simulate(seed: 402_920, actionCount: 250)
    }

    /// A dealer was created here and deleted by another, and a car's pending write hid the server's link to it.
    @Test func aTargetThatWasDeletedWhileAPendingWriteHidItsLinkIsNotHere() {
        simulate(seed: 2_002_145, actionCount: 250)
    }
}

/// Checks that engines, views and stores go when nobody uses them any more.
@Suite struct SimulationMemoryTests {
    private struct Part {
        let name: String
        weak var object: AnyObject?
    }

    @Test(arguments: UInt64(1)...6) func noEngineViewOrStoreOutlivesItsSimulation(seed: UInt64) throws {
        var parts: [Part] = []
        do {
            let simulation = try Simulation(SimulationPlan(seed: seed, actionCount: 150))
            try simulation.run()
            parts = simulation.parts.map { Part(name: "\(type(of: $0))", object: $0) }
        }
        #expect(parts.count > 4)
        #expect(parts.filter { $0.object != nil }.map(\.name) == [])
    }
}

/// Checks that the simulations reach every kind of situation, since otherwise they prove little.
@Suite struct SimulationCoverageTests {
    @Test func subscriptionsAreStartedInEveryWayAndTheFollowerMeetsEverything() throws {
        var starts = StartCounts()
        var follower = FollowerCounts()
        for seed in UInt64(1)...20 {
            let simulation = try Simulation(SimulationPlan(seed: seed, actionCount: 300))
            try simulation.run()
            starts += simulation.starts
            follower += simulation.follower
        }
        for path in StartCounts.Path.allCases { #expect(starts[path] >= 3, "\(path) in \(starts)") }
        #expect(follower.groups > 500 && follower.comparisons > 300, "\(follower)")
        #expect(follower.restarts > 10 && follower.snapshots > 3 && follower.refusals > 20, "\(follower)")
    }

    @Test func backupsOfTheServerArePutBack() throws {
        var (count, resets) = (0, 0)
        for seed in stride(from: UInt64(5), to: 200, by: 7) {
            let simulation = try Simulation(SimulationPlan(seed: seed, actionCount: 150))
            try simulation.run()
            count += simulation.putBackCount
            resets += simulation.resetCount
        }
        #expect(count >= 10 && resets >= 10, "\(count) with \(resets) resets")
    }

    @Test func usersLogInLoseRightsAndAreRefused() throws {
        var counts = AccessCounts()
        for seed in stride(from: UInt64(3), to: 80, by: 4) {
            let simulation = try Simulation(SimulationPlan(seed: seed, actionCount: 150))
            try simulation.run()
            counts += simulation.access
        }
        #expect(counts.judgedRows > 200 && counts.contexts > 150 && counts.revokedObjects > 20, "\(counts)")
        #expect(counts.judgedWrites > 300 && counts.refusals > 100 && counts.judgedRefusals > 50, "\(counts)")
        #expect(counts.deployments > 50 && counts.changedIdentities > 3, "\(counts)")
        #expect(counts.endedSessions > 15 && counts.refusedLogins > 1, "\(counts)")
    }

    @Test func clientsTakePagesThatOthersHaveTakenAndThatWereReadAgain() throws {
        var counts = SharedPageCounts()
        for seed in stride(from: UInt64(1), to: 100, by: 5) {
            let simulation = try Simulation(SimulationPlan(seed: seed, actionCount: 150))
            try simulation.run()
            counts += simulation.sharedPages
        }
        #expect(counts.joined >= 20 && counts.readAgain >= 5, "\(counts)")
    }
}

/// Runs many more seeds if the environment asks for them.
@Suite struct Soak {
    private static let count = ProcessInfo.processInfo.environment["SLUICE_SOAK_SEEDS"].flatMap { UInt64($0) } ?? 0

    @Test(.enabled(if: count > 0)) func manySeeds() async {
        await withTaskGroup(of: Void.self) { group in
            let laneCount = UInt64(max(1, ProcessInfo.processInfo.activeProcessorCount))
            for lane in 0..<laneCount {
                group.addTask {
                    for seed in stride(from: 1_000 + lane, to: 1_000 + Self.count, by: Int(laneCount)) {
                        simulate(seed: seed, actionCount: 250)
                    }
                }
            }
        }
    }
}
