import Sluice
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// In which order the rows of a queue are tried that were never tried, and those that come again.
struct QueueOrderTests {
    private struct Failure: Error {}

    /// What has failed is due again at once.
    private static let options: WorkQueue<Flight>.Options = {
        var options = WorkQueue<Flight>.Options()
        options.backoff = .exponential(.zero, max: .zero)
        return options
    }()

    @Test(arguments: [false, true])
    func `a row that fails and is due again keeps none from being tried, and has its turn`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61, 62, 63, 64, 65])
        let tried = Guarded<[String]>([])
        let done = try await desk.queue(Self.options).runOnce { flight, _ in
            tried.withLock { $0.append(flight.id) }
            if flight.id == "F0" { throw Failure() }
            return JobDesk.gate(flight)
        }
        #expect(done == 5)
        let order = tried.withLock { $0 }
        #expect(order.prefix(8) == ["F0", "F1", "F2", "F0", "F3", "F4", "F5", "F0"], "\(order)")
        #expect(order.dropFirst(8).allSatisfy { $0 == "F0" } && order.count == 5 + Self.options.attempts, "\(order)")
    }

    @Test func `new rows behind many that come again are found, and not looked for by each claim`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: Array(repeating: 60, count: 300))
        // Each is put off until the next run.
        let first = try await desk.queue(Self.options).runOnce(workers: 8) { _, _ in throw JobError.tryAgain("later") }
        #expect(first == 0)
        let new = (0..<5).map { "G\($0)" }
        for id in new { try await desk.nyc.putFlight(id, delay: 60) }
        let (tried, readCount) = (Guarded<[String]>([]), Guarded(0))
        let host = InterceptedHost(base: desk.host) { use in
            if case .hasReadRows(let rows) = use { readCount.withLock { $0 += rows.rows.count } }
        }
        let queue = WorkQueue<Flight>(host, "job", Self.options) {
            try Query.parse("Flight WHERE gate == NULL", schema: $0)
        }
        let done = try await queue.runOnce { flight, _ in
            tried.withLock { $0.append(flight.id) }
            return JobDesk.gate(flight)
        }
        let order = tried.withLock { $0 }
        #expect(done == 305 && Set(order).count == 305)
        #expect(order.filter { $0.hasPrefix("G") } == new)
        #expect(new.allSatisfy { order.prefix(6).contains($0) }, "\(order.prefix(10))")
        // About as many rows for each claim as it looks at anyway.
        #expect(readCount.withLock { $0 } <= 2 * 64 * order.count + 6 * 305)
    }

    @Test(arguments: [false, true])
    func `rows at which a run that is cancelled has not worked are as if it had never had them`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61, 62, 63])
        let begun = AsyncStream<Void>.makeStream()
        let running = Task {
            try await desk.queue().work(1, batch: 2, untilDone: false) { rows in
                #expect(rows.count == 2)
                begun.continuation.yield()
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            }
        }
        for await _ in begun.stream { break }
        running.cancel()
        _ = try await running.value
        #expect(try await desk.nyc.host.records(ofSpace: QueueClaim.space("job")).isEmpty)
        let tried = Guarded<[String]>([])
        let done = try await desk.queue().runOnce { flight, claim in
            #expect(claim.attempt == 1)
            tried.withLock { $0.append(flight.id) }
            return JobDesk.gate(flight)
        }
        #expect(done == 4 && tried.withLock { $0 } == ["F0", "F1", "F2", "F3"])
    }
}
