import Sluice
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceTesting
import TestSupport
import Testing

/// Rows of one partition are worked at one after the other, by however many processes.
struct PartitionTests {
    private var options: WorkQueue<Flight>.Options {
        var options = WorkQueue<Flight>.Options()
        options.partition = { $0.gate ?? "" }
        return options
    }

    private static let query: JobQuery = { try Query.parse("Flight WHERE delay > 0 SORT(id ASC)", schema: $0) }

    private static func end(_ flight: Flight) -> WorkQueue<Flight>.Completion {
        { transaction in try transaction.update(Flight(id: flight.id)) { $0.delay = 0 } }
    }

    @Test func twoProcessesThatLookAtOnceDoNotHaveTwoRowsOfOnePartition() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        try await nyc.write { try $0.upsert(Flight(id: "F1", delay: 1, gate: "A")) }
        let hasLooked = AsyncStream<Void>.makeStream()
        let goOn = AsyncStream<Void>.makeStream()
        let isFirst = Guarded(true)
        // It has looked when nobody held the partition, and claims its row when another one is being worked at.
        let late = InterceptedHost(base: nyc.host) { use in
            guard case .hasReadRows = use,
                isFirst.withLock({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            else { return }
            hasLooked.continuation.yield()
            for await _ in goOn.stream { break }
        }
        let busy = Guarded(0)
        let order = Guarded<[String]>([])
        let second = Task {
            try await WorkQueue<Flight>(late, "gates", options, of: Self.query).runOnce { flight, _ in
                #expect(busy.withLock { $0 } == 0)
                order.withLock { $0.append(flight.id) }
                return Self.end(flight)
            }
        }
        for await _ in hasLooked.stream { break }
        try await nyc.write { try $0.upsert(Flight(id: "F0", delay: 1, gate: "A")) }
        let done = try await WorkQueue<Flight>(nyc.host, "gates", options, of: Self.query).runOnce { flight, _ in
            busy.withLock { $0 += 1 }
            order.withLock { $0.append(flight.id) }
            if flight.id == "F0" {
                goOn.continuation.yield()
                // The other one ends without a row.
                let count = try await second.value
                #expect(count == 0)
            }
            busy.withLock { $0 -= 1 }
            return Self.end(flight)
        }
        #expect(done == 2 && order.withLock { $0 } == ["F0", "F1"])
        #expect(try await nyc.host.spaces(withPrefix: "queue").isEmpty)
    }

    @Test func aPartitionWhoseHolderHasDiedIsFreeWhenItsLeaseHasEnded() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        try await nyc.write { try $0.upsert(Flight(id: "F0", delay: 1, gate: "A")) }
        let begun = AsyncStream<Void>.makeStream()
        let held = Task {
            try await nyc.queue("gates", of: nyc.objects(Flight.self).where { $0.delay > 0 }, options: options).runOnce
            {
                flight, _ in
                begun.continuation.yield()
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return Self.end(flight)
            }
        }
        for await _ in begun.stream { break }
        // The process dies with its server.
        try await server.restart()
        held.cancel()
        let again = try await server.database(models: models)
        let queue = again.queue("gates", of: again.objects(Flight.self).where { $0.delay > 0 }, options: options)
        #expect(try await queue.runOnce { flight, _ in Self.end(flight) } == 0)
        try await server.advance(by: .seconds(31))
        #expect(try await queue.runOnce { flight, _ in Self.end(flight) } == 1)
        #expect(try await again.host.spaces(withPrefix: "queue").isEmpty)
    }

    @Model("Flight") struct NarrowFlight {
        @PrimaryKey var id: String
        var delay: Int8 = 0
        var gate: String?
    }

    @Test func aRowThatCannotBeReadAsItsTypeIsDeadAndTheOthersAreDone() async throws {
        let server = try TestServer()
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await nyc.write { transaction in
            for (id, delay) in [("F0", 1), ("F1", 1_000), ("F2", 2)] {
                try transaction.upsert(Flight(id: id, delay: delay, gate: "A"))
            }
        }
        var options = WorkQueue<NarrowFlight>.Options()
        (options.attempts, options.partition) = (1, { $0.gate ?? "" })
        let queue = nyc.queue(
            "narrow", of: nyc.objects(NarrowFlight.self).filter("delay > 0 SORT(id ASC)"), options: options)
        let done = try await queue.runOnce { flight, _ in
            { transaction in try transaction.update(Flight(id: flight.id)) { $0.delay = 0 } }
        }
        #expect(done == 2)
        #expect(try await queue.dead().map(\.object) == [Flight(id: "F1").identity])
    }
}
