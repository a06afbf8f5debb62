import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// Rows that are work to be done: who has them, when they are tried again, and what is written.
struct WorkQueueTests {
    private struct Failure: Error {}

    private let server: TestServer

    init() throws { server = try TestServer() }

    /// The flights that have no gate yet, the most urgent first.
    private func waiting(_ database: ServerDatabase) -> ServerResults<Flight> {
        database.objects(Flight.self).where { $0.gate == nil }.sorted(by: \.delay)
    }

    private func makeFlights(_ count: Int, in nyc: ServerDatabase) async throws {
        try await nyc.write { for number in 0..<count { try $0.upsert(Flight(id: "F\(number)", delay: number)) } }
    }

    private static func gate(_ flight: Flight) -> WorkQueue<Flight>.Completion {
        { transaction in
            try transaction.update(Flight(id: flight.id)) { $0.gate = "A" }
            if try transaction.object(Carrier.self, key: "sum") == nil {
                try transaction.insert(Carrier(code: "sum", name: ""))
            }
            try transaction.update(Carrier(code: "sum")) { $0.name += "." }
        }
    }

    @Test func eachRowIsDoneOnceInItsOrder() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(20, in: nyc)
        let order = Guarded<[String]>([])
        let count = try await nyc.queue("gates", of: waiting(nyc)).runOnce { flight, claim in
            order.withLock { $0.append(flight.id) }
            #expect(claim.attempt == 1 && claim.identity == flight.identity)
            return Self.gate(flight)
        }
        #expect(count == 20)
        #expect(order.withLock { $0 } == (0..<20).map { "F\($0)" })
        #expect(try await nyc.object(Carrier.self, key: "sum")?.name.count == 20)
        #expect(try await nyc.queue("gates", of: waiting(nyc)).runOnce { Self.gate($0, $1) } == 0)
    }

    @Test func manyWorkersOfSeveralRunsNeverHaveOneRowAtATime() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(60, in: nyc)
        let held = Guarded<Set<String>>([])
        let queues = try await [server.database(models: models), server.database(models: models), nyc].map {
            $0.queue("gates", of: waiting($0))
        }
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for queue in queues {
                group.addTask {
                    try await queue.runOnce(workers: 4) { flight, _ in
                        #expect(held.withLock { $0.insert(flight.id).inserted }, "\(flight.id) is held twice")
                        await Task.yield()
                        _ = held.withLock { $0.remove(flight.id) }
                        return Self.gate(flight)
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(counts == 60)
        #expect(try await nyc.object(Carrier.self, key: "sum")?.name.count == 60)
    }

    @Test func aRowThatFailsIsTriedAgainAndThenDeadUntilItIsRetriedOrChanged() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(3, in: nyc)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 2
        options.backoff = .exponential(.seconds(10), max: .seconds(10))
        let queue = nyc.queue("gates", of: waiting(nyc), options: options)
        let isBroken = Guarded(true)
        let attempts = Guarded<[Int]>([])
        @Sendable func work(_ flight: Flight, _ claim: WorkQueue<Flight>.Claim) throws -> WorkQueue<Flight>.Completion {
            guard flight.id == "F1", isBroken.withLock({ $0 }) else { return Self.gate(flight) }
            attempts.withLock { $0.append(claim.attempt) }
            throw Failure()
        }
        #expect(try await queue.runOnce { try work($0, $1) } == 2)
        #expect(try await queue.runOnce { try work($0, $1) } == 0)
        #expect(attempts.withLock { $0 } == [1])
        try await server.advance(by: .seconds(13))
        #expect(try await queue.runOnce { try work($0, $1) } == 0)
        #expect(attempts.withLock { $0 } == [1, 2])
        let dead = try await queue.dead()
        #expect(dead.map(\.object) == [Flight(id: "F1").identity] && dead.first?.error == "Failure()")
        try await server.advance(by: .seconds(3_600))
        #expect(try await queue.runOnce { try work($0, $1) } == 0)

        try await queue.retry(Flight(id: "F1").identity)
        #expect(try await queue.runOnce { try work($0, $1) } == 0)
        #expect(attempts.withLock { $0 } == [1, 2, 1])
        try await server.advance(by: .seconds(13))
        #expect(try await queue.runOnce { try work($0, $1) } == 0)
        #expect(try await queue.dead().count == 1)
        isBroken.withLock { $0 = false }
        try await nyc.putFlight("F1", delay: 99)
        #expect(try await queue.runOnce { try work($0, $1) } == 1)
        #expect(try await queue.dead().isEmpty)
    }

    @Test func aRowThatStillMatchesIsNotDone() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(1, in: nyc)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = nyc.queue("gates", of: waiting(nyc), options: options)
        #expect(try await queue.runOnce { _, _ in { _ in } } == 0)
        #expect(try await queue.dead().first?.error.contains("still matches") == true)
    }

    @Test func aLeaseThatHasEndedGivesTheRowToAnotherAndTheFirstWritesNothing() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(1, in: nyc)
        let begun = AsyncStream<Void>.makeStream()
        let goOn = AsyncStream<Void>.makeStream()
        let desk = try await server.database(models: models)
        let first = Task {
            try await desk.queue("gates", of: waiting(desk)).runOnce { flight, _ in
                begun.continuation.yield()
                for await _ in goOn.stream { break }
                return Self.gate(flight)
            }
        }
        for await _ in begun.stream { break }
        #expect(try await nyc.queue("gates", of: waiting(nyc)).runOnce { Self.gate($0, $1) } == 0)
        // Its server forgets the claim, as a process that was stopped for longer than its lease.
        let claim = DeadLetterRecord.key(Flight(id: "F0").identity, in: QueueClaim.space("gates"))
        #expect(try await nyc.host.apply([JobWrite(claim, .remove)]) == [true])
        #expect(try await nyc.queue("gates", of: waiting(nyc)).runOnce { Self.gate($0, $1) } == 1)
        goOn.continuation.yield()
        #expect(try await first.value == 0)
        #expect(try await nyc.object(Carrier.self, key: "sum")?.name == ".")
    }

    @Test func aLeaseIsExtendedWhileItsWorkerRuns() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(1, in: nyc)
        let begun = AsyncStream<Void>.makeStream()
        let goOn = AsyncStream<Void>.makeStream()
        let first = Task {
            try await nyc.queue("gates", of: waiting(nyc)).runOnce { flight, _ in
                begun.continuation.yield()
                for await _ in goOn.stream { break }
                return Self.gate(flight)
            }
        }
        for await _ in begun.stream { break }
        let other = try await server.database(models: models)
        for _ in 0..<6 {
            try await server.advance(by: .seconds(10))
            #expect(try await other.queue("gates", of: waiting(other)).runOnce { Self.gate($0, $1) } == 0)
        }
        goOn.continuation.yield()
        #expect(try await first.value == 1)
    }

    @Test func rowsOfOnePartitionAreDoneOneAfterTheOtherAndNoneBeforeItsTime() async throws {
        let nyc = try await server.database(models: models)
        try await makeFlights(12, in: nyc)
        var options = WorkQueue<Flight>.Options()
        options.partition = { "\($0.delay % 3)" }
        let later = server.clock.now.addingTimeInterval(60)
        options.notBefore = { $0.delay == 0 ? later : nil }
        let busy = Guarded<Set<Int>>([])
        let queue = nyc.queue("gates", of: waiting(nyc), options: options)
        @Sendable func work(_ flight: Flight, _ claim: WorkQueue<Flight>.Claim) async -> WorkQueue<Flight>.Completion {
            #expect(busy.withLock { $0.insert(flight.delay % 3).inserted })
            await Task.yield()
            _ = busy.withLock { $0.remove(flight.delay % 3) }
            return Self.gate(flight)
        }
        #expect(try await queue.runOnce(workers: 8) { await work($0, $1) } == 11)
        try await server.advance(by: .seconds(61))
        #expect(try await queue.runOnce(workers: 8) { await work($0, $1) } == 1)
    }

    @Test func aRunTakesWhatComesAndEndsInOrder() async throws {
        let nyc = try await server.database(models: models)
        let done = AsyncStream<String>.makeStream()
        let run = Task {
            try await nyc.queue("gates", of: waiting(nyc)).run(workers: 2) { flight, _ in
                done.continuation.yield(flight.id)
                return Self.gate(flight)
            }
        }
        var iterator = done.stream.makeAsyncIterator()
        for number in 0..<5 {
            try await nyc.putFlight("F\(number)", delay: number)
            #expect(await iterator.next() == "F\(number)")
        }
        run.cancel()
        try await run.value
        await #expect(throws: JobError.self) { try await nyc.queue("", of: waiting(nyc)).runOnce { Self.gate($0, $1) } }
    }

    private static func gate(_ flight: Flight, _ claim: WorkQueue<Flight>.Claim) -> WorkQueue<Flight>.Completion {
        gate(flight)
    }
}
