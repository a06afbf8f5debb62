import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

/// Jobs that run while their user gains or loses rights otherwise than by a commit, which nothing else would wake.
struct JobRightsTests {
    private struct Failure: Error {}

    private static func rules(_ read: String) -> String {
        """
        {"database": {"jobs": true, "rules": "$user.id == 'root'"}, "classes": {
            "Flight": {"read": "\(read)", "update": true, "updateAfter": true},
            "Alert": {"read": true, "create": true, "update": true, "updateAfter": true, "delete": true}}}
        """
    }

    private let server: TestServer

    init() throws { server = try TestServer(rules: Self.rules("gate == $user.id")) }

    private func deploy(_ read: String) async throws {
        let root = try await server.open(models, user: "root")
        try await root.connected()
        _ = try await root.core.deploy(rules: Array(Self.rules(read).utf8), isTrial: false, timeout: nil)
        await root.close()
    }

    private func flights() async throws -> ServerDatabase {
        let nyc = try await server.database(models: models)
        try await nyc.write { transaction in
            for (id, gate) in [("F1", "ada"), ("F2", "bob"), ("F3", "ada")] {
                try transaction.upsert(Flight(id: id, delay: 60, gate: gate))
            }
        }
        return nyc
    }

    /// Ada's job, in the server's process or over a store.
    private func consumer(
        _ nyc: ServerDatabase, isOverStore: Bool, options: Consumer<Flight>.Options = .init()
    ) async throws -> Consumer<Flight> {
        guard isOverStore else {
            return nyc.consumer("ada's", of: nyc.objects(Flight.self), as: "ada", options: options)
        }
        let store = try await server.open(models, user: "ada")
        return store.consumer("ada's", of: store.objects(Flight.self), options: options)
    }

    @Test(arguments: [false, true]) func aConsumerIsGivenWhatOtherRulesShow(isOverStore: Bool) async throws {
        let nyc = try await flights()
        let consumer = try await consumer(nyc, isOverStore: isOverStore)
        let given = AsyncStream<[String]>.makeStream()
        let running = Task {
            try await consumer.run { batch in
                try await batch.commit()
                given.continuation.yield((batch.isReset ? ["anew"] : []) + batch.upserts.map(\.value.id))
            }
        }
        var batches = given.stream.makeAsyncIterator()
        #expect(await batches.next() == ["F1", "F3"])
        try await deploy("TRUEPREDICATE")
        #expect(await batches.next() == ["anew", "F1", "F2", "F3"])
        try await deploy("gate == 'bob'")
        #expect(await batches.next() == ["anew", "F2"])
        try await deploy("FALSEPREDICATE")
        #expect(await batches.next() == ["anew"])
        running.cancel()
        try await running.value
    }

    /// - Parameter isOfReset: whether it is every batch that begins anew which fails, and not the first object.
    @Test(arguments: [false, true], [false, true])
    func whereTheFirstBatchOfAResetFailsForEverTheConsumerIsToldOfTheResetAllTheSameAndGoesOn(
        isOverStore: Bool, isOfReset: Bool
    ) async throws {
        let nyc = try await flights()
        var options = Consumer<Flight>.Options()
        (options.attempts, options.backoff) = (2, .exponential(.zero, max: .zero))
        let consumer = try await consumer(nyc, isOverStore: isOverStore, options: options)
        #expect(try await consumer.runOnce { try await $0.commit() } == 2)
        try await deploy("TRUEPREDICATE")
        let (handled, emptyCount) = (Guarded<[String]>([]), Guarded(0))
        try await consumer.runOnce { batch in
            if batch.isReset, batch.count == 0 { emptyCount.withLock { $0 += 1 } }
            if isOfReset ? batch.isReset : batch.upserts.contains(where: { $0.value.id == "F1" }) { throw Failure() }
            try await batch.commit()
            handled.withLock { $0 += (batch.isReset ? ["anew"] : []) + batch.upserts.map(\.value.id) }
        }
        #expect(handled.withLock { $0 } == (isOfReset ? ["F1", "F2", "F3"] : ["anew", "F2", "F3"]))
        #expect(emptyCount.withLock { $0 } == (isOfReset ? 2 : 1))
        let dead = try await nyc.jobs.deadLetters(ofConsumer: "ada's").map(\.object.key)
        #expect(dead == (isOfReset ? [] : [.string("F1")]))
    }

    @Test(arguments: [false, true])
    func `a consumer that begins anew forgets what it gave up and is no result any more`(
        isOverStore: Bool
    ) async throws {
        let nyc = try await flights()
        var options = Consumer<Flight>.Options()
        (options.attempts, options.backoff) = (1, .exponential(.zero, max: .zero))
        let consumer = try await consumer(nyc, isOverStore: isOverStore, options: options)
        @Sendable func handle(_ batch: ConsumerBatch<Flight>) async throws {
            if batch.upserts.contains(where: { $0.value.id != "F2" }) { throw Failure() }
            try await batch.commit()
        }
        func dead() async throws -> [ObjectKey] {
            try await nyc.jobs.deadLetters(ofConsumer: "ada's").map(\.object.key)
        }
        try await consumer.runOnce { try await handle($0) }
        #expect(try await dead() == [.string("F1"), .string("F3")])
        // Nobody is told that the first is hidden: all results follow.
        try await deploy("id != 'F1'")
        try await consumer.runOnce { try await handle($0) }
        #expect(try await dead() == [.string("F3")])
    }

    @Test(arguments: [false, true]) func aQueueWorksAtWhatOtherRulesShow(isOverStore: Bool) async throws {
        let nyc = try await flights()
        let queue: WorkQueue<Flight>
        if isOverStore {
            let store = try await server.open(models, user: "ada")
            queue = store.queue("ada's", of: store.objects(Flight.self).where { $0.delay == 60 })
        } else {
            queue = nyc.queue("ada's", of: nyc.objects(Flight.self).where { $0.delay == 60 }, as: "ada")
        }
        let worked = AsyncStream<String>.makeStream()
        let running = Task {
            try await queue.run { flight, _ in
                worked.continuation.yield(flight.id)
                return { transaction in
                    var flight = flight
                    flight.delay = 1
                    try transaction.upsert(flight)
                }
            }
        }
        var rows = worked.stream.makeAsyncIterator()
        #expect(await [rows.next(), rows.next()].compactMap(\.self).sorted() == ["F1", "F3"])
        try await deploy("gate == 'bob'")
        #expect(await rows.next() == "F2")
        running.cancel()
        try await running.value
    }

    /// What a job has written to a row that its user has lost meanwhile has no effect. The server has taken the
    /// transaction all the same, so the job is not told that it failed, and does not do its work again.
    @Test(arguments: [false, true]) func aRowThatIsLostBeforeTheServerTakesTheWriteIsDone(isQueue: Bool) async throws {
        let nyc = try await flights()
        let store = try await server.open(models, user: "ada")
        let own = store.objects(Flight.self)
        let observation = try own.observe { _ in }
        #expect(try await own.synced().count == 2)
        let calls = Guarded(0)
        let lose = { @Sendable [server] in
            calls.withLock { $0 += 1 }
            server.cut(store)
            try await nyc.write { try $0.update(Flight(id: "F1")) { $0.gate = "bob" } }
        }
        let change = { @Sendable [server] (transaction: borrowing WriteTransaction) in
            var flight = Flight(id: "F1", delay: 60, gate: "ada")
            flight.delay = 61
            try transaction.upsert(flight)
            server.restore(store)
        }
        let first = own.where { $0.delay == 60 && $0.id == "F1" }
        if isQueue {
            let queue = store.queue("ada's", of: first)
            #expect(
                try await queue.runOnce { _, _ in
                    try await lose()
                    return change
                } == 1)
            #expect(try await queue.dead().isEmpty)
            #expect(try await store.jobs.queues().allSatisfy { $0.claimCount == 0 && $0.deadCount == 0 })
        } else {
            let consumer = store.consumer("ada's", of: first)
            try await consumer.runOnce { batch in
                guard !batch.upserts.isEmpty else { return try await batch.commit() }
                try await lose()
                try await batch.commit(change)
            }
            #expect(try await store.jobs.deadLetters(ofConsumer: "ada's").isEmpty)
        }
        #expect(calls.withLock { $0 } == 1)
        let flight = try #require(try await nyc.object(Flight.self, key: "F1"))
        #expect(flight.delay == 60 && flight.gate == "bob")
        withExtendedLifetime(observation) {}
    }
}
