import Testing

@testable import SluiceServer

@Suite struct ProbeScheduleTests {
    /// How many looks are left out before the next.
    private func skipped(_ schedule: inout ProbeSchedule) -> Int {
        var count = 0
        while !schedule.isDue() { count += 1 }
        return count
    }

    @Test func eachFailureAfterALookThatFoundRoomDoublesTheLooksThatAreLeftOut() {
        var schedule = ProbeSchedule()
        schedule.noteFailure()
        var counts: [Int] = []
        for _ in 0..<10 {
            counts.append(skipped(&schedule))
            schedule.noteRoom()
            schedule.noteFailure()
        }
        #expect(counts == [0, 1, 2, 4, 8, 16, 32, 64, 128, 150])
        schedule.noteSuccess()
        schedule.noteFailure()
        #expect(skipped(&schedule) == 0)
    }
}
