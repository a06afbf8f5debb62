import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

@testable import SluiceBackend
@testable import SluiceServer

/// How long the log is kept for consumers, and what the server says before that ends.
struct ConsumerRetentionTests {
    @Test func `the log is kept for each consumer up to a limit, with one warning at half of it and one beyond it`()
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
        let half = try await pins(1.1)
        #expect(half.first == early && half.second == early)
        #expect(half.said.count == 1 && half.said.allSatisfy { $0.contains("more than half") }, "\(half.said)")
        // One that is too far behind takes nothing from the others.
        let part = try await nyc.access.jobs { storage, _ in
            Double(try storage.logByteCounts(after: [late])[late] ?? 0) / Double(storage.logByteCount)
        }
        let mixed = try await pins(1.5 * part)
        #expect(mixed.first == late && mixed.second == late)
        #expect(mixed.said.count == 2, "\(mixed.said)")
        #expect(mixed.said.first?.contains("no longer kept") == true)
        #expect(mixed.said.last?.contains("more than half") == true)
        let over = try await pins(0.5 * part)
        #expect(over.first == nil && over.second == nil)
        #expect(over.said.count == 2 && over.said.allSatisfy { $0.contains("no longer kept") }, "\(over.said)")

        try await nyc.jobs.removeConsumer("early")
        #expect(try await pins(3).first == late)
        try await nyc.consumer("late", of: flights).runOnce { try await $0.commit() }
        let present = try await nyc.access.jobs { _, version in version }
        #expect(try await pins(3).first == present)
    }
}
