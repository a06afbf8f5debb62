import Foundation
import SluiceServer
import SluiceSimulation
import TestSupport
import Testing

/// The plan of a seed. `SLUICE_KEPT` keeps some of its actions only, by their positions.
func simulationPlan(seed: UInt64, actionCount: Int) -> SimulationPlan {
    var plan = SimulationPlan(seed: seed, actionCount: actionCount)
    if let kept = ProcessInfo.processInfo.environment["SLUICE_KEPT"] {
        let all = plan.actions
        plan.actions = kept.split(separator: ",").compactMap { Int($0) }.map { all[$0] }
    }
    return plan
}

/// Runs one seed; a failure is shrunk and recorded.
func simulate(seed: UInt64, actionCount: Int) {
    let plan = simulationPlan(seed: seed, actionCount: actionCount)
    guard let failure = SimulationShrinker.failure(of: plan) else { return }
    record(failure, of: plan, actionCount: actionCount)
}

/// Records a failure, shrunk to the fewest actions that still fail.
func record(_ failure: SimulationFailure, of plan: SimulationPlan, actionCount: Int) {
    Issue.record("\(FailureReport(failure, of: plan, actionCount: actionCount).text)")
}

/// The whole system on one thread, checked against the oracle after every step.
@Suite(.ownThread) struct SimulationTests {
    private static var seeds: [UInt64] {
        if let seed = ProcessInfo.processInfo.environment["SLUICE_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        if let range = ProcessInfo.processInfo.environment["SLUICE_SEEDS"]?.split(separator: "-").map({ UInt64($0)! }) {
            return Array(stride(from: range[0], through: range[1], by: Int(range.count > 2 ? range[2] : 1)))
        }
        return SimulatedSeeds.usual + SimulatedSeeds.withLateGroups + SimulatedSeeds.withJobs
            + SimulatedSeeds.withRulesAtNodes + SimulatedSeeds.withBackendAtNodes
    }

    @Test(arguments: seeds) func whateverHappensEveryClientShowsWhatTheServerHolds(seed: UInt64) async {
        guard let failure = await SimulatedSeeds.outcome(of: seed).failure else { return }
        let actionCount = SimulatedSeeds.actionCount
        record(failure, of: simulationPlan(seed: seed, actionCount: actionCount), actionCount: actionCount)
    }

    /// An element was moved past an equal one; who resumed by equal digests edited the other of the two.
    @Test func whoResumesByEqualDigestsKnowsWhichOfEqualElementsIsWhich() {
        simulate(seed: 603_241, actionCount: 150)
    }

    /// A group that ended the session left out the first upload of a frame, and the second was taken.
    @Test func uploadsBehindOneThatWasLeftOutAreLeftOutToo() {
        simulate(seed: 8_100_660, actionCount: 250)
    }

    /// A subscription was requested anew, and the results that came because of that had no remote.
    @Test func whatAMisledSubscriptionShowsIsTheServers() {
        simulate(seed: 8_100_343, actionCount: 250)
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

    /// A queue asked for rows, was given as many as an answer holds, all of them dead, and took them for all there are.
    @Test func aQueueGoesOnBehindDeadRows() {
        simulate(seed: 11_000_510, actionCount: 250)
    }

    /// A node followed the first rules while it opened a session, which was then allowed nothing for as long as it lasted.
    @Test func whoComesWithTheFirstRulesIsBoundByThem() {
        simulate(seed: 13_000_035, actionCount: 150)
    }

    /// The first object of a reset was put aside, and with it went that there was one.
    @Test func aConsumerKnowsOfAResetWhoseFirstObjectIsPutAside() {
        simulate(seed: 11_000_565, actionCount: 250)
    }

    /// A client's last visit was lost with the journal's last groups, so it showed a nonce that no node knew.
    @Test func aClientWhoseVisitIsLostIsNoCopy() {
        simulate(seed: 12_010_400, actionCount: 250)
    }

    /// A client had a number that a former history had lost, and the oracle forgot it when the journal forked once more.
    @Test func aLostNumberThatIsGivenAgainIsTheClients() {
        simulate(seed: 12_009_944, actionCount: 250)
    }

    /// A transaction was rejected in a history that has ended, and taken in the next.
    @Test func aRejectionOfAnEndedHistoryIsNotJudgedAgain() {
        simulate(seed: 13_000_159, actionCount: 250)
    }

    /// A dealer was deleted and made anew here, and queries that had the former counted as having the other one.
    @Test(arguments: [1_125, 12_012_017] as [UInt64]) func whatIsMadeAnewIsNoMemberOfWhatHadTheFormer(seed: UInt64) {
        simulate(seed: seed, actionCount: 250)
    }

    /// A total that was taken over from another query was forgotten with its context, and an observer was not told.
    @Test func aTotalThatIsForgottenIsShownNoMore() {
        simulate(seed: 20_111, actionCount: 250)
    }

    /// The oracle mixed numbers of the server's wider type with those that a client had written in the narrower one.
    @Test(arguments: [12_010_308, 12_014_388] as [UInt64]) func figuresAreThoseOfTheWiderType(seed: UInt64) {
        simulate(seed: seed, actionCount: 250)
    }

    /// A consumer beside a store upserted a row that the store still had and a consumer elsewhere had deleted.
    @Test func aJobMakesAnewWhatAnotherProcessHasDeleted() {
        simulate(seed: 11_001_962, actionCount: 250)
    }

    /// An observer that began moved the time of the store, and the others followed with the next moment.
    @Test func `observers of one store show one time`() {
        simulate(seed: 40_002_847, actionCount: 100)
    }

    /// The oracle expected a consumer of a query on linked objects to be given a write of an excluded property.
    @Test func `a consumer is not told of excluded properties alone`() {
        simulate(seed: 40_002_692, actionCount: 100)
    }

    /// The oracle expected what is left of a sum that was NaN to be known.
    @Test func `a sum that was not a number is not exact`() {
        simulate(seed: 43_001_675, actionCount: 50)
    }

    /// A journal that went back lost a store's first opening, so another user's credentials opened the store.
    @Test(arguments: [47_010_235, 47_018_515] as [UInt64])
    func `a store that the server has lost is whose credentials it presents`(seed: UInt64) {
        simulate(seed: seed, actionCount: 100)
    }
}

/// Checks that engines, views and stores go when nobody uses them any more.
@Suite struct SimulationMemoryTests {
    @Test(arguments: SimulatedSeeds.usual) func noEngineViewOrStoreOutlivesItsSimulation(seed: UInt64) async {
        let outcome = await SimulatedSeeds.outcome(of: seed)
        #expect(outcome.partCount > 4)
        #expect(outcome.survivors == [])
    }
}

/// Checks that the simulations reach every kind of situation, since otherwise they prove little.
@Suite struct SimulationCoverageTests {
    @Test func subscriptionsAreStartedInEveryWayAndTheFollowerMeetsEverything() async {
        var starts = StartCounts()
        var follower = FollowerCounts()
        for outcome in await SimulatedSeeds.outcomes() {
            starts += outcome.starts
            follower += outcome.follower
        }
        for path in StartCounts.Path.allCases { #expect(starts[path] >= 3, "\(path) in \(starts)") }
        #expect(follower.groups > 500 && follower.comparisons > 300, "\(follower)")
        #expect(follower.restarts > 10 && follower.snapshots > 3 && follower.refusals > 20, "\(follower)")
    }

    @Test func backupsOfTheServerArePutBack() async {
        let outcomes = await SimulatedSeeds.outcomes()
        let count = outcomes.reduce(0) { $0 + $1.putBackCount }
        let resets = outcomes.reduce(0) { $0 + $1.resetCount }
        #expect(count >= 10 && resets >= 5, "\(count) with \(resets) resets")
    }

    @Test func theJournalOfSeveralNodesForksAndIsTrimmed() async {
        var counts = JournalCounts()
        for outcome in await SimulatedSeeds.outcomes() { counts += outcome.journal }
        #expect(counts.forks >= 6 && counts.lostGroups >= 6, "\(counts)")
        #expect(counts.trims >= 4 && counts.replacements >= 8, "\(counts)")
    }

    @Test func groupsReachTheJournalLateAndTwice() async {
        var counts = JournalCounts()
        for seed in SimulatedSeeds.withLateGroups { counts += await SimulatedSeeds.outcome(of: seed).journal }
        #expect(counts.lateGroups + counts.refusedLateGroups >= 2, "\(counts)")
    }

    @Test func usersLogInLoseRightsAndAreRefused() async {
        var counts = AccessCounts()
        for outcome in await SimulatedSeeds.outcomes() { counts += outcome.access }
        #expect(counts.judgedRows > 200 && counts.contexts > 150 && counts.revokedObjects > 5, "\(counts)")
        #expect(counts.judgedWrites > 300 && counts.refusals > 100 && counts.judgedRefusals > 50, "\(counts)")
        #expect(counts.deployments > 50 && counts.changedIdentities > 3, "\(counts)")
        #expect(counts.endedSessions > 10 && counts.refusedLogins > 0, "\(counts)")
    }

    @Test func nodesJudgeByTheRulesOfTheirPlaceAndClientsMoveBetweenThem() async {
        var counts = AccessCounts()
        for seed in SimulatedSeeds.withRulesAtNodes { counts += await SimulatedSeeds.outcome(of: seed).access }
        #expect(counts.judgedRows > 800 && counts.contexts > 60 && counts.revokedObjects > 10, "\(counts)")
        #expect(counts.judgedWrites > 120 && counts.judgedRefusals > 60, "\(counts)")
        #expect(counts.deployments > 25 && counts.followedRules > 40 && counts.rowsByFormerRules > 20, "\(counts)")
        #expect(counts.movedSessions > 15 && counts.changedIdentities > 3, "\(counts)")
    }

    @Test func backendsOfSeveralNodesRefuseAmendAndWriteBesideEachOther() async {
        var counts = BackendCounts()
        for seed in SimulatedSeeds.withBackendAtNodes { counts += await SimulatedSeeds.outcome(of: seed).backend }
        #expect(counts.ownWrites > 40 && counts.changesOfOthers > 100 && counts.refusals >= 1, "\(counts)")
    }

    @Test func jobsAreKilledAndTakenOverAtEveryAwaitAndMeetPoisonAndResets() async {
        var counts = JobCounts()
        for seed in SimulatedSeeds.withJobs { counts += await SimulatedSeeds.outcome(of: seed).jobs }
        #expect(counts.runs >= 60 && counts.kills >= 30 && counts.steps >= 1_500, "\(counts)")
        #expect(counts.takeovers >= 1 && counts.resets >= 3 && counts.poisoned >= 5, "\(counts)")
        #expect(counts.lostAnswers >= 5 && counts.refusals >= 3, "\(counts)")
        for label in ["record", "apply", "chunk", "page", "write", "rows", "queue", "body", "work", "handled", "sleep"]
        {
            #expect(counts.labels[label, default: 0] >= 1, "\(label) in \(counts)")
        }
    }

    @Test func clientsTakePagesThatOthersHaveTakenAndThatWereReadAgain() async {
        var counts = SharedPageCounts()
        for outcome in await SimulatedSeeds.outcomes() { counts += outcome.sharedPages }
        #expect(counts.joined >= 20 && counts.readAgain >= 5, "\(counts)")
    }

    /// A node found that the journal had gone on without it while time passed, and closed its database in silence.
    @Test func aNodeThatClosesItsDatabaseTellsItsSessions() {
        simulate(seed: 30_000_314, actionCount: 100)
    }
}
