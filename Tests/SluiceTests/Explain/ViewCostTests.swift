import Sluice
import SluiceModel
import SluiceServer
import SluiceTesting
import Synchronization
import Testing

/// What a view has cost, against a load that is known.
@Suite(.timeLimit(.minutes(10))) struct ViewCostTests {
    /// The bytes that a server has sent, from its metrics.
    private final class SentBytes: Sendable {
        let server = Mutex<SyncServer?>(nil)

        func count() async -> Double {
            let text = await server.withLock { $0 }?.metricsText() ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("sluice_server_sent_bytes_total ") }
            return line.flatMap { Double($0.split(separator: " ")[1]) } ?? 0
        }
    }

    private static let schema = Result {
        try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.int)), Property("price", .scalar(.int)), Property("note", .scalar(.data)),
                ])
        ])
    }

    /// Bytes that cannot be compressed.
    private func noise(_ seed: Int) -> Value {
        var generator = SystemRandomNumberGenerator()
        return .data((0..<4_000 + seed % 2).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    @Test func countersOfAKnownLoadAreRight() async throws {
        let sent = SentBytes()
        let server = try TestServer { server in sent.server.withLock { $0 = server } }
        let writer = try await server.open(schema: Self.schema.get())
        let car = try #require(writer.schema.classSchema(named: "Car"))
        for vin in 0..<10 as Range<Int64> {
            try await writer.write {
                try $0.upsert(Record(car, ["vin": .int(vin), "price": .int(vin), "note": noise(Int(vin))]))
            }
        }
        try await writer.uploaded()
        let readers = [
            try await server.open(schema: Self.schema.get()), try await server.open(schema: Self.schema.get()),
        ]
        var recorders: [EventRecorder<Record>] = []
        let atFirst = await sent.count()
        for reader in readers {
            try await reader.connected()
            let recorder = try EventRecorder(reader.records("Car WHERE price < 5"))
            try await recorder.complete()
            recorders.append(recorder)
        }
        func subscription() async throws -> ServerSubscription {
            try #require(try await writer.serverSubscriptions().first)
        }
        let bootstrapped = try await subscription()
        #expect(bootstrapped.subscribers == 2 && bootstrapped.bootstraps == 2 && bootstrapped.sentPages == 2)
        #expect(bootstrapped.found == 0 && bootstrapped.changed == 0)
        let pageBytes = await sent.count() - atFirst
        #expect(Double(bootstrapped.sentBytes) > pageBytes * 0.95 && Double(bootstrapped.sentBytes) < pageBytes)

        // Ten commits change a result, and ten others concern the view without changing it.
        let before = await sent.count()
        for number in 0..<10 {
            for vin in [2, 7] as [Int64] {
                try await writer.write {
                    try $0.upsert(Record(car, ["vin": .int(vin), "price": .int(vin), "note": noise(number)]))
                }
                try await writer.uploaded()
            }
        }
        try await server.settled()
        let after = try await subscription()
        #expect(after.changed == 10)
        #expect((10...20).contains(after.found))
        #expect(after.applyingMicroseconds > 0)
        // Less the acknowledgements for the writer.
        let commitBytes = await sent.count() - before
        let counted = Double(after.sentBytes - bootstrapped.sentBytes)
        #expect(counted > commitBytes * 0.95 && counted < commitBytes, "\(counted) of \(commitBytes)")
    }

    @Test(arguments: ["Car WHERE price < 5 LIMIT(0) TOTAL", "Car GROUP(price) AGGREGATE(@count, @sum.vin)"])
    func `what a query computes counts as sent, at the beginning and with each commit`(text: String) async throws {
        let server = try TestServer()
        let writer = try await server.open(schema: Self.schema.get())
        let car = try #require(writer.schema.classSchema(named: "Car"))
        func write(_ vin: Int64, price: Int64) async throws {
            try await writer.write {
                try $0.upsert(Record(car, ["vin": .int(vin), "price": .int(price), "note": .data([])]))
            }
            try await writer.uploaded()
            try await server.settled()
        }
        func sentBytes() async throws -> UInt64 {
            try #require(try await writer.serverSubscriptions().first { $0.query == text }).sentBytes
        }
        for vin in 0..<100 as Range<Int64> { try await write(vin, price: vin) }
        let reader = try await server.open(schema: Self.schema.get())
        let isGrouped = text.contains("GROUP")
        let results = try reader.records(text)
        let token = try isGrouped ? results.aggregates.observe { _ in } : results.observe { _ in }
        if isGrouped { _ = try await results.aggregates.synced() } else { _ = try await results.synced() }
        try await server.settled()
        let begun = try await sentBytes()
        // A group has its key, its count and its sum.
        #expect(isGrouped ? (400...2_000).contains(begun) : (2...16).contains(begun), "\(begun)")
        try await write(3, price: 70)
        let changed = try await sentBytes()
        #expect(changed > begun && changed - begun < 100, "\(changed) after \(begun)")
        try await write(80, price: 80)
        // Nothing that is computed changes by it.
        #expect(try await sentBytes() == changed)
        token.stop()
    }
}
