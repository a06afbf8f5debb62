import Sluice
import SluiceWire
import Testing

/// How a consumer finds the object that fails, and what it does where everything fails.
struct RetriesTests {
    private let backoff = Backoff.exponential(.seconds(1), max: .seconds(300))

    /// What became of objects that were handled as ``Consumer/run(_:)`` does it.
    private struct Outcome {
        var tries = 0
        var handled: [Int] = []
        var givenUp: [(object: Int, at: Duration)] = []
        var time = Duration.zero
    }

    /// - Parameter fails: whether an object fails at a time.
    private func handle(
        _ count: Int, limit: Int, attempts: Int = 4, until end: Duration = .seconds(1_000_000),
        fails: (Int, Duration) -> Bool
    ) -> Outcome {
        var retries = Retries(limit, attempts: attempts, backoff, nil)
        var outcome = Outcome()
        var next = 0
        while next < count, outcome.time < end {
            let batch = next..<min(count, next + retries.limit)
            outcome.tries += 1
            if !batch.contains(where: { fails($0, outcome.time) }) {
                outcome.handled += batch
                retries.noteSuccess(of: batch.count)
                next = batch.upperBound
            } else if let wait = retries.noteFailure(of: batch.count) {
                outcome.time += wait
            } else {
                #expect(batch.count == 1)
                outcome.givenUp.append((batch.lowerBound, outcome.time))
                retries.noteGivenUp()
                next = batch.upperBound
            }
        }
        return outcome
    }

    @Test func anObjectThatAlwaysFailsIsFoundInAFewTriesWhereverItIs() {
        for size in [1, 2, 3, 7, 64, 100] {
            for poison in 0..<size {
                let outcome = handle(size, limit: size) { object, _ in object == poison }
                #expect(outcome.givenUp.map(\.object) == [poison])
                #expect(outcome.handled == (0..<size).filter { $0 != poison })
                // Four tries of the whole, each half once or twice, the object itself twice, and the way back to the whole.
                #expect(outcome.tries <= 4 + 2 * (size.bitWidth - size.leadingZeroBitCount) + 2 + size.bitWidth)
                let others: Duration = poison == 0 ? .seconds(8) : .seconds(1)
                #expect(outcome.time <= (.seconds(7) + others) * 1.2, "\(size) objects, of which \(poison) fails")
            }
        }
    }

    @Test func aProgramThatAlwaysFailsGivesUpItsFirstObjectSoonAndTheNextOnesLaterAndLater() {
        let outcome = handle(100, limit: 100, attempts: 8, until: .seconds(3_600)) { _, _ in true }
        #expect(outcome.handled.isEmpty)
        // 127 s for the whole, then 128 s for the one that is alone, a fifth more or less.
        #expect((.seconds(255) * 0.8 ... .seconds(255) * 1.2).contains(outcome.givenUp[0].at))
        for (former, later) in zip(outcome.givenUp, outcome.givenUp.dropFirst()) {
            #expect(later.at - former.at >= .seconds(240) * 0.8)
        }
    }

    @Test func anOutageCostsFewObjects() {
        for attempts in [1, 4, 8] {
            for limit in [1, 100, 1_000] {
                let outcome = handle(1_000, limit: limit, attempts: attempts) { _, time in time < .seconds(600) }
                #expect(outcome.givenUp.count + outcome.handled.count == 1_000)
                guard attempts > 1 else { continue }
                #expect(outcome.givenUp.count <= 10, "\(attempts) attempts, \(limit) objects: \(outcome.givenUp)")
            }
        }
    }

    @Test func whatWasFoundOutIsGoneOnWith() throws {
        var retries = Retries(100, attempts: 3, backoff, nil)
        #expect(retries.trial == nil)
        _ = retries.noteFailure(of: 100)
        #expect(retries.trial == ConsumerTrial(limit: 100, failureCount: 1))
        var next = Retries(100, attempts: 3, backoff, retries.trial)
        #expect(next.noteFailure(of: 100) != .zero)
        #expect(next.noteFailure(of: 100) == .zero)
        #expect(next.trial == ConsumerTrial(limit: 50, failureCount: 0))
        var last = Retries(100, attempts: 3, backoff, next.trial)
        #expect(last.limit == 50)
        #expect(last.noteFailure(of: 50) == .zero)
        #expect(last.limit == 25)
    }
}
