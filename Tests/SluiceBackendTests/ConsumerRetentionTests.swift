import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

@testable import SluiceBackend
@testable import SluiceServer

/// How long the log is kept for consumers, and what the server says before that ends.
struct ConsumerRetentionTests {
    @Test func `the log is kept for the consumer farthest behind, up to a limit, with one warning at half of it`()
        async throws
    {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let flights = nyc.objects(Flight.self)
        for (round, name) in ["early", "late"].enumerated() {
            for number in 0..<20 { try await nyc.putFlight("F\(number)", delay: round) }
            try await nyc.consumer(name, of: flights).runOnce { try await $0.commit() }
        }
        for number in 0..<20 { try await nyc.putFlight("F\(number)", delay: 90) }
        let log = LogLines()

        /// - Returns: the version after which the log is kept, and what was said, where the limit is so much more than the log.
        func pins(_ factor: Double) async throws -> (first: UInt64?, second: UInt64?, said: [String]) {
            let before = log.messages.count
            let (first, second) = try await nyc.access.jobs { storage, _ in
                var limits = DatabaseLimits()
                limits.consumerLogByteCount = Int(Double(storage.logByteCount) * factor)
                let database = Database(name: "test", storage: storage, limits: limits, log: log.sink)
                let retention = ConsumerRetention(database)
                return (try retention.pin(in: storage, limits), try retention.pin(in: storage, limits))
            }
            return (first, second, Array(log.messages.dropFirst(before)))
        }
        func version(_ name: String) async throws -> UInt64? {
            try await nyc.host.record(ConsumerState.key(name)).flatMap { try ConsumerState($0).checkpoint?.version }
        }
        let early = try #require(try await version("early"))
        let late = try #require(try await version("late"))
        #expect(early < late)

        let ample = try await pins(3)
        #expect(ample.first == early && ample.said.isEmpty)
        // Of each it is said once, however often the log is looked at.
        let half = try await pins(1.5)
        #expect(half.first == early && half.second == early)
        #expect(half.said.count == 2 && half.said.allSatisfy { $0.contains("more than half") }, "\(half.said)")
        let over = try await pins(0.5)
        #expect(over.first == nil && over.second == nil)
        #expect(over.said.count == 2 && over.said.allSatisfy { $0.contains("no longer kept") }, "\(over.said)")

        try await nyc.jobs.removeConsumer("early")
        #expect(try await pins(3).first == late)
        try await nyc.consumer("late", of: flights).runOnce { try await $0.commit() }
        let present = try await nyc.access.jobs { _, version in version }
        #expect(try await pins(3).first == present)
    }
}
