import Foundation
import SluiceBackend
import SluiceServer
import SluiceTesting
import TestSupport
import Testing

/// What consumers over a store derive equals what their queries find, wherever the programs are killed, connections break
/// and servers start again.
struct StoreConsumerOracleTests {
    /// A world of flights in which programs with a store are killed.
    private final class World: @unchecked Sendable {
        // Sound because one task at a time uses it.
        let server: TestServer
        var nyc: ServerDatabase
        var generator: SeededGenerator
        let query: String
        private let folder: String
        private var store: Store?

        init(seed: Int, query: String) async throws {
            generator = SeededGenerator(seed: UInt64(seed))
            server = try TestServer()
            nyc = try await server.database(models: models)
            self.query = query
            folder = NSTemporaryDirectory() + "sluice-oracle-" + UUID().uuidString
        }

        func end() async {
            await store?.close()
            try? FileManager.default.removeItem(atPath: folder)
        }

        private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

        func write() async throws {
            let steps = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                (
                    id: "F\(Int.random(in: 0..<16, using: &generator))",
                    isDeletion: Int.random(in: 0..<5, using: &generator) == 0,
                    delay: 10 * Int.random(in: 0..<12, using: &generator)
                )
            }
            try await nyc.write { transaction in
                for step in steps {
                    if step.isDeletion {
                        try transaction.delete(Flight.self, key: step.id)
                    } else {
                        try transaction.upsert(Flight(id: step.id, delay: step.delay))
                    }
                }
            }
        }

        private func opened() async throws -> Store {
            if let store { return store }
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let opened = try await server.open(models, path: folder + "/store")
            store = opened
            return opened
        }

        /// Lets a program work until it is killed or nothing is left.
        ///
        /// - Parameter isKilled: whether it may be killed: at once after a commit was stored, while it is on its way, or
        ///   before.
        func consume(isKilled: Bool) async throws {
            let store = try await opened()
            var options = Consumer<Flight>.Options()
            options.limit = Int.random(in: 1...6, using: &generator)
            options.onPoison = .stop
            options.attempts = 1
            let consumer = store.consumer(
                "derived", of: store.objects(Flight.self).filter(QueryText(query)), options: options)
            let left = Guarded(isKilled ? Int.random(in: 0...4, using: &generator) : .max)
            let cutsBeforeCommit = chance(50)
            // Whether the program is done, or is where it is to be killed.
            let isOver = Guarded(false)
            let work = Task {
                defer { isOver.withLock { $0 = true } }
                try await consumer.runOnce { [server] batch in
                    #expect(!batch.isReset)
                    if batch.isReset { _ = try await store.objects(Alert.self).synced() }
                    let isLast = left.withLock { left in
                        left -= 1
                        return left < 0
                    }
                    if isLast {
                        // The transaction is stored, and the server does not get it before the program is killed; or the
                        // program is killed before it stores it.
                        if cutsBeforeCommit { server.cut(store) }
                        isOver.withLock { $0 = true }
                        if !cutsBeforeCommit { for await _ in AsyncStream<Void>.makeStream().stream {} }
                        try Task.checkCancellation()
                    }
                    try await batch.commit { transaction in
                        if batch.isReset { try transaction.delete(all: transaction.objects(Alert.self)) }
                        for item in batch.upserts {
                            try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
                        }
                        for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
                    }
                }
            }
            guard isKilled else {
                _ = try await work.value
                return try await store.uploaded()
            }
            while !isOver.withLock({ $0 }) { await Task.yield() }
            for _ in 0..<Int.random(in: 0...200, using: &generator) { await Task.yield() }
            work.cancel()
            await store.close()
            self.store = nil
            _ = await work.result
            if chance(30) { try? FileManager.default.removeItem(atPath: folder) }
        }

        func check(_ label: String) async throws {
            try await consume(isKilled: false)
            let derived = try await nyc.objects(Alert.self).fetch().map { "\($0.flight) \($0.delay)" }.sorted()
            let found = try await nyc.objects(Flight.self).filter(QueryText(query)).fetch()
                .map { "\($0.id) \($0.delay)" }.sorted()
            #expect(derived == found, "\(label)")
        }

        func restart() async throws {
            try await server.restart()
            nyc = try await server.database(models: models)
        }
    }

    private static let queries = [
        "delay >= 60", "TRUEPREDICATE", "delay >= 20 SORT(delay DESC) LIMIT(6)",
        "SORT(delay DESC) AFTER(80, 'F12') LIMIT(6)",
    ]

    @Test(arguments: 0..<24) func whatIsDerivedEqualsWhatIsFound(seed: Int) async throws {
        let query = Self.queries[seed % Self.queries.count]
        let world = try await World(seed: seed, query: query)
        for _ in 0..<20 { try await world.write() }
        for round in 0..<10 {
            try await world.consume(isKilled: true)
            for _ in 0..<Int.random(in: 0...6, using: &world.generator) { try await world.write() }
            if Int.random(in: 0..<3, using: &world.generator) == 0 { try await world.restart() }
            if round % 4 == 3 { try await world.check("seed \(seed), round \(round): \(query)") }
        }
        try await world.check("seed \(seed): \(query)")
        await world.end()
    }
}
