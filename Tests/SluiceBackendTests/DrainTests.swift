import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer

/// A server that is taken away under many stores which write.
@Suite(.timeLimit(.minutes(10))) struct DrainTests {
    private static let storeCount = 200

    private final class Log: Sendable {
        private let lines = Mutex<[LogLine]>([])

        var sink: LogSink { LogSink(level: .info) { [self] line in lines.withLock { $0.append(line) } } }

        /// How many sessions have ended for a reason.
        func endCount(_ reason: String) -> Int {
            lines.withLock { lines in
                lines.count { line in
                    line.message == "a session ended" && line.metadata.contains { $0 == ("reason", reason) }
                }
            }
        }
    }

    /// How many writes of each store were acknowledged.
    private final class Acknowledged: Sendable {
        private let counts = Mutex([Int](repeating: 0, count: storeCount))

        var all: [Int] { counts.withLock { $0 } }

        func note(_ number: Int) { counts.withLock { $0[number] += 1 } }
    }

    private let network = LoopbackNetwork()
    private let root = NSTemporaryDirectory() + "sluice-drain-" + UUID().uuidString

    private func serve(_ host: String, _ journals: MemoryJournals, log: LogSink? = nil) throws -> SyncServer {
        var configuration = ServerConfiguration(dataFolder: root + "/" + host, host: host, isDevelopment: true)
        configuration.loopback = network
        configuration.journals = journals.another()
        configuration.log = log
        let server = try SyncServer(configuration)
        try server.start()
        return server
    }

    private func open() async throws -> Store {
        var sync = SyncConfiguration(url: "ws://old/nyc")
        sync.loopback = network
        sync.sharesConnection = false
        return try await Store.open(StoreConfiguration(models: models, sync: sync))
    }

    /// Adds one to the delay of the store's own flight, and waits until that is acknowledged.
    private func add(_ number: Int, in store: Store) async throws {
        try await store.write { transaction in
            let flight = Flight(id: "F\(number)")
            if try transaction.object(Flight.self, key: flight.id) == nil { try transaction.insert(flight) }
            try transaction.increment(flight, \.delay, by: 1)
        }
        try await store.uploaded(timeout: waitMax)
    }

    @Test func `each store is told where to go, and each acknowledged write is there once`() async throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let (journals, log) = (try MemoryJournals(), Log())
        let (old, new) = (try serve("old", journals, log: log.sink), try serve("new", journals))
        let acknowledged = Acknowledged()
        var stores: [Store] = []
        for _ in 0..<Self.storeCount { stores.append(try await open()) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for _ in 0..<3 {
                        try await add(number, in: store)
                        acknowledged.note(number)
                    }
                }
            }
            group.addTask {
                // In the middle of it.
                try await wait(for: "a part of the writes") { acknowledged.all.reduce(0, +) > Self.storeCount }
                old.drain()
                #expect(!old.health.isReady && old.health.phase == .draining)
                try old.handOver(to: "ws://new")
            }
            try await group.waitForAll()
        }
        #expect(acknowledged.all.allSatisfy { $0 == 3 })
        try await wait(for: "the end of the connections") { old.connectionCount == 0 }
        #expect(new.connectionCount == Self.storeCount)
        #expect(log.endCount("it was handed over to another server") == Self.storeCount)
        await old.stop()
        let flights = try await new.database("nyc", models: models).objects(Flight.self).fetch()
        #expect(flights.count == Self.storeCount && flights.allSatisfy { $0.delay == 3 })
        for store in stores { await store.close() }
        await new.stop()
    }
}
