import SluiceBackend
import SluiceModel
import SluiceServer
import Testing

/// What operators see of the objects that jobs have given up.
struct DeadLetterCountTests {
    private struct Failure: Error {}

    private func count(_ server: SyncServer) async throws -> Double? {
        let name = "sluice_server_dead_letters "
        let line = await server.metricsText().split(separator: "\n").first { $0.hasPrefix(name) }
        return Double(try #require(line).dropFirst(name.count))
    }

    @Test func objectsThatJobsGaveUpAreCountedUntilTheyAreSettled() async throws {
        let server = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        try server.start()
        let nyc = try await server.database("nyc", models: models)
        try await nyc.write { for number in 1...3 { try $0.upsert(Flight(id: "F\(number)", delay: 60)) } }
        #expect(try await count(server) == 0)

        let consumer = nyc.consumer("alerts", of: nyc.objects(Flight.self), options: JobDesk.quick(1))
        _ = try await consumer.runOnce { _ in throw Failure() }
        #expect(try await count(server) == 3)

        var options = WorkQueue<Flight>.Options()
        (options.attempts, options.backoff) = (1, .exponential(.zero, max: .zero))
        let queue = nyc.queue("late", of: nyc.objects(Flight.self).where { $0.delay >= 60 }, options: options)
        _ = try await queue.runOnce { flight, _ in
            guard flight.id != "F1" else { throw Failure() }
            return { try $0.update(flight) { $0.delay = 0 } }
        }
        #expect(try await count(server) == 4)

        let first = Flight(id: "F1").identity
        try await queue.discard(first)
        #expect(try await count(server) == 3)
        try await nyc.jobs.discardDeadLetter(first, ofConsumer: "alerts")
        #expect(try await count(server) == 2)
        await server.stop()
    }
}
