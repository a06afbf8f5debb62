import Foundation
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// What becomes of rows of a queue that fail, whose workers die, or that were given up: in the server's process, and over a
/// store.
struct QueueTroubleTests {
    private struct Failure: Error {}

    @Test(arguments: [false, true]) func `a row whose workers have died is dead when it has used its attempts`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [1, 2, 3])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 3
        /// A process has claimed the row, and was killed.
        func die(_ id: String, attempt: UInt64) async throws {
            let key = DeadLetterRecord.key(Flight(id: id).identity, in: QueueClaim.space("job"))
            let claim = QueueClaim(holder: 99, attemptCount: attempt).wireBytes()
            _ = try await desk.host.apply([JobWrite(key, .set(.after(.seconds(30)), value: claim))])
        }
        try await die("F0", attempt: 3)
        try await die("F1", attempt: 2)
        try await desk.server.advance(by: .seconds(31))
        let (busy, worked) = (Guarded<Set<String>>([]), Guarded<[String]>([]))
        let count = try await desk.queue(options).runOnce(workers: 4) { flight, claim in
            let isAlone = busy.withLock { busy in
                busy.insert(flight.id)
                return busy.count == 1 && !(busy.contains("F1") && flight.id != "F1")
            }
            // The last attempt at a row that may have killed its workers is made alone.
            if flight.id == "F1" { #expect(isAlone && claim.attempt == 3) }
            worked.withLock { $0.append(flight.id) }
            for _ in 0..<50 { await Task.yield() }
            if flight.id == "F1" { #expect(busy.withLock { $0 } == ["F1"]) }
            busy.withLock { _ = $0.remove(flight.id) }
            return JobDesk.gate(flight)
        }
        #expect(count == 2)
        #expect(Set(worked.withLock { $0 }) == ["F1", "F2"])
        let dead = try await desk.queue(options).dead()
        #expect(dead.map(\.object) == [Flight(id: "F0").identity])
        #expect(dead.first?.error.contains("its worker ended") == true && dead.first?.attemptCount == 3)
    }

    @Test(arguments: [false, true])
    func `a dead row that is discarded is listed no more, and stays dead until it changes`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [1])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = desk.queue(options)
        let flight = Flight(id: "F0").identity
        #expect(try await queue.discard(flight) == false)
        #expect(try await queue.retry(flight) == false)
        let callCount = Guarded(0)
        @Sendable func work(_ flight: Flight) throws -> WorkQueue<Flight>.Completion {
            callCount.withLock { $0 += 1 }
            if flight.delay == 1 { throw Failure() }
            return JobDesk.gate(flight)
        }
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(try await queue.dead().count == 1)
        #expect(try await queue.discard(flight))
        #expect(try await queue.discard(flight) == false)
        #expect(try await queue.dead().isEmpty)
        #expect(try await desk.nyc.jobs.queues().allSatisfy { $0.deadCount == 0 })
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(callCount.withLock { $0 } == 1)
        // Who has thought better of it retries it.
        #expect(try await queue.retry(flight))
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(callCount.withLock { $0 } == 2)
        #expect(try await queue.discard(flight))
        try await desk.nyc.putFlight("F0", delay: 2)
        #expect(try await queue.runOnce { row, _ in try work(row) } == 1)
        #expect(try await desk.nyc.host.spaces(withPrefix: QueueClaim.discardedPrefix).isEmpty)
    }

    @Test(arguments: [false, true])
    func `dead rows that were deleted or changed are forgotten, and those that stayed as they were are not`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [1, 2, 3, 4, 5])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = desk.queue(options)
        #expect(try await queue.runOnce { _, _ in throw Failure() } == 0)
        // Those with odd numbers are discarded.
        for id in ["F1", "F3"] { #expect(try await queue.discard(Flight(id: id).identity)) }
        try await desk.nyc.write { transaction in
            for id in ["F0", "F1"] { try transaction.delete(Flight.self, key: id) }
            for id in ["F2", "F3"] { try transaction.upsert(Flight(id: id, delay: 9, gate: "B")) }
        }
        #expect(try await queue.runOnce { _, _ in throw Failure() } == 0)
        #expect(try await queue.dead().map(\.object) == [Flight(id: "F4").identity])
        #expect(try await desk.nyc.host.spaces(withPrefix: QueueClaim.discardedPrefix).isEmpty)
        let status = try #require(try await desk.nyc.jobs.queues().first)
        #expect((status.deadCount, status.waitingCount) == (1, 0))
    }

    @Test(arguments: [false, true])
    func `an object that a consumer has given up is handled when it is retried, or has changed`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [1, 2, 3])
        let isBroken = Guarded(true)
        let given = Guarded<[String]>([])
        let consumer = desk.consumer(JobDesk.quick(1))
        @Sendable func handle(_ batch: ConsumerBatch<Flight>) async throws {
            let isRefused = isBroken.withLock { $0 } && batch.upserts.contains { $0.value.id != "F0" }
            if isRefused { throw Failure() }
            try await batch.commit()
            given.withLock { $0 += batch.upserts.map { "\($0.value.id) \($0.value.delay)" } }
        }
        try await consumer.runOnce { try await handle($0) }
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").count == 2)
        isBroken.withLock { $0 = false }
        #expect(try await consumer.runOnce { try await handle($0) } == 0)
        #expect(try await Jobs(desk.host).retryDeadLetter(Flight(id: "F1").identity, ofConsumer: "job"))
        #expect(try await Jobs(desk.host).retryDeadLetter(Flight(id: "F0").identity, ofConsumer: "job") == false)
        #expect(try await Jobs(desk.host).discardDeadLetter(Flight(id: "F0").identity, ofConsumer: "job") == false)
        #expect(try await consumer.runOnce { try await handle($0) } == 1)
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").map(\.object) == [Flight(id: "F2").identity])
        try await desk.nyc.putFlight("F2", delay: 33)
        #expect(try await consumer.runOnce { try await handle($0) } == 1)
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").isEmpty)
        #expect(given.withLock { $0 } == ["F0 1", "F1 2", "F2 33"])
    }

    @Test func `a row that is made due again wakes a worker over a store`() async throws {
        let desk = try await JobDesk(isOverStore: true, delays: [1])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let isBroken = Guarded(true)
        let calls = AsyncStream<Int>.makeStream()
        let queue = desk.queue(options)
        let running = Task {
            try await queue.run { flight, claim in
                calls.continuation.yield(claim.attempt)
                if isBroken.withLock({ $0 }) { throw Failure() }
                return JobDesk.gate(flight)
            }
        }
        var attempts = calls.stream.makeAsyncIterator()
        #expect(await attempts.next() == 1)
        while try await queue.dead().isEmpty { await Task.yield() }
        // It has nothing to do, and waits.
        for _ in 0..<200 { await Task.yield() }
        isBroken.withLock { $0 = false }
        #expect(try await desk.nyc.jobs.retryDeadRow(Flight(id: "F0").identity, ofQueue: "job"))
        #expect(await attempts.next() == 1)
        running.cancel()
        try await running.value
    }

    // MARK: Bounds

    @Test(arguments: [false, true]) func `more rows than one request carries are claimed and done`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: Array(1...2_500))
        let sizes = Guarded<[Int]>([])
        let count = try await desk.queue().work(3, batch: 5_000, untilDone: true) { rows in
            sizes.withLock { $0.append(rows.count) }
            return { transaction in
                for row in rows {
                    var flight = row.element
                    flight.gate = "A"
                    try transaction.upsert(flight)
                }
            }
        }
        #expect(count == 2_500)
        #expect(sizes.withLock { $0.max() ?? 0 } <= JobWrite.countMax)
    }
}
