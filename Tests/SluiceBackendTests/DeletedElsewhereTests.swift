import SluiceBackend
import SluiceTesting
import Testing

/// What a job beside a store derives that the store has, and another process has deleted.
struct DeletedElsewhereTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

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
}
