import Foundation
import SluiceBackend
import SluiceServer
import SluiceTesting
import TestSupport
import Testing

/// What consumers derive equals what the queries find, whatever is written between, and wherever the consumers are
/// killed.
struct ConsumerOracleTests {
    private struct Killed: Error {}

    /// A world of flights in which consumers are killed.
    private final class World: @unchecked Sendable {
        // Sound because one task at a time uses it.
        let server: TestServer
        var nyc: ServerDatabase
        var generator: SeededGenerator
        let query: String
        let sizes: ChunkSizes
        /// The states that were committed, to find one that comes twice.
        let committed = Guarded<Set<String>>([])

        init(seed: Int, query: String) async throws {
            generator = SeededGenerator(seed: UInt64(seed))
            server = try TestServer()
            nyc = try await server.database(models: models)
            self.query = query
            var sizes = ChunkSizes()
            sizes.rowCountMax = Int.random(in: 1...12, using: &generator)
            sizes.objectCountMax = Int.random(in: 1...8, using: &generator)
            // In some, changes behind the place of the first reading are given very often.
            if seed % 4 == 1 { (sizes.stretchCountMax, sizes.stretchByteCountMax) = (2, 40) }
            self.sizes = sizes
        }

        func write() async throws {
            let steps = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                (
                    id: "F\(Int.random(in: 0..<24, using: &generator))",
                    kind: Int.random(in: 0..<10, using: &generator),
                    delay: 10 * Int.random(in: 0..<12, using: &generator),
                    text: ["A", "B", "C"].randomElement(using: &generator)!
                )
            }
            let now = server.clock.now
            try await nyc.write { transaction in
                for step in steps {
                    // Some are over, and some are to come.
                    let due = step.delay == 50 ? nil : now.addingTimeInterval(Double(step.delay - 40) * 10)
                    switch step.kind {
                    case 0...3:
                        try transaction.upsert(Flight(id: step.id, delay: step.delay, gate: step.text, due: due))
                    case 4 where try transaction.object(Flight.self, key: step.id) != nil:
                        try transaction.update(Flight(id: step.id)) { $0.gate = step.text }
                    case 5 where try transaction.object(Flight.self, key: step.id) != nil:
                        try transaction.update(Flight(id: step.id)) { $0.carrier = Link(key: step.text) }
                    case 6: try transaction.upsert(Carrier(code: step.text, name: "\(step.delay % 20)"))
                    case 7: try transaction.delete(Flight.self, key: step.id)
                    case 8: try transaction.delete(Carrier.self, key: step.text)
                    default: try transaction.upsert(Note(text: step.text))
                    }
                }
            }
        }

        /// Lets a consumer work until it is killed or nothing is left.
        func consume(chance: Double) async throws {
            var options = Consumer<Flight>.Options()
            options.limit = Int.random(in: 1...10, using: &generator)
            options.sizes = sizes
            let results = nyc.objects(Flight.self).filter(QueryText(query))
            let random = Guarded(generator)
            generator = SeededGenerator(seed: UInt64.random(in: 0 ... .max, using: &generator))
            let committed = committed
            @Sendable func killed() -> Bool { random.withLock { Double.random(in: 0..<1, using: &$0) < chance } }
            options.onPoison = .stop
            options.attempts = 1
            let consumer = nyc.consumer("derived", of: results, options: options)
            // The whole task ends, as a process does that is killed.
            let work = Task {
                try await consumer.runOnce { [self] batch in
                    // The log reaches back, and no history is undone.
                    #expect(!batch.isReset)
                    if killed() { throw Self.killed() }
                    try await batch.commit { transaction in
                        if batch.isReset {
                            try transaction.delete(all: transaction.objects(Alert.self))
                        }
                        for item in batch.upserts {
                            try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
                        }
                        for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
                    }
                    committed.withLock { committed in
                        if batch.isReset { committed = [] }
                        for item in batch.upserts {
                            #expect(committed.insert(item.id).inserted || !givesEachOnce, "\(item.id) came twice")
                        }
                    }
                    if killed() { throw Self.killed() }
                    if chance > 0, killed() { try await write() }
                }
            }
            do { _ = try await work.value } catch is CancellationError {}
        }

        private static func killed() -> Killed {
            withUnsafeCurrentTask { $0?.cancel() }
            return Killed()
        }

        /// Whether no state may come twice.
        var givesEachOnce: Bool {
            !query.contains("carrier") && !query.contains("LIMIT") && !query.contains("$now")
                && !query.contains("AFTER") && !query.contains("BEFORE")
        }

        func check(_ label: String) async throws {
            try await consume(chance: 0)
            let derived = try await nyc.objects(Alert.self).fetch().map { "\($0.flight) \($0.delay)" }.sorted()
            let found = try await nyc.objects(Flight.self).filter(QueryText(query)).fetch()
                .map { "\($0.id) \($0.delay)" }.sorted()
            #expect(derived == found, "\(label)")
        }
    }

    private static let queries = [
        "delay >= 60", "delay >= 60 AND gate == 'A'", "TRUEPREDICATE", "carrier.name == '10'",
        "delay >= 20 SORT(delay DESC) LIMIT(6)", "gate == 'B' OR carrier.name BEGINSWITH '1'", "due <= $now",
        "due > $now - 5m AND (due <= $now OR gate == 'A')", "due <= $now SORT(due DESC) LIMIT(6)",
        "delay >= 20 SORT(delay DESC) AFTER(80, 'F12')", "SORT(delay ASC) AFTER(30, 'F2') BEFORE(90, 'F2')",
        "AFTER('F12')", "gate != 'C' SORT(delay ASC) AFTER(20, 'F1') LIMIT(5)",
        "carrier.name == '10' SORT(delay ASC) BEFORE(70, 'F2')",
    ]

    @Test(arguments: 0..<70) func whatIsDerivedEqualsWhatIsFound(seed: Int) async throws {
        let query = Self.queries[seed % Self.queries.count]
        let world = try await World(seed: seed, query: query)
        for _ in 0..<30 { try await world.write() }
        for round in 0..<14 {
            try await world.consume(chance: 0.3)
            for _ in 0..<Int.random(in: 0...8, using: &world.generator) { try await world.write() }
            if query.contains("$now"), Int.random(in: 0..<2, using: &world.generator) == 0 {
                let seconds = Int.random(in: 1...400, using: &world.generator)
                try await world.server.advance(by: .seconds(seconds))
            }
            // Most restarts are between two commits of one chunk.
            if Int.random(in: 0..<3, using: &world.generator) == 0 {
                try await world.server.restart()
                world.nyc = try await world.server.database(models: models)
            }
            if round % 4 == 3 { try await world.check("seed \(seed), round \(round): \(query)") }
        }
        try await world.check("seed \(seed): \(query)")
    }
}
