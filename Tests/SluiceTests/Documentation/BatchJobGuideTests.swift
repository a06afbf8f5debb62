import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// What docs/batch-jobs.md shows, run.
    @Suite(.timeLimit(.minutes(10))) struct BatchJobGuideTests {
        @Model struct Level {
            @PrimaryKey var item: String
            var isLow = false
        }

        @Model struct Order {
            @PrimaryKey var number: Int
            var isShipped = false
        }

        private final class Shipper: Sendable {
            let shipped = Mutex<[String]>([])

            func ship(_ number: Int, idempotencyKey: String) async throws {
                shipped.withLock { $0.append(idempotencyKey) }
            }
        }

        @Test func aJobReadsAllResultsWithoutKeepingThem() async throws {
            let server = try TestServer()
            let source = try await server.open([Item.self])
            try await source.upload((0..<2_200).map { Item(name: "item \(10_000 + $0)", stock: 2) })
            let store = try await server.open([Item.self])
            var stock = 0
            for try await item in try store.objects(Item.self).rows() { stock += item.stock }
            #expect(stock == 4_400)
            #expect(try store.objects(Item.self).count() == 0)
        }

        /// What the guide shows progress with.
        private final class Bar {
            private(set) var lines: [String] = []
            func show(_ line: String) { lines.append(line) }
        }

        @Test func `a job shows how many results it has read of all that the server counts`() async throws {
            let server = try TestServer()
            let source = try await server.open([Item.self])
            try await source.upload((0..<120).map { Item(name: "item \(1_000 + $0)", stock: 2) })
            let store = try await server.open([Item.self])
            let bar = Bar()
            var stock = 0
            let rows = try store.objects(Item.self).rows()
            let total = try await rows.count()
            var done = 0
            for try await item in rows {
                stock += item.stock
                done += 1
                bar.show("\(done) of \(total)")
            }
            #expect(stock == 240 && bar.lines.count == 120 && bar.lines.last == "120 of 120")
            // It is the number of results that come, which a limit bounds, and nothing comes into the store for it.
            #expect(try await store.objects(Item.self).filter("name > 'item 1099'").rows().count() == 20)
            #expect(try await store.objects(Item.self).sorted(by: \.name).limit(7).rows().count() == 7)
            #expect(try store.objects(Item.self).count() == 0)
            await #expect(throws: QueryError.self) {
                _ = try await store.records("Item AGGREGATE(@count)").rows().count()
            }
        }

        @Test func aJobHandlesWhatHasChangedSinceItsLastRun() async throws {
            let server = try TestServer()
            let source = try await server.open([Item.self, Level.self])
            try await source.upload((0..<30).map { Item(name: "item \($0)", stock: $0) })
            let store = try await server.open([Item.self, Level.self])
            func run() async throws -> Int {
                let consumer = store.consumer("stock", of: store.objects(Item.self))
                let count = try await consumer.runOnce { batch in
                    try await batch.commit { transaction in
                        for item in batch.upserts {
                            try transaction.upsert(Level(item: item.value.name, isLow: item.value.stock < 5))
                        }
                        for gone in batch.removals { try transaction.delete(Level.self, key: gone.key) }
                    }
                }
                return count
            }
            #expect(try await run() == 30)
            #expect(try await run() == 0)
            try await source.upload([Item(name: "item 9", stock: 1)])
            #expect(try await run() == 1)
            #expect(try await source.objects(Level.self).where { $0.isLow }.synced().count == 6)
        }

        @Test func aJobKeepsHowFarItCameElsewhere() async throws {
            let server = try TestServer()
            let source = try await server.open([Item.self])
            try await source.upload((0..<30).map { Item(name: "item \($0)", stock: $0) })
            let store = try await server.open([Item.self])
            var checkpoint: Checkpoint?
            func count() async throws -> Int {
                var total = 0
                for try await batch in try store.objects(Item.self).changes(since: checkpoint) {
                    total += batch.upserts.count
                    checkpoint = batch.checkpoint
                }
                return total
            }
            #expect(try await count() == 30)
            checkpoint = try checkpoint.map { try Checkpoint(bytes: $0.bytes) }
            #expect(try await count() == 0)
            try await source.upload([Item(name: "item 9", stock: 1)])
            #expect(try await count() == 1)
            #expect {
                try Checkpoint(bytes: [1, 2, 3])
            } throws: { ($0 as? JobError)?.code == .invalidCheckpoint }
            #expect {
                try Checkpoint(bytes: [9])
            } throws: { ($0 as? JobError)?.code == .newerFormat }
        }

        @Test func aJobWorksAtRows() async throws {
            let server = try TestServer()
            let source = try await server.open([Order.self])
            try await source.write { for number in 0..<20 { try $0.insert(Order(number: number)) } }
            try await source.uploaded()
            let store = try await server.open([Order.self])
            let shipper = Shipper()
            let orders = store.queue(
                "orders", of: store.objects(Order.self).where { !$0.isShipped }.sorted(by: \.number))
            let count = try await orders.runOnce(workers: 4) { order, claim in
                try await shipper.ship(order.number, idempotencyKey: claim.id)
                return { transaction in
                    var shipped = order
                    shipped.isShipped = true
                    try transaction.upsert(shipped)
                }
            }
            #expect(count == 20)
            #expect(shipper.shipped.withLock { Set($0).count } == 20)
            #expect(try await source.objects(Order.self).where { !$0.isShipped }.synced().isEmpty)
        }
    }
#endif
