import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Figures and groups as a program sees them.
    @Suite(.timeLimit(.minutes(10))) struct AggregateTests {
        private typealias Stats = AggregateResults<Vehicle, (Int, Double?, Double?)>

        private static func stats(_ store: Store) -> Stats {
            store.objects(Vehicle.self).where { $0.price < 100 }
                .aggregate { ($0.count, $0.average(\.price), $0.max(\.price)) }
        }

        private static func same(
            _ shown: (Int, Double?, Double?), _ count: Int, _ average: Double?, _ greatest: Double?
        ) -> Bool {
            shown == (count, average, greatest)
        }

        private static func groups(
            _ store: Store
        ) -> GroupedResults<Vehicle, String, (Int, Double?), (Aggregate<Int>, Aggregate<Double?>)> {
            store.objects(Vehicle.self).grouped(by: \.name) { ($0.count, $0.sum(\.price)) }
        }

        private static func vehicle(_ vin: String, _ price: Double, name: String = "Toyota") -> Vehicle {
            Vehicle(vin: vin, name: name, price: price, plate: "P")
        }

        @Test func typedQueriesHaveTheTextOfTheLanguage() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            #expect(
                try Self.stats(store).canonicalText
                    == "Vehicle WHERE price < 100 AGGREGATE(@count, @avg.price, @max.price)")
            let top = Self.groups(store).sorted(by: { $0.0 }, ascending: false).limit(5)
            #expect(
                try top.canonicalText
                    == "Vehicle GROUP(name) AGGREGATE(@count, @sum.price) SORT(@count DESC) LIMIT(5)")
            #expect(
                try Self.groups(store).sortedByKey(ascending: false).canonicalText
                    == "Vehicle GROUP(name) AGGREGATE(@count, @sum.price) SORT(name DESC)")
            let linked = store.objects(Vehicle.self).grouped(by: \.garage) { $0.count }
            #expect(try linked.canonicalText == "Vehicle GROUP(garage) AGGREGATE(@count)")
            // A function that is asked for twice is computed once.
            let twice = store.objects(Vehicle.self).aggregate { ($0.count, $0.min(\.views), $0.count) }
            #expect(try twice.canonicalText == "Vehicle AGGREGATE(@count, @min.views)")
            let (first, least, second) = try twice.fetch()
            #expect(first == 0 && least == nil && second == 0)
            #expect(throws: QueryError.self) { try store.objects(Vehicle.self).limit(3).aggregate { $0.count }.fetch() }
            #expect(throws: QueryError.self) { try store.objects(Vehicle.self).aggregates.fetch() }
        }

        @Test func `groups of several properties have a key for each`() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let groups = store.objects(Vehicle.self).grouped(by: \.name, \.plate) { ($0.count, $0.max(\.price)) }
                .sorted(by: { $0.0 }, ascending: false)
            let keys = store.objects(Vehicle.self).grouped(by: \.plate, \.name) { $0.count }
                .sortedByKey(ascending: false)
            #expect(
                try groups.canonicalText
                    == "Vehicle GROUP(name, plate) AGGREGATE(@count, @max.price) SORT(@count DESC)")
            #expect(
                try keys.canonicalText
                    == "Vehicle GROUP(plate, name) AGGREGATE(@count) SORT(plate DESC, name DESC)")
            try await store.write { tx in
                for (vin, name, plate) in [
                    ("1", "Audi", "A"), ("2", "Audi", "B"), ("3", "Opel", "A"), ("4", "Audi", "B"),
                ] {
                    try tx.upsert(Vehicle(vin: vin, name: name, price: Double(vin) ?? 0, plate: plate))
                }
            }
            let found = try groups.fetch()
            #expect(found.map { $0.key.0 + $0.key.1 } == ["AudiB", "AudiA", "OpelA"])
            #expect(found.map(\.values.0) == [2, 1, 1] && found.map(\.values.1) == [4, 1, 3])
            let sorted = try keys.fetch()
            #expect(sorted.map { $0.key.0 + $0.key.1 } == ["BAudi", "AOpel", "AAudi"])
            #expect(sorted.map(\.values) == [2, 1, 1])
        }

        @Test func aStoreAloneComputesWhatItHas() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            var stats = Self.stats(store).changes.makeAsyncIterator()
            var groups = Self.groups(store).changes.makeAsyncIterator()
            let first = try #require(try await stats.next())
            #expect(first.isInitial && first.isExact && Self.same(first.value, 0, nil, nil))
            #expect(try #require(try await groups.next()).value.isEmpty)
            try await store.write { tx in
                try tx.insert(Self.vehicle("a", 10))
                try tx.insert(Self.vehicle("b", 20, name: "Kia"))
                try tx.insert(Self.vehicle("c", 1_000))
            }
            let second = try #require(try await stats.next())
            #expect(Self.same(second.value, 2, 15, 20) && second.isExact && second.origin == .local)
            let grouped = try #require(try await groups.next()).value
            #expect(grouped.map(\.key) == ["Kia", "Toyota"] && grouped.map { $0.values.0 } == [1, 2])
            #expect(grouped.map { $0.values.1 } == [20, 1_010])
            try await store.write { try $0.delete(Vehicle.self, key: "b") }
            #expect(Self.same(try #require(try await stats.next()).value, 1, 10, 10))
            #expect(try #require(try await groups.next()).value.map(\.key) == ["Toyota"])
            #expect(try Self.same(Self.stats(store).fetch(), 1, 10, 10))
        }

        @Test func figuresComeWithTheCommitThatChangesThem() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload([Self.vehicle("a", 10), Self.vehicle("b", 20), Self.vehicle("z", 900)])
            #expect(Self.same(try await Self.stats(store).synced(), 2, 15, 20))
            // No object has come.
            #expect(try store.objects(Vehicle.self).count() == 0)
            var changes = Self.stats(store).changes.makeAsyncIterator()
            var change = try #require(try await changes.next())
            while change.state != .complete { change = try #require(try await changes.next()) }
            #expect(Self.same(change.value, 2, 15, 20) && change.isExact)
            try await writer.upload([Self.vehicle("c", 30)])
            change = try #require(try await changes.next())
            #expect(Self.same(change.value, 3, 20, 30))
            guard case .remote(let remote) = change.origin else {
                Issue.record("\(change.origin)")
                return
            }
            #expect(remote.operations == [.create])
            // The greatest leaves, and what follows it is there.
            try await writer.write { try $0.delete(Vehicle.self, key: "c") }
            change = try #require(try await changes.next())
            #expect(Self.same(change.value, 2, 15, 20) && change.isExact)
        }

        @Test func whatIsWrittenHereCountsAtOnceAndExactly() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload([Self.vehicle("a", 0.1), Self.vehicle("b", 0.2), Self.vehicle("c", 0.3)])
            let token = try Self.stats(store).observe { _ in }
            _ = try await Self.stats(store).synced()
            _ = try await store.objects(Vehicle.self).where { $0.vin == "c" }.synced()
            server.cut(store)
            try await store.write { tx in
                try tx.insert(Self.vehicle("d", 0.7))
                try tx.insert(Self.vehicle("e", 800))
            }
            var shown = try Self.stats(store).snapshot()
            // With a primary key, so that the server may have them already.
            #expect(Self.same(shown.value, 4, (0.1 + 0.2 + 0.3 + 0.7) / 4, 0.7) && !shown.isExact)
            // What is greatest on the server goes here: what is greatest then is not known.
            try await store.write { tx in
                try tx.delete(Vehicle.self, key: "d")
                try tx.delete(Vehicle.self, key: "c")
            }
            shown = try Self.stats(store).snapshot()
            #expect(shown.value.0 == 2 && shown.value.1 == 0.15000000000000002 && !shown.isExact)
            server.restore(store)
            try await store.uploaded(timeout: nil)
            try await server.settled()
            shown = try Self.stats(store).snapshot()
            #expect(Self.same(shown.value, 2, 0.15000000000000002, 0.2) && shown.isExact)
            token.stop(purgeLocal: false)
        }

        @Test func groupsComeMoveAndGoAlsoWithoutAConnection() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload([
                Self.vehicle("a", 1), Self.vehicle("b", 2), Self.vehicle("c", 3, name: "Kia"),
                Self.vehicle("d", 4, name: "Fiat"),
            ])
            let all = Self.groups(store)
            let top = all.sorted(by: { $0.1 }, ascending: false).limit(2)
            let tokens = [try all.observe { _ in }, try top.observe { _ in }]
            #expect(try await all.synced().map(\.key) == ["Fiat", "Kia", "Toyota"])
            #expect(try await top.synced().map(\.key) == ["Fiat", "Kia"])
            _ = try await store.objects(Vehicle.self).synced()
            // One moves from a group to another, which takes the place of a third.
            try await writer.write { try $0.update(Self.vehicle("d", 4, name: "Fiat")) { $0.name = "Toyota" } }
            try await server.settled()
            #expect(try all.fetch().map { $0.values.0 } == [1, 3])
            #expect(try top.snapshot().value.map(\.key) == ["Toyota", "Kia"])
            server.cut(store)
            try await store.write { tx in
                try tx.insert(Self.vehicle("x", 50, name: "Audi"))
                try tx.delete(Vehicle.self, key: "c")
            }
            let shown = try all.snapshot()
            #expect(!shown.isExact && shown.value.map(\.key) == ["Audi", "Toyota"])
            #expect(shown.value.map { $0.values.1 } == [50, 7])
            // Which groups would be among the first two is not known here.
            #expect(try !top.snapshot().isExact)
            server.restore(store)
            try await store.uploaded(timeout: nil)
            try await server.settled()
            #expect(try top.snapshot().isExact && top.fetch().map(\.key) == ["Audi", "Toyota"])
            for token in tokens { token.stop(purgeLocal: false) }
        }

        @Test func theLastFiguresAreThereWhenAStoreIsOpenedAgain() async throws {
            let server = try TestServer()
            let writer = try await server.open()
            try await writer.upload([Self.vehicle("a", 1), Self.vehicle("c", 3, name: "Kia")])
            let path = FileManager.default.temporaryDirectory.path + "/sluice-groups-\(UUID().uuidString).sluice"
            defer {
                for suffix in ["", "-wal", "-shm", "-lock", "-marker"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
            }
            let first = try await server.open(lifecycleModels, path: path)
            #expect(try Self.groups(first).fetch().isEmpty && !Self.groups(first).snapshot().isExact)
            let token = try Self.groups(first).observe { _ in }
            #expect(try await Self.groups(first).synced().map(\.key) == ["Kia", "Toyota"])
            token.stop(purgeLocal: false)
            await first.close()
            let again = try await server.open(lifecycleModels, path: path)
            server.cut(again)
            try await writer.upload([Self.vehicle("d", 5, name: "Kia")])
            #expect(try Self.groups(again).fetch().map { $0.values.1 } == [3, 1])
            var changes = Self.groups(again).changes.makeAsyncIterator()
            #expect(try #require(try await changes.next()).value.map { $0.values.0 } == [1, 1])
            server.restore(again)
            while let change = try await changes.next() {
                if change.freshness == .confirmed, change.state == .complete {
                    #expect(change.value.map { $0.values.0 } == [2, 1])
                    break
                }
            }
        }

        @Test func aTextWithAGGREGATEIsATable() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload([Self.vehicle("a", 1), Self.vehicle("c", 3, name: "Kia")])
            let table = try await store.records("Vehicle GROUP(name) AGGREGATE(@count, @max.price)").aggregates.synced()
            #expect(table.columns == ["name", "@count", "@max.price"])
            #expect(table.rows == [[.string("Kia"), .int(1), .double(3)], [.string("Toyota"), .int(1), .double(1)]])
        }

        @Test func theServerRefusesMoreGroupsThanItKeeps() async throws {
            let server = try TestServer()
            let store = try await server.open()
            let long = String(repeating: "a", count: 600_000)
            try await store.upload([Self.vehicle("a", 1, name: long + "1"), Self.vehicle("b", 1, name: long + "2")])
            let other = try await server.open()
            let error = await #expect(throws: SyncError.self) { try await Self.groups(other).synced() }
            #expect(
                error?.message.contains("keys of the query's groups take more than") == true,
                "\(String(describing: error))")
        }
    }
#endif
