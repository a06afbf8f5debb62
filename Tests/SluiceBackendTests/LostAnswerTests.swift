import Foundation
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// Jobs whose database has stored something although it did not answer, or has not.
struct LostAnswerTests {
    /// What a database refuses to a queue's worker that goes on.
    enum Refusal: CaseIterable {
        /// It has stored a claim, and the answer was lost.
        case answerToClaim
        /// It does not store the end of one.
        case endOfClaim
    }

    @Test(arguments: Refusal.allCases) func `a row that could not be claimed, or let go, is tried as before`(
        refusal: Refusal
    ) async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [1])
        let (handed, refused) = (Guarded(0), Guarded(false))
        @Sendable func refuses() throws {
            let isFirst = refused.withLock { wasRefused in
                defer { wasRefused = true }
                return !wasRefused
            }
            if isFirst { throw StorageError(.outcomeUnknown, "nobody knows") }
        }
        let host = InterceptedHost(base: desk.nyc.host) { use in
            switch (use, refusal) {
            case (.hasWritten(let writes), .answerToClaim):
                if writes.contains(where: { $0.condition != nil }) { try refuses() }
            case (.writing, .endOfClaim): if handed.withLock({ $0 == 1 }) { try refuses() }
            default: break
            }
        }
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = WorkQueue<Flight>(host, "job", options) { try Query.parse("Flight WHERE gate == nil", schema: $0) }
        let running = Task {
            try await queue.run { flight, claim in
                let count = handed.withLock { count in
                    count += 1
                    return count
                }
                if count == 1, refusal == .endOfClaim { throw JobError.tryAgain("not yet") }
                return { transaction in try transaction.update(Flight(id: flight.id)) { $0.gate = "A" } }
            }
        }
        let time = JobDesk.letTimePass(on: desk.server)
        while try await desk.nyc.objects(Flight.self).where({ $0.gate == nil }).count() > 0 {
            try #require(try await queue.dead().isEmpty)
            await Task.yield()
        }
        time.cancel()
        _ = await time.result
        running.cancel()
        try await running.value
        #expect(refused.withLock { $0 } && handed.withLock { $0 } == (refusal == .endOfClaim ? 2 : 1))
    }

    /// A host that stores what is written, and loses the answer to the first writes that fit.
    private func host(
        of desk: JobDesk, losing isLost: @escaping @Sendable ([JobWrite]) -> Bool,
        onLoss: @escaping @Sendable () -> Void = {}
    ) -> InterceptedHost {
        let wasLost = Guarded(false)
        return InterceptedHost(base: desk.nyc.host) { use in
            guard case .hasWritten(let writes) = use, isLost(writes) else { return }
            let isFirst = wasLost.withLock { wasLost in
                defer { wasLost = true }
                return !wasLost
            }
            guard isFirst else { return }
            onLoss()
            throw StorageError(.outcomeUnknown, "nobody knows")
        }
    }

    private func queue(_ host: InterceptedHost, attempts: Int) -> WorkQueue<Flight> {
        var options = WorkQueue<Flight>.Options()
        options.attempts = attempts
        return WorkQueue(host, "job", options) { try Query.parse("Flight WHERE gate == nil", schema: $0) }
    }

    @Test func `a row that was dead is worked at once, although the database did not answer that it is dead no more`()
        async throws
    {
        let desk = try await JobDesk(isOverStore: false, delays: [1])
        let (lossCount, calls) = (Guarded(0), Guarded<[Int]>([]))
        let host = host(of: desk) { writes in
            // Not the transaction that gives it up.
            writes.contains { $0.key.space == QueueClaim.deadSpace("job") && $0.change == .remove }
        } onLoss: {
            lossCount.withLock { $0 += 1 }
        }
        let queue = queue(host, attempts: 1)
        @Sendable func work(_ flight: Flight) throws -> WorkQueue<Flight>.Completion {
            calls.withLock { $0.append(flight.delay) }
            if flight.delay == 1 { throw JobError(.notCommitted, "not this one") }
            return { transaction in try transaction.update(Flight(id: flight.id)) { $0.gate = "A" } }
        }
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(try await queue.dead().count == 1)
        try await desk.nyc.putFlight("F0", delay: 2)
        let running = Task { try await queue.run { row, _ in try work(row) } }
        let time = JobDesk.letTimePass(on: desk.server)
        while try await desk.nyc.objects(Flight.self).where({ $0.gate == nil }).count() > 0 { await Task.yield() }
        while try await !queue.dead().isEmpty { await Task.yield() }
        time.cancel()
        _ = await time.result
        running.cancel()
        try await running.value
        #expect(lossCount.withLock { $0 } == 1)
        #expect(calls.withLock { $0 } == [1, 2])
    }

    @Test func `a row whose claim was lost while its queue ended is due at once, and was not tried`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [1])
        let running = Guarded<Task<Void, any Error>?>(nil)
        let host = host(of: desk) { writes in
            writes.contains { $0.key.space == QueueClaim.space("job") }
        } onLoss: {
            running.withLock { $0 }?.cancel()
        }
        let begun = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in begun.stream {}
            try await queue(host, attempts: 1).run { _, _ in throw CancellationError() }
        }
        running.withLock { $0 = task }
        begun.continuation.finish()
        try await task.value
        let attempts = Guarded<[Int]>([])
        let count = try await desk.queue().runOnce { flight, claim in
            attempts.withLock { $0.append(claim.attempt) }
            return JobDesk.gate(flight)
        }
        #expect(count == 1 && attempts.withLock { $0 } == [1])
    }

    @Test func `a queue whose workers stop while its server is away ends all the same`() async throws {
        let desk = try await JobDesk(isOverStore: true, delays: [1, 2, 3])
        let begun = AsyncStream<Void>.makeStream()
        let isOver = Guarded(false)
        let queue = desk.queue()
        let running = Task {
            defer { isOver.withLock { $0 = true } }
            try await queue.run(workers: 2) { flight, _ in
                begun.continuation.yield()
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            }
        }
        var count = 0
        for await _ in begun.stream {
            count += 1
            if count == 2 { break }
        }
        await desk.server.stop()
        running.cancel()
        let start = desk.server.clock.now
        while !isOver.withLock({ $0 }) { try await desk.server.advance(by: .seconds(1)) }
        try await running.value
        #expect(desk.server.clock.now.timeIntervalSince(start) <= 30)
    }

    @Test func `an object whose letter was stored without an answer is given up no more when it is handled`()
        async throws
    {
        let desk = try await JobDesk(isOverStore: false, delays: [1, 2])
        let space = ConsumerState.deadSpace("job")
        let host = host(of: desk) { writes in writes.contains { $0.key.space == space } }
        let consumer = Consumer<Flight>(host, "job", JobDesk.quick(1)) { try Query.parse("Flight", schema: $0) }
        let handled = Guarded<Set<String>>([])
        let running = Task {
            try await consumer.run { batch in
                if batch.upserts.contains(where: { $0.value.delay == 1 }) { throw JobError(.notCommitted, "not this") }
                try await batch.commit()
                handled.withLock { $0.formUnion(batch.upserts.map(\.value.id)) }
            }
        }
        let time = JobDesk.letTimePass(on: desk.server)
        while handled.withLock({ $0 }) != ["F1"] { await Task.yield() }
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").count == 1)
        try await desk.nyc.putFlight("F0", delay: 3)
        while handled.withLock({ $0 }) != ["F0", "F1"] { await Task.yield() }
        time.cancel()
        _ = await time.result
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").isEmpty)
        running.cancel()
        try await running.value
    }

    @Test func `a consumer that yields has its name although the answer was lost that it took it`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [1, 2])
        let key = ConsumerState.key("job")
        let host = host(of: desk) { writes in writes.contains { $0.key == key } }
        var options = JobDesk.quick(1)
        options.onNameHeld = .stop
        let consumer = Consumer<Flight>(host, "job", options) { try Query.parse("Flight", schema: $0) }
        let time = JobDesk.letTimePass(on: desk.server)
        #expect(try await consumer.runOnce { try await $0.commit() } == 2)
        time.cancel()
        _ = await time.result
    }
}
