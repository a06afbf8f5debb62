import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

/// The life of a consumer, step by step.
struct ConsumerTests {
    private struct Failure: Error {}

    private let server: TestServer

    init() throws { server = try TestServer() }

    private func late(_ database: ServerDatabase) -> ServerResults<Flight> {
        database.objects(Flight.self).where { $0.delay >= 60 }
    }

    /// Raises an alert for each late flight, and removes that of one which is late no more.
    @Sendable private func raise(_ batch: ConsumerBatch<Flight>) async throws {
        try await batch.commit { transaction in
            for item in batch.upserts {
                try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
            }
            for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
        }
    }

    private func alerts(_ database: ServerDatabase) async throws -> [String] {
        try await database.objects(Alert.self).sorted(by: \.flight).fetch().map { "\($0.flight) \($0.delay)" }
    }

    @Test func allResultsComeAndThenWhatHasChangedEachObjectOnce() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.write { for number in 1...5 { try $0.upsert(Flight(id: "F\(number)", delay: 40 + 10 * number)) } }
        var options = Consumer<Flight>.Options()
        options.limit = 2
        let batches = nyc.consumer("alerts", of: late(nyc), options: options).batches
        var iterator = batches.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.upserts.map(\.value.id) == ["F2", "F3"])
        #expect(first.progress == .init(done: 0, known: 4))
        #expect(first.isReading && !first.isReset && first.removals.isEmpty)
        try await raise(first)
        let second = try #require(try await iterator.next())
        #expect(second.upserts.map(\.value.id) == ["F4", "F5"])
        #expect(second.progress == .init(done: 2, known: 4))
        try await raise(second)

        for delay in [70, 80, 90] { try await nyc.putFlight("F1", delay: delay) }
        try await nyc.putFlight("F2", delay: 5)
        try await nyc.write { try $0.delete(Flight.self, key: "F5") }
        try await nyc.write { try $0.update(Flight(id: "F3")) { $0.gate = "B7" } }
        let third = try #require(try await iterator.next())
        #expect(third.upserts.map(\.value) == [Flight(id: "F1", delay: 90)])
        #expect(third.removals == [.init(identity: Flight(id: "F2").identity, reason: .filter)])
        try await raise(third)
        let fourth = try #require(try await iterator.next())
        #expect(fourth.upserts.map(\.value) == [Flight(id: "F3", delay: 70, gate: "B7")])
        #expect(fourth.removals == [.init(identity: Flight(id: "F5").identity, reason: .deleted)])
        #expect(!fourth.isReading && fourth.progress.known == nil)
        try await raise(fourth)
        #expect(try await alerts(nyc) == ["F1 90", "F3 70", "F4 80"])
        let status = try #require(try await nyc.jobs.consumers().first)
        #expect(status.name == "alerts" && status.handledCount == 8 && status.deadLetterCount == 0)
        #expect(status.query == "Flight WHERE delay >= 60")
    }

    @Test func aConsumerThatBeginsAgainGoesOnWhereItWas() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...3 { try await nyc.putFlight("F\(number)", delay: 60) }
        #expect(try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise) == 3)
        #expect(try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise) == 0)
        try await nyc.putFlight("F2", delay: 61)
        try await server.restart()
        let again = try await server.database(models: models)
        try await again.putFlight("F4", delay: 62)
        #expect(try await again.consumer("alerts", of: late(again)).runOnce(raise) == 2)
        #expect(try await alerts(again) == ["F1 60", "F2 61", "F3 60", "F4 62"])
    }

    @Test func aBatchThatWasNotCommittedComesAgain() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        var iterator = nyc.consumer("alerts", of: late(nyc)).batches.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        let again = try #require(try await iterator.next())
        #expect(again.upserts.map(\.id) == first.upserts.map(\.id))
        await #expect { try await raise(first) } throws: { ($0 as? JobError)?.code == .batchOver }
        await #expect(throws: Failure.self) { try await again.commit { _ in throw Failure() } }
        #expect(try await alerts(nyc).isEmpty)
        try await raise(again)
        await #expect { try await raise(again) } throws: { ($0 as? JobError)?.code == .batchOver }
        #expect(try await alerts(nyc) == ["F1 60"])
    }

    @Test func theLaterOfTwoWithOneNameTakesOver() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        var earlier = nyc.consumer("alerts", of: late(nyc)).batches.makeAsyncIterator()
        let batch = try #require(try await earlier.next())
        #expect(try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise) == 1)
        await #expect { try await raise(batch) } throws: { ($0 as? JobError)?.code == .superseded }
        #expect(try await alerts(nyc) == ["F1 60"])
    }

    @Test func aNameBelongsToOneQuery() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise)
        let other = nyc.consumer("alerts", of: nyc.objects(Flight.self))
        await #expect {
            try await other.runOnce(raise)
        } throws: {
            "\($0)".contains("the consumer 'alerts' is of the query 'Flight WHERE delay >= 60', not of 'Flight'")
        }
        try await nyc.jobs.removeConsumer("alerts")
        try await nyc.putFlight("F1", delay: 1)
        #expect(try await other.runOnce(raise) == 1)
        await #expect(throws: JobError.self) { try await nyc.consumer("a/b", of: late(nyc)).runOnce(raise) }
    }

    @Test func aConsumerKeepsItsNameWhenAPropertyOfItsQueryIsRenamed() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        #expect(try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise) == 1)
        let lateness = Property("lateness", .scalar(.int), was: ["delay"])
        let flight = try ClassSchema(
            "Flight", primaryKey: "id", properties: [Property("id", .scalar(.string)), lateness])
        try await nyc.declare([flight])
        let renamed = try nyc.records("Flight WHERE lateness >= 60")
        let count = try await nyc.consumer("alerts", of: renamed).runOnce { try await $0.commit() }
        // All results come once more.
        #expect(count == 1)
        #expect(try await nyc.jobs.consumers().first?.query == "Flight WHERE lateness >= 60")
    }

    @Test func anObjectThatAlwaysFailsIsFoundAndParkedAndTheOthersAreHandledOnce() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.write { for number in 10...59 { try $0.upsert(Flight(id: "F\(number)", delay: 60)) } }
        let handled = Guarded<[String: Int]>([:])
        var options = Consumer<Flight>.Options()
        options.attempts = 2
        options.backoff = .exponential(.zero, max: .zero)
        try await nyc.consumer("alerts", of: late(nyc), options: options).runOnce { batch in
            guard !batch.upserts.contains(where: { $0.value.id == "F33" }) else { throw Failure() }
            try await raise(batch)
            handled.withLock { for item in batch.upserts { $0[item.value.id, default: 0] += 1 } }
        }
        #expect(handled.withLock { $0.count } == 49)
        #expect(handled.withLock { $0.values.allSatisfy { $0 == 1 } })
        let letters = try await nyc.jobs.deadLetters(ofConsumer: "alerts")
        #expect(letters.map(\.object) == [Flight(id: "F33").identity])
        #expect(letters.first?.error == "Failure()" && letters.first?.attemptCount == 2)
        try await nyc.jobs.discardDeadLetter(Flight(id: "F33").identity, ofConsumer: "alerts")
        #expect(try await nyc.jobs.deadLetters(ofConsumer: "alerts").isEmpty)
    }

    @Test func aConsumerThatStopsAtPoisonThrowsWhatItsBodyThrew() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        var options = Consumer<Flight>.Options()
        (options.attempts, options.onPoison) = (1, .stop)
        let consumer = nyc.consumer("alerts", of: late(nyc), options: options)
        await #expect(throws: Failure.self) { try await consumer.run { _ in throw Failure() } }
        await #expect { try await consumer.run { _ in } } throws: { ($0 as? JobError)?.code == .notCommitted }
        #expect(try await nyc.jobs.deadLetters(ofConsumer: "alerts").isEmpty)
        #expect(try await consumer.runOnce(raise) == 1)
    }

    @Test func runningEndsWhenTheTaskIsCancelledAndWhenTheServerStops() async throws {
        let nyc = try await server.database(models: models)
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let consumer = nyc.consumer("alerts", of: late(nyc))
        let task = Task {
            try await consumer.run { batch in
                try await raise(batch)
                continuation.yield()
            }
        }
        try await nyc.putFlight("F1", delay: 60)
        var iterator = stream.makeAsyncIterator()
        await iterator.next()
        task.cancel()
        try await task.value
        let other = Task { try await consumer.run(raise) }
        await server.stop()
        await #expect(throws: ServerError.self) { try await other.value }
    }

    @Test func anObjectThatChangesBackIsGivenWithItsLastState() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        #expect(try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise) == 1)
        // It leaves and comes back, and another comes and leaves while nobody looks.
        for delay in [5, 61] { try await nyc.putFlight("F1", delay: delay) }
        for delay in [70, 7] { try await nyc.putFlight("F2", delay: delay) }
        try await nyc.consumer("alerts", of: late(nyc)).runOnce(raise)
        #expect(try await alerts(nyc) == ["F1 61"])
    }
}
