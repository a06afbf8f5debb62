import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Whether a total or a figure is what the server would say: `isTotalExact` and `isExact`.
    @Suite(.timeLimit(.minutes(10))) struct ExactFigureTests {
        private static func cheap(_ store: Store) -> Results<Vehicle> {
            store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin).limit(2).withTotal()
        }

        @Test func `a total that nobody observes is not exact, since a confirmed write is missing in it`() async throws
        {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload(vins: "b", "d", "f")
            #expect(try Self.cheap(store).snapshot().total == nil && !Self.cheap(store).snapshot().isTotalExact)
            let token = try Self.cheap(store).observe { _ in }
            _ = try await Self.cheap(store).synced()
            #expect(try Self.cheap(store).snapshot().total == 3 && Self.cheap(store).snapshot().isTotalExact)
            token.stop(purgeLocal: false)
            try await store.upload(vins: "h")
            #expect(try !Self.cheap(store).snapshot().isTotalExact)
            let recorder = try EventRecorder(Self.cheap(store))
            #expect(try await recorder.event { $0.isInitial }.isTotalExact == false)
            #expect(try await recorder.event { $0.isTotalExact }.total == 4)
            #expect(try Self.cheap(store).snapshot().isTotalExact)
        }

        @Test func `a query without a limit is exact once it is complete`() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload(vins: "b", "d")
            let all = store.objects(Vehicle.self).where { $0.price < 10 }.withTotal()
            let recorder = try EventRecorder(all)
            #expect(try await recorder.event { $0.isInitial }.isTotalExact == false)
            #expect(try await recorder.event { $0.isTotalExact && $0.total == 2 }.state == .complete)
            // All that match are here, so that what is written without a connection is counted rightly.
            server.cut(store)
            try await store.write { try $0.upsert(Vehicle(vin: "x", price: 1, plate: "P")) }
            #expect(try await recorder.event { $0.total == 3 }.isTotalExact)
            #expect(try all.snapshot().isTotalExact)
            #expect(try !store.objects(Vehicle.self).snapshot().isTotalExact)
        }

        @Test func `a store alone is exact, and what is cached is not`() async throws {
            let alone = try await Store.open(StoreConfiguration(models: lifecycleModels))
            #expect(try Self.cheap(alone).snapshot().isTotalExact)
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload(vins: "b")
            let cached = try EventRecorder(Self.cheap(store).cached())
            #expect(try await cached.event { $0.total == 1 }.isTotalExact == false)
            var figures = store.objects(Vehicle.self).aggregate { $0.count }.cached().changes.makeAsyncIterator()
            #expect(try #require(try await figures.next()).isExact == false)
        }

        /// Only the server has the row that this store writes: nobody here knows that it is no new one.
        @Test func `what may be on the server makes no exact figure, and one that only this store can have made does`()
            async throws
        {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "b", "d", "f", "x")
            try await writer.upload([Memo(text: "a"), Memo(text: "b"), Memo(text: "c")])
            let memos = store.objects(Memo.self).sorted(by: \.text).limit(1).withTotal()
            let counts = store.objects(Vehicle.self).aggregate { $0.count }
            let memoCounts = store.objects(Memo.self).aggregate { $0.count }
            let recorder = try EventRecorder(Self.cheap(store))
            let tokens = [
                try memos.observe { _ in }, try counts.observe { _ in }, try memoCounts.observe { _ in },
            ]
            _ = try await (memos.synced(), counts.synced(), memoCounts.synced())
            #expect(try await recorder.event { $0.isTotalExact }.total == 4)
            server.cut(store)
            try await store.write { try $0.insert(Memo(text: "d")) }
            #expect(try memos.snapshot().total == 4 && memos.snapshot().isTotalExact)
            #expect(try memoCounts.snapshot().value == 4 && memoCounts.snapshot().isExact)
            try await store.write { try $0.upsert(Vehicle(vin: "x", price: 1, plate: "P")) }
            #expect(try await recorder.event { $0.total == 5 }.isTotalExact == false)
            #expect(try counts.snapshot().value == 5 && !counts.snapshot().isExact)
            server.restore(store)
            try await store.uploaded(timeout: nil)
            #expect(try await recorder.event { $0.isTotalExact && $0.freshness == .confirmed }.total == 4)
            try await server.settled()
            #expect(try counts.snapshot().value == 4 && counts.snapshot().isExact)
            for token in tokens { token.stop() }
        }

        @Test func `a condition behind a link that is not here makes no exact total`() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload([Garage(code: "r", city: "Rome")])
            let romans = store.objects(Vehicle.self).filter("garage.city == 'Rome' SORT(vin) LIMIT(1) TOTAL")
            let recorder = try EventRecorder(romans)
            #expect(try await recorder.event { $0.isTotalExact }.total == 0)
            let counts = store.objects(Vehicle.self).filter("garage.city == 'Rome'").aggregate { $0.count }
            let token = try counts.observe { _ in }
            _ = try await counts.synced()
            server.cut(store)
            var vehicle = Vehicle(vin: "a", plate: "P")
            vehicle.garage = Link(key: "r")
            try await store.write { [vehicle] in try $0.upsert(vehicle) }
            #expect(try await recorder.event { !$0.isTotalExact && $0.state == .complete }.total == 0)
            #expect(try !counts.snapshot().isExact)
            server.restore(store)
            try await store.uploaded(timeout: nil)
            #expect(try await recorder.event { $0.isTotalExact && $0.total == 1 }.vins == ["a"])
            token.stop()
        }

        @Test func `a linked object that is changed here makes no exact figure where others may link to it`()
            async throws
        {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload([Garage(code: "r", city: "Rome")])
            for vin in ["a", "b", "c"] {
                var vehicle = Vehicle(vin: vin, plate: "P")
                vehicle.garage = Link(key: "r")
                try await writer.upload([vehicle])
            }
            let counts = store.objects(Vehicle.self).filter("garage.city == 'Rome'").aggregate { $0.count }
            let (first, second) = (try counts.observe { _ in }, try store.objects(Garage.self).observe { _ in })
            #expect(try await counts.synced() == 3)
            _ = try await store.objects(Garage.self).synced()
            server.cut(store)
            try await store.write { try $0.upsert(Garage(code: "r", city: "Pisa")) }
            #expect(try !counts.snapshot().isExact)
            server.restore(store)
            try await store.uploaded(timeout: nil)
            try await server.settled()
            #expect(try counts.snapshot().isExact && counts.fetch() == 0)
            first.stop()
            second.stop()
        }

        @Test func `a list that grows keeps its total, also without a connection`() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "b", "d", "f", "h", "j")
            let first = try EventRecorder(Self.cheap(store))
            #expect(try await first.event { $0.isTotalExact }.total == 5)
            let grown = Self.cheap(store).limit(4)
            let four = store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin).limit(4).withTotal()
            #expect(try grown.canonicalText != four.canonicalText)
            let second = try EventRecorder(four)
            #expect(try await second.event { $0.isInitial }.total == 5)
            #expect(try await second.event { $0.isTotalExact }.total == 5)
            server.cut(store)
            let third = try EventRecorder(
                store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin).limit(5).withTotal())
            #expect(try await third.event { $0.isInitial }.total == 5)
            try await store.write { try $0.delete(Vehicle.self, key: "b") }
            #expect(try await third.event { $0.total == 4 }.vins == ["d", "f", "h"])
            server.restore(store)
            try await store.uploaded(timeout: nil)
            #expect(try await third.event { $0.isTotalExact }.total == 4)
            for event in first.events + second.events + third.events where event.state != .pending || !event.isInitial {
                #expect(event.total != nil)
            }
        }

        @Test func `AGGREGATE is refused where objects are asked for`() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let figures = try store.records("Vehicle AGGREGATE(@count)")
            let typed = store.objects(Vehicle.self).filter("GROUP(name) AGGREGATE(@count)")
            #expect(try figures.aggregates.fetch().rows == [[.int(0)]])
            #expect(try figures.cached().aggregates.fetch().rows == [[.int(0)]])
            func refuses(_ body: () throws -> Void) {
                let error = #expect(throws: QueryError.self, performing: body)
                #expect(
                    error?.message.contains("finds no objects; read them by aggregate(_:)") == true, "\(error as Any)")
            }
            refuses { _ = try figures.fetch() }
            refuses { _ = try figures.count() }
            refuses { _ = try figures.isEmpty }
            refuses { _ = try figures.snapshot() }
            refuses { _ = try typed.fetch() }
            refuses { _ = try figures.observe { _ in } }
            await #expect(throws: QueryError.self) { try await figures.synced() }
            await #expect(throws: QueryError.self) { for try await _ in figures.changes {} }
            try await store.write { tx in
                #expect(throws: QueryError.self) { try tx.delete(all: typed) }
                #expect(throws: QueryError.self) { try tx.update(all: typed, set: ["price": .double(1)]) }
                #expect(throws: QueryError.self) { try tx.records("Vehicle AGGREGATE(@count)").fetch() }
            }
            let server = try TestServer()
            let synced = try await server.open()
            let rows = try synced.records("Vehicle AGGREGATE(@count)").rows()
            await #expect(throws: QueryError.self) { for try await _ in rows {} }
            let queue = synced.queue("work", of: try synced.records("Vehicle AGGREGATE(@count)"))
            await #expect(throws: QueryError.self) { try await queue.runOnce { _, _ in { _ in } } }
        }
    }
#endif
