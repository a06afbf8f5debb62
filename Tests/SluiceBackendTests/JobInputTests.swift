import FoundationEssentials
import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

/// What a job is told that is asked for something impossible: what is wrong, and what would be right, wherever it runs.
struct JobInputTests {
    private struct Failure: Error {}

    private static let rules = """
        {"database": {"jobs": "$user.id != 'eve'"}, "classes": {
            "Flight": {"read": "gate == $user.id", "update": true, "updateAfter": true,
                "fields": {"due": {"read": false}}},
            "Carrier": {"read": true, "delete": true},
            "Alert": {"read": true, "create": true, "update": true, "updateAfter": true, "delete": true}}}
        """

    /// Where a job runs.
    enum Place: CaseIterable, Sendable { case process, store }

    /// Ada's jobs in the server's process, or over her store.
    private struct Desk {
        let nyc: ServerDatabase
        let store: Store?

        func consumer(
            _ name: String = "job", of query: QueryText, options: Consumer<Flight>.Options = .init()
        ) -> Consumer<Flight> {
            guard let store else {
                return nyc.consumer(name, of: nyc.objects(Flight.self).filter(query), as: "ada", options: options)
            }
            return store.consumer(name, of: store.objects(Flight.self).filter(query), options: options)
        }

        func queue(
            _ name: String = "job", of query: QueryText, options: WorkQueue<Flight>.Options = .init()
        ) -> WorkQueue<Flight> {
            guard let store else {
                return nyc.queue(name, of: nyc.objects(Flight.self).filter(query), as: "ada", options: options)
            }
            return store.queue(name, of: store.objects(Flight.self).filter(query), options: options)
        }

        /// Commits everything that the consumer is given.
        @discardableResult
        func consume(
            _ name: String = "job", of query: QueryText, options: Consumer<Flight>.Options = .init()
        ) async throws -> Int {
            try await consumer(name, of: query, options: options).runOnce { batch in try await batch.commit() }
        }

        /// Works at rows without changing them.
        @discardableResult
        func work(
            _ name: String = "job", of query: QueryText, options: WorkQueue<Flight>.Options = .init(), workers: Int = 1
        ) async throws -> Int {
            try await queue(name, of: query, options: options).runOnce(workers: workers) { _, _ in { _ in } }
        }

        func changes(since checkpoint: Checkpoint?) throws -> Batches<Flight> {
            guard let store else { return nyc.objects(Flight.self).changes(since: checkpoint) }
            return try store.objects(Flight.self).changes(since: checkpoint)
        }
    }

    private func desk(_ place: Place, _ server: TestServer, user: String = "ada") async throws -> Desk {
        let nyc = try await server.database(models: models)
        try await nyc.write { transaction in
            for number in 1...4 { try transaction.upsert(Flight(id: "F\(number)", delay: 60, gate: "ada")) }
        }
        return Desk(nyc: nyc, store: place == .store ? try await server.open(models, user: user) : nil)
    }

    /// The error that something throws, in words.
    private func error(_ body: () async throws -> Void) async -> String {
        do { try await body() } catch { return "\(error)" }
        return "nothing was thrown"
    }

    @Test(arguments: Place.allCases) func aNameThatIsTakenOrCannotBeOneIsRefusedWithWhatWouldBeRight(
        place: Place
    ) async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(place, server)
        try await desk.consume(of: "delay >= 60")
        let taken = await error { try await desk.consume(of: "delay >= 50") }
        #expect(
            taken.contains("'job'") && taken.contains("delay >= 60") && taken.contains("remove the consumer first"),
            "\(taken)")
        for name in ["", "a/b", "a\nb", String(repeating: "x", count: 201)] {
            let ofConsumer = await error { try await desk.consume(name, of: "delay >= 60") }
            #expect(ofConsumer.contains("cannot be the name of a consumer: use 1 to 200 bytes"), "\(ofConsumer)")
            let ofQueue = await error { try await desk.work(name, of: "delay >= 60") }
            #expect(ofQueue.contains("cannot be the name of a queue"), "\(ofQueue)")
        }
    }

    @Test(arguments: Place.allCases) func aQueryThatTheRulesRefuseOrThatNamesNothingEndsTheJobWithTheReason(
        place: Place
    ) async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(place, server)
        for (query, reason) in [("due != NULL", "due"), ("color == 1", "color"), ("delay >=", "expected")] {
            let query = QueryText(query)
            let ofConsumer = await error { try await desk.consume(of: query) }
            #expect(ofConsumer.contains(reason), "\(ofConsumer)")
            let ofQueue = await error { try await desk.work(of: query) }
            #expect(ofQueue.contains(reason), "\(ofQueue)")
        }
    }

    @Test func aUserWithoutTheRightToRunJobsIsToldSo() async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(.store, server, user: "eve")
        for text in [
            await error { try await desk.consume(of: "delay >= 60") },
            await error { try await desk.work(of: "delay >= 60") },
        ] { #expect(text.contains("right 'jobs'"), "\(text)") }
    }

    @Test func aStoreWithoutAServerSaysThatJobsNeedOne() async throws {
        let store = try await Store.open(StoreConfiguration(models: models))
        let flights = store.objects(Flight.self)
        for text in [
            await error { try await store.consumer("job", of: flights).runOnce { batch in try await batch.commit() } },
            await error { try await store.queue("job", of: flights).runOnce { _, _ in { _ in } } },
            await error { for try await _ in try flights.rows() {} },
        ] { #expect(text.contains("server"), "\(text)") }
        await store.close()
    }

    @Test(arguments: Place.allCases) func aCheckpointOfAnotherDatabaseAndBytesThatAreNoneAreRefused(
        place: Place
    ) async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(place, server)
        var foreign: Checkpoint?
        let other = try await server.database("other", models: models)
        try await other.write { try $0.upsert(Flight(id: "X1", delay: 1)) }
        for try await batch in other.objects(Flight.self).changes(since: nil) { foreign = batch.checkpoint }
        #expect(foreign != nil)
        let refused = await error { for try await _ in try desk.changes(since: foreign) {} }
        #expect(refused.contains("another database") && refused.contains("nil to begin"), "\(refused)")
        let text = await error { _ = try Checkpoint(bytes: [1, 2, 3]) }
        #expect(text.contains("checkpoint"), "\(text)")
    }

    @Test(arguments: Place.allCases) func aJobThatThrowsForEverGoesOnForTheRest(place: Place) async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(place, server)
        var options = Consumer<Flight>.Options()
        (options.attempts, options.backoff) = (2, .exponential(.zero, max: .zero))
        for (number, error) in [Failure() as any Error, CancellationError()].enumerated() {
            let handled = Guarded<[String]>([])
            try await desk.consumer("job \(number)", of: "delay >= 60", options: options).runOnce { batch in
                if batch.upserts.contains(where: { $0.value.id == "F2" }) { throw error }
                try await batch.commit()
                handled.withLock { $0 += batch.upserts.map(\.value.id) }
            }
            #expect(handled.withLock { $0 } == ["F1", "F3", "F4"], "\(error)")
            #expect(
                try await desk.nyc.jobs.deadLetters(ofConsumer: "job \(number)").map(\.object.key) == [.string("F2")])
            var queueOptions = WorkQueue<Flight>.Options()
            (queueOptions.attempts, queueOptions.backoff) = (2, .exponential(.zero, max: .zero))
            let query = QueryText("delay == \(60 + number)")
            let queue = desk.queue("job \(number)", of: query, options: queueOptions)
            let done = try await queue.runOnce { flight, _ in
                if flight.id == "F2" { throw error }
                return { transaction in
                    var flight = flight
                    flight.delay = 61 + number
                    try transaction.upsert(flight)
                }
            }
            #expect(done == 3)
            #expect(try await queue.dead().map(\.object.key) == [.string("F2")])
            try await desk.nyc.write { try $0.update(Flight(id: "F2")) { $0.delay = 61 + number } }
        }
    }

    /// So many dead rows come first, or rows for later, that one answer has not room for them.
    @Test(arguments: Place.allCases, [true, false]) func whatStandsBehindManyRowsThatNobodyMayHaveIsDone(
        place: Place, areDead: Bool
    ) async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(place, server)
        let text = String(repeating: "x", count: 30_000)
        try await desk.nyc.write { transaction in
            for number in 100..<180 { try transaction.upsert(Carrier(code: "\(number)", name: text)) }
        }
        var options = WorkQueue<Carrier>.Options()
        options.attempts = 1
        if !areDead { options.notBefore = { $0.code == "179" ? nil : .distantFuture } }
        let queue: WorkQueue<Carrier>
        if let store = desk.store {
            queue = store.queue("big", of: store.objects(Carrier.self).sorted(by: \.code), options: options)
        } else {
            queue = desk.nyc.queue("big", of: desk.nyc.objects(Carrier.self).sorted(by: \.code), options: options)
        }
        let done = try await queue.runOnce(workers: 3) { carrier, _ in
            if carrier.code != "179" { throw Failure() }
            return { try $0.delete(Carrier.self, key: carrier.code) }
        }
        #expect(done == 1)
        #expect(try await queue.dead().count == (areDead ? 79 : 0))
    }

    @Test(arguments: Place.allCases) func optionsThatMakeNoSenseDoTheLeast(place: Place) async throws {
        let server = try TestServer(rules: Self.rules)
        let desk = try await desk(place, server)
        var options = Consumer<Flight>.Options()
        (options.limit, options.attempts) = (-1, 0)
        #expect(try await desk.consume(of: "delay >= 60", options: options) == 4)
        var queueOptions = WorkQueue<Flight>.Options()
        (queueOptions.lease, queueOptions.attempts) = (.seconds(-1), 0)
        queueOptions.backoff = .exponential(.seconds(-1), max: .seconds(-1))
        // A row that is finished and still matches has failed.
        #expect(try await desk.work(of: "delay >= 60", options: queueOptions, workers: 0) == 0)
        #expect(try await desk.nyc.jobs.deadRows(ofQueue: "job").count == 4)
    }
}
