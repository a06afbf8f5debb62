import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceTesting
import TestSupport
import Testing

/// Jobs whose query names one object, whose class is known only where the object is.
struct JobObjectTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

    private func host(_ isOverStore: Bool) async throws -> (host: any JobHost, nyc: ServerDatabase) {
        let nyc = try await server.database(models: models)
        return isOverStore ? (try await server.open(models).host, nyc) : (nyc.host, nyc)
    }

    private func query(_ flight: Flight) -> JobQuery {
        let text = "OBJECT(\(flight.identity.objectID))"
        return { try Query.parse(text, schema: $0) }
    }

    @Test(arguments: [false, true]) func aConsumerOfOneObjectIsGivenWhatBecomesOfIt(isOverStore: Bool) async throws {
        let (host, nyc) = try await host(isOverStore)
        let consumer = Consumer<Flight>(host, "one", .init(), of: query(Flight(id: "F1")))
        let given = Guarded<[String]>([])
        func run() async throws -> [String] {
            try await consumer.runOnce { batch in
                given.withLock { given in
                    given += batch.upserts.map { "\($0.value.id) \($0.value.delay)" }
                    given += batch.removals.map { "-\($0.identity.className) \($0.key)" }
                }
                try await batch.commit()
            }
            return given.withLock { given in
                defer { given = [] }
                return given
            }
        }
        #expect(try await run().isEmpty)
        try await nyc.putFlight("F1", delay: 1)
        try await nyc.putFlight("F2", delay: 1)
        #expect(try await run() == ["F1 1"])
        try await nyc.putFlight("F1", delay: 2)
        #expect(try await run() == ["F1 2"])
        try await nyc.write { try $0.delete(Flight.self, key: "F1") }
        #expect(try await run().first?.hasPrefix("-Flight") == true)
        let rows = AsyncRows<Flight>(host, page: 1, of: query(Flight(id: "F2")))
        var ids: [String] = []
        for try await row in rows { ids.append(row.id) }
        #expect(ids == ["F2"])
    }

    @Test(arguments: [false, true]) func aQueueOfOneObjectEndsWhenTheObjectIsGone(isOverStore: Bool) async throws {
        let (host, nyc) = try await host(isOverStore)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = WorkQueue<Flight>(host, "one", options, of: query(Flight(id: "F1")))
        #expect(try await queue.runOnce { _, _ in { _ in } } == 0)
        try await nyc.putFlight("F1", delay: 1)
        // What is there is a result still.
        #expect(try await queue.runOnce { _, _ in { _ in } } == 0)
        #expect(try await queue.dead().count == 1)
        try await queue.retry(Flight(id: "F1").identity)
        #expect(try await queue.runOnce { _, _ in { try $0.delete(Flight.self, key: "F1") } } == 1)
        #expect(try await nyc.objects(Flight.self).count() == 0)
    }
}
