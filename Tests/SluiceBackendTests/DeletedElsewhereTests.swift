import Sluice
import SluiceBackend
import SluiceTesting
import Synchronization
import Testing

/// What a job beside a store derives that the store has, and another process has deleted.
struct DeletedElsewhereTests {
    private let server: TestServer
    private let lines: LineLog

    init() throws {
        let lines = LineLog()
        self.lines = lines
        server = try TestServer(log: LogSink(level: .debug) { line in lines.values.withLock { $0.append("\(line)") } })
    }

    private final class LineLog: Sendable {
        let values = Mutex<[String]>([])
    }

    @Sendable private func raise(_ batch: ConsumerBatch<Flight>) async throws {
        try await batch.commit { transaction in
            for item in batch.upserts {
                try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
            }
            for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
        }
    }

    private func run(on store: Store) async throws {
        let late = store.objects(Flight.self).where { $0.delay >= 60 }
        #expect(try await store.consumer("alerts", of: late).runOnce(raise) == 1)
    }

    @Test func `what another process has deleted, a job makes anew`() async throws {
        let nyc = try await server.database(models: models)
        let (first, second) = (try await server.open(models), try await server.open(models))
        for (store, delay) in [(first, 60), (second, 5), (first, 60), (second, 5), (first, 70)] {
            try await nyc.putFlight("F1", delay: delay)
            try await run(on: store)
            let alerts = try await nyc.objects(Alert.self).fetch().map(\.delay)
            #expect(alerts == (delay < 60 ? [] : [delay]))
        }
    }

    @Test func `what is there, a job changes, and no other object with its key is created`() async throws {
        let nyc = try await server.database(models: models)
        let store = try await server.open(models)
        for delay in 60...64 {
            try await nyc.putFlight("F1", delay: delay)
            try await run(on: store)
        }
        #expect(try await nyc.objects(Alert.self).fetch().map(\.delay) == [64])
        #expect(lines.values.withLock { $0.filter { $0.contains("whose keys other objects had") } } == [])
    }
}
