import Foundation
import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// Consumers and queues beside a store: the same as in the server's process, over a connection that may break.
struct StoreJobTests {
    private struct Failure: Error {}

    private let server: TestServer

    init() throws { server = try TestServer() }

    private func late(_ store: Store) -> Results<Flight> { store.objects(Flight.self).where { $0.delay >= 60 } }

    @Sendable private func raise(_ batch: ConsumerBatch<Flight>) async throws {
        try await batch.commit { transaction in
            if batch.isReset { try transaction.delete(all: transaction.objects(Alert.self)) }
            for item in batch.upserts {
                try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
            }
            for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
        }
    }

    private func alerts(_ database: ServerDatabase) async throws -> [String] {
        try await database.objects(Alert.self).sorted(by: \.flight).fetch().map { "\($0.flight) \($0.delay)" }
    }

    // MARK: Consumers

    @Test func allResultsComeAndThenChangesAndNoneOfThemStaysInTheStore() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...5 { try await nyc.putFlight("F\(number)", delay: 40 + 10 * number) }
        let store = try await server.open(models)
        var options = Consumer<Flight>.Options()
        options.limit = 3
        #expect(try await store.consumer("alerts", of: late(store), options: options).runOnce(raise) == 4)
        #expect(try await alerts(nyc) == ["F2 60", "F3 70", "F4 80", "F5 90"])
        try await nyc.putFlight("F2", delay: 5)
        try await nyc.putFlight("F1", delay: 65)
        try await nyc.write { try $0.delete(Flight.self, key: "F3") }
        #expect(try await store.consumer("alerts", of: late(store), options: options).runOnce(raise) == 3)
        #expect(try await alerts(nyc) == ["F1 65", "F4 80", "F5 90"])
        #expect(try store.objects(Flight.self).fetch().isEmpty)
        let status = try #require(try await store.jobs.consumers().first)
        #expect(status.name == "alerts" && status.handledCount == 7)
        #expect(try await nyc.jobs.consumers() == store.jobs.consumers())
    }

    @Test func `jobs end when their store has given up its server`() async throws {
        let nyc = try await server.database(models: models)
        let store = try await server.open(models) { $0.sync?.attemptCountMax = 1 }
        let (consumer, queue) = (store.consumer("alerts", of: late(store)), store.queue("late", of: late(store)))
        let jobs = [
            Task { try await consumer.run { try await raise($0) } },
            Task { try await queue.run { _, _ in { _ in } } },
        ]
        while try await nyc.jobs.consumers().isEmpty { await Task.yield() }
        while try await nyc.jobs.queues().isEmpty { await Task.yield() }
        await server.stop()
        for job in jobs {
            await #expect {
                try await job.value
            } throws: { error in
                let error = error as? SyncError
                return error?.code == .stopped && error?.message.contains("attempts to connect have failed") == true
            }
        }
    }

    @Test func aConsumerMovesBetweenAStoreAndTheServersProcess() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...3 { try await nyc.putFlight("F\(number)", delay: 60) }
        let store = try await server.open(models)
        var earlier = store.consumer("alerts", of: late(store)).batches.makeAsyncIterator()
        let batch = try #require(try await earlier.next())
        let own = nyc.consumer("alerts", of: nyc.objects(Flight.self).where { $0.delay >= 60 })
        #expect(try await own.runOnce(raise) == 3)
        await #expect { try await raise(batch) } throws: { ($0 as? JobError)?.code == .superseded }
        // What the store had written is as the server has it.
        try await nyc.putFlight("F2", delay: 70)
        #expect(try await store.consumer("alerts", of: late(store)).runOnce(raise) == 1)
        #expect(try await alerts(nyc) == ["F1 60", "F2 70", "F3 60"])
        await #expect { try await own.runOnce(raise) } throws: { ($0 as? JobError)?.code == .superseded }
    }

    /// The alert of the first store was still there with the first delay, and another process had changed it.
    @Test func whatTheStoreHasAlreadyIsWrittenAllTheSame() async throws {
        let nyc = try await server.database(models: models)
        let (first, second) = (try await server.open(models), try await server.open(models))
        for (store, delay) in [(first, 60), (second, 70), (first, 60), (second, 80), (first, 60)] {
            try await nyc.putFlight("F1", delay: delay)
            #expect(try await store.consumer("alerts", of: late(store)).runOnce(raise) == 1)
            #expect(try await alerts(nyc) == ["F1 \(delay)"])
        }
    }

    @Test func whatWasCommittedBeforeTheProcessEndedCountsOnce() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...4 { try await nyc.putFlight("F\(number)", delay: 60) }
        let path = NSTemporaryDirectory() + "sluice-jobs-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try await server.open(models, path: path)
        var batches = store.consumer("alerts", of: late(store)).batches.makeAsyncIterator()
        let batch = try #require(try await batches.next())
        server.cut(store)
        let commit = Task { try await raise(batch) }
        // It is in the store's file, and not on the server, when the process ends.
        while try store.objects(Alert.self).fetch().count < 4 { await Task.yield() }
        await store.close()
        await #expect(throws: (any Error).self) { try await commit.value }
        #expect(try await alerts(nyc).isEmpty)

        let again = try await server.open(models, path: path)
        #expect(try await again.consumer("alerts", of: late(again)).runOnce(raise) == 0)
        #expect(try await alerts(nyc) == ["F1 60", "F2 60", "F3 60", "F4 60"])
    }

    @Test func aConsumerFollowsThroughLostConnections() async throws {
        let nyc = try await server.database(models: models)
        let store = try await server.open(models)
        let count = Guarded(0)
        let handled = AsyncStream<Int>.makeStream()
        let consumer = store.consumer("alerts", of: late(store))
        let running = Task {
            try await consumer.run { batch in
                try await raise(batch)
                handled.continuation.yield(
                    count.withLock { count in
                        count += batch.count
                        return count
                    })
            }
        }
        var arrivals = handled.stream.makeAsyncIterator()
        for number in 1...6 {
            if number % 2 == 0 { server.cut(store) }
            try await nyc.putFlight("F\(number)", delay: 60)
            if number % 2 == 0 {
                server.restore(store)
                try await server.advance(by: .seconds(90))
            }
            while let count = await arrivals.next(), count < number {}
        }
        running.cancel()
        try await running.value
        #expect(try await alerts(nyc) == (1...6).map { "F\($0) 60" })
    }

    // MARK: Queues

    private func waiting(_ store: Store) -> Results<Flight> {
        store.objects(Flight.self).where { $0.gate == nil }.sorted(by: \.delay)
    }

    @Sendable private static func gate(
        _ flight: Flight, _ claim: WorkQueue<Flight>.Claim
    ) -> WorkQueue<Flight>.Completion {
        { transaction in
            try transaction.upsert(Flight(id: flight.id, delay: flight.delay, gate: "A"))
            try transaction.insert(Note(text: claim.id))
        }
    }

    @Test func workersOfSeveralStoresNeverHaveOneRowAtATime() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.write { for number in 0..<40 { try $0.upsert(Flight(id: "F\(number)", delay: number)) } }
        let held = Guarded<Set<String>>([])
        let stores = try await [server.open(models), server.open(models)]
        let queues =
            stores.map { $0.queue("gates", of: waiting($0)) }
            + [nyc.queue("gates", of: nyc.objects(Flight.self).where { $0.gate == nil }.sorted(by: \.delay))]
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for queue in queues {
                group.addTask {
                    try await queue.runOnce(workers: 3) { flight, claim in
                        #expect(held.withLock { $0.insert(flight.id).inserted }, "\(flight.id) is held twice")
                        await Task.yield()
                        _ = held.withLock { $0.remove(flight.id) }
                        return Self.gate(flight, claim)
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(count == 40)
        let notes = try await nyc.objects(Note.self).fetch().map(\.text)
        #expect(notes.count == 40 && Set(notes).count == 40)
        #expect(try await nyc.jobs.queues().allSatisfy { $0.claimCount == 0 })
    }

    @Test func `of a queue that has run is told how many rows wait`() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...5 { try await nyc.putFlight("F\(number)", delay: number) }
        let store = try await server.open(models)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = store.queue("gates", of: waiting(store), options: options)
        #expect(try await store.jobs.queues().isEmpty)
        // F1 is at work, F2 has failed for good.
        let (started, go) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let running = Task {
            try await queue.run { flight, claim in
                if flight.id == "F2" { throw JobError(.notCommitted, "no gate") }
                guard flight.id == "F3" else { return Self.gate(flight, claim) }
                started.continuation.finish()
                for await _ in go.stream {}
                return Self.gate(flight, claim)
            }
        }
        for await _ in started.stream {}
        let status = try #require(try await nyc.jobs.queues().first)
        #expect((status.claimCount, status.deadCount, status.waitingCount) == (1, 1, 2))
        #expect(status.query == "Flight WHERE gate == NULL SORT(delay ASC)")
        #expect(try await store.jobs.queues() == [status])
        go.continuation.finish()
        // A row that is at work waits no more, and would be let go.
        while try await nyc.objects(Flight.self).where({ $0.gate == nil }).count() != 1 { await Task.yield() }
        running.cancel()
        try await running.value
        // A discarded row is dead, and listed no more.
        #expect(try await store.jobs.discardDeadRow(Flight(id: "F2").identity, ofQueue: "gates"))
        #expect(try await nyc.jobs.queues().first?.waitingCount == 0)
        try await store.jobs.removeQueue("gates")
        #expect(try await nyc.jobs.queues().isEmpty)
        #expect(try await queue.runOnce { Self.gate($0, $1) } == 1)
    }

    @Test func aRowThatStillMatchesIsRefusedByTheServer() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 1)
        let store = try await server.open(models)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = store.queue("gates", of: waiting(store), options: options)
        let count = try await queue.runOnce { _, claim in
            { transaction in try transaction.insert(Note(text: claim.id)) }
        }
        #expect(count == 0)
        #expect(try await queue.dead().first?.error.contains("still matches") == true)
        #expect(try await nyc.objects(Note.self).count() == 0)
        #expect(try await store.jobs.queues().first?.deadCount == 1)
        try await queue.retry(Flight(id: "F1").identity)
        #expect(try await queue.runOnce { Self.gate($0, $1) } == 1)
    }

    @Test func aLeaseEndsByTheServersClock() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 1)
        let (first, second) = (try await server.open(models), try await server.open(models))
        let begun = AsyncStream<Void>.makeStream()
        let goOn = AsyncStream<Void>.makeStream()
        let work = Task {
            try await first.queue("gates", of: waiting(first)).runOnce { flight, claim in
                begun.continuation.yield()
                for await _ in goOn.stream { break }
                return Self.gate(flight, claim)
            }
        }
        for await _ in begun.stream { break }
        server.cut(first)
        #expect(try await second.queue("gates", of: waiting(second)).runOnce { Self.gate($0, $1) } == 0)
        try await server.advance(by: .seconds(31))
        #expect(try await second.queue("gates", of: waiting(second)).runOnce { Self.gate($0, $1) } == 1)
        goOn.continuation.yield()
        server.restore(first)
        try await server.advance(by: .seconds(90))
        #expect(try await work.value == 0)
        #expect(try await nyc.objects(Note.self).count() == 1)
    }

    // MARK: Rows

    @Test(arguments: ["TRUEPREDICATE", "delay >= 20 SORT(delay DESC)", "TRUEPREDICATE SORT(id ASC) LIMIT(7)"])
    func rowsAreThoseOfTheServer(query: String) async throws {
        let nyc = try await server.database(models: models)
        for number in 0..<20 { try await nyc.putFlight("F\(number)", delay: number * 7 % 50) }
        let store = try await server.open(models)
        let results = store.objects(Flight.self).filter(QueryText(query))
        var rows: [String] = []
        for try await flight in try results.rows(page: 3) { rows.append(flight.id) }
        let found = try await nyc.objects(Flight.self).filter(QueryText(query)).fetch().map(\.id)
        #expect(query.contains("SORT") ? rows == found : rows.sorted() == found.sorted())
        #expect(try store.objects(Flight.self).fetch().isEmpty)
    }

    @Test func changesSinceACheckpointAreThoseOfTheServer() async throws {
        let nyc = try await server.database(models: models)
        for number in 0..<10 { try await nyc.putFlight("F\(number)", delay: 60) }
        let store = try await server.open(models)
        var checkpoint: Checkpoint?
        var count = 0
        for try await batch in try late(store).changes(since: nil, limit: 4) {
            count += batch.upserts.count
            checkpoint = batch.checkpoint
        }
        #expect(count == 10)
        try await nyc.putFlight("F3", delay: 1)
        try await nyc.putFlight("F4", delay: 99)
        var seen: [String] = []
        var first: [String] = []
        for try await batch in try late(store).changes(since: checkpoint) {
            first += batch.upserts.map(\.id)
            seen += batch.upserts.map { "+\($0.value.id)" } + batch.removals.map { "-\($0.key)" }
            #expect(!batch.isReset)
        }
        #expect(seen.sorted() == ["+F4", "-F3"])
        #expect(first.count == 1 && first.allSatisfy { $0.hasPrefix("Flight/F4/") }, "\(first)")
        await #expect {
            for try await _ in try store.objects(Flight.self).changes(since: checkpoint) {}
        } throws: { ($0 as? JobError)?.code == .foreignCheckpoint && "\($0)".contains("another query") }
    }

    // MARK: Rules

    private static let rules = """
        {"classes": {
            "Flight": {"read": "gate == $user.id", "create": true, "update": true,
                "fields": {"carrier": {"read": false}}},
            "Alert": {"read": true, "create": true, "update": true, "delete": true},
            "Note": {"read": true, "create": true}, "Carrier": {"read": true}},
         "database": {"jobs": "$user.id == 'anna'"}}
        """

    @Test func rulesSayWhoRunsJobsAndWhatTheyRead() async throws {
        let server = try TestServer(rules: Self.rules)
        let nyc = try await server.database(models: models)
        try await nyc.write { transaction in
            for number in 0..<10 {
                try transaction.upsert(
                    Flight(
                        id: "F\(number)", delay: 60, gate: number % 2 == 0 ? "anna" : "bob", carrier: Link(key: "AA")))
            }
        }
        let bob = try await server.open(models, user: "bob")
        await #expect {
            try await bob.consumer("alerts", of: late(bob)).runOnce(raise)
        } throws: { ($0 as? SyncError)?.code == .notPermitted && "\($0)".contains("'jobs'") }
        #expect(try await bob.databasePrivileges().contains(.jobs) == false)
        // Reading in parts is reading.
        var rows: [String] = []
        for try await flight in try bob.objects(Flight.self).rows() { rows.append(flight.id) }
        #expect(rows == ["F1", "F3", "F5", "F7", "F9"])

        let anna = try await server.open(models, user: "anna")
        let carriers = Guarded<[String?]>([])
        let count = try await anna.consumer("alerts", of: late(anna)).runOnce { batch in
            carriers.withLock { carriers in
                for item in batch.upserts { carriers.append(item.value.carrier?.key?.description) }
            }
            try await raise(batch)
        }
        #expect(count == 5)
        #expect(carriers.withLock { $0 } == [nil, nil, nil, nil, nil])
        // One that leaves what she may read is gone for her.
        try await nyc.write { try $0.update(Flight(id: "F0")) { $0.gate = "bob" } }
        #expect(try await anna.consumer("alerts", of: late(anna)).runOnce(raise) == 1)
        #expect(try await alerts(nyc) == ["F2 60", "F4 60", "F6 60", "F8 60"])
        await #expect(throws: (any Error).self) {
            try await anna.consumer("carriers", of: anna.objects(Flight.self).filter("carrier.name == 'x'"))
                .runOnce(raise)
        }
    }

    @Test func aConsumerOfAUserReadsAndWritesAsTheUserMay() async throws {
        let server = try TestServer(rules: Self.rules)
        let nyc = try await server.database(models: models)
        for number in 0..<6 {
            try await nyc.write {
                try $0.upsert(Flight(id: "F\(number)", delay: 60, gate: number < 2 ? "anna" : "bob"))
            }
        }
        let all = nyc.objects(Flight.self)
        let ids = Guarded<[String]>([])
        let count = try await nyc.consumer("anna's", of: all, as: "anna").runOnce { batch in
            ids.withLock { ids in for item in batch.upserts { ids.append(item.value.id) } }
            try await raise(batch)
        }
        #expect(count == 2 && ids.withLock { $0 } == ["F0", "F1"])
        let queue = nyc.queue("bob's", of: all.where { $0.delay == 60 }, as: "bob")
        let done = try await queue.runOnce { flight, _ in
            { transaction in try transaction.update(Flight(id: flight.id)) { $0.delay = 1 } }
        }
        #expect(done == 4)
        #expect(try await nyc.objects(Flight.self).where { $0.delay == 60 }.count() == 2)
        // What she may not write is refused, and the batch comes again.
        var options = Consumer<Flight>.Options()
        options.onPoison = .stop
        options.attempts = 1
        options.limit = 1
        await #expect {
            try await nyc.consumer("more", of: all, as: "anna", options: options).runOnce { batch in
                try await batch.commit { try $0.insert(Carrier(code: "XX")) }
            }
        } throws: { ($0 as? ServerError)?.code == .rejected }
    }
}
