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
}
