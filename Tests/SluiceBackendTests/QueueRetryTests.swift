import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import Testing

/// What is told of the rows of a queue that wait for another try.
struct QueueRetryTests {
    /// Options by which a row that has failed waits for about a hundred seconds.
    private static let patient: WorkQueue<Flight>.Options = {
        var options = WorkQueue<Flight>.Options()
        options.backoff = .exponential(.seconds(100), max: .seconds(100))
        return options
    }()

    @Test(arguments: [false, true])
    func `rows that wait for another try are no claims, and the next try has a time`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61, 62, 63])
        let queue = desk.queue(Self.patient)
        let begin = desk.nyc.host.time
        let idle = Guarded<[WaitingTries]>([])
        let done = try await queue.work(
            1, batch: 1, untilDone: true, onIdle: { waiting in idle.withLock { $0.append(waiting) } }
        ) { rows in
            switch rows[0].element.id {
            case "F0": throw JobError.tryAgain("the gate is closed")
            case "F1": throw JobError(.notCommitted, "no gate")
            default: return JobDesk.gate(rows[0].element)
            }
        }
        #expect(done == 2)
        let status = try #require(try await desk.nyc.jobs.queues().first)
        #expect((status.waitingCount, status.retryCount, status.claimCount, status.deadCount) == (2, 2, 0, 0))
        let next = Timestamp(try #require(status.nextRetry))
        #expect(next >= begin.advanced(by: .seconds(80)) && next <= desk.nyc.host.time.advanced(by: .seconds(120)))
        #expect(idle.withLock { $0.map(\.count) } == [2])
        // A date is exact to about a microsecond.
        let known = try #require(idle.withLock { $0.first?.next })
        #expect(abs(known.microseconds - next.microseconds) <= 1)

        // A row that nobody has to work at any more waits no more, though its claim is there.
        try await desk.nyc.write { transaction in
            for id in ["F0", "F1"] { try transaction.update(Flight(id: id)) { $0.gate = "B" } }
        }
        let settled = try #require(try await desk.nyc.jobs.queues().first)
        #expect((settled.waitingCount, settled.retryCount, settled.claimCount) == (0, 0, 0))
        #expect(settled.nextRetry == nil)
        _ = try await queue.work(
            1, batch: 1, untilDone: true, onIdle: { waiting in idle.withLock { $0.append(waiting) } }
        ) { JobDesk.gate($0[0].element) }
        #expect(idle.withLock { $0.map(\.count) } == [2, 0])
    }

    @Test func `a row that is worked at is a claim`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [60])
        try await desk.queue().runOnce { flight, _ in
            let status = try #require(try await desk.nyc.jobs.queues().first)
            #expect((status.waitingCount, status.retryCount, status.claimCount) == (0, 0, 1))
            #expect(status.nextRetry == nil)
            return JobDesk.gate(flight)
        }
    }

    @Test(arguments: [false, true])
    func `a run that finds nothing but rows of another says how many, and until when`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61])
        let idle = Guarded<[WaitingTries]>([])
        let done = try await desk.queue().runOnce { flight, _ in
            // The other run does the row that is free.
            let count = try await desk.queue().work(
                1, batch: 1, untilDone: true, onIdle: { waiting in idle.withLock { $0.append(waiting) } }
            ) { JobDesk.gate($0[0].element) }
            #expect(count == 1)
            return JobDesk.gate(flight)
        }
        #expect(done == 1)
        let left = try #require(idle.withLock { $0.first })
        #expect(left.count == 0 && left.next == nil && left.heldCount == 1)
        let end = try #require(left.heldUntil)
        #expect(end <= desk.nyc.host.time.advanced(by: .seconds(30)))
        // Nobody holds what is done.
        _ = try await desk.queue().work(
            1, batch: 1, untilDone: true, onIdle: { waiting in idle.withLock { $0.append(waiting) } }
        ) { JobDesk.gate($0[0].element) }
        #expect(idle.withLock { $0.last } == WaitingTries())
    }
}
