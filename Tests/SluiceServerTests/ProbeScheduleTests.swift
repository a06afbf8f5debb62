import Testing

@testable import SluiceServer

@Suite struct ProbeScheduleTests {
    /// How many looks are left out before the next.
    private func skipped(_ schedule: inout ProbeSchedule) -> Int {
        var count = 0
        while !schedule.isDue() { count += 1 }
        return count
    }

    @Test func eachFailureAfterARecoveryDoublesTheLooksThatAreLeftOut() {
        var schedule = ProbeSchedule()
        schedule.noteFailure()
        var counts: [Int] = []
        for _ in 0..<10 {
            #expect(schedule.trustsCommits == (counts.isEmpty))
            counts.append(skipped(&schedule))
            #expect(schedule.trustsCommits)
            schedule.noteRecovery()
            // A look or two later.
            schedule.noteQuiet()
            schedule.noteQuiet()
            schedule.noteFailure()
        }
        #expect(counts == [0, 1, 2, 4, 8, 16, 32, 64, 128, 150])
    }

    @Test func aFailureLongAfterARecoveryCountsAsTheFirst() {
        var schedule = ProbeSchedule()
        for _ in 0..<4 {
            schedule.noteFailure()
            _ = skipped(&schedule)
            schedule.noteRecovery()
        }
        for _ in 0..<9 { schedule.noteQuiet() }
        schedule.noteFailure()
        #expect(schedule.trustsCommits)
    }
}
