import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// "2 of 12": the total beside the first results, as a program sees it.
    @Suite(.timeLimit(.minutes(10))) struct TotalTests {
        private static func cheap(_ store: Store, _ limit: Int = 2) -> Results<Vehicle> {
            store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin).limit(limit).withTotal()
        }

        @Test func theTotalComesWithTheResultsAndChangesWithTheCommit() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "b", "d", "f")
            try await writer.upload(vins: "z", price: 90)
            let recorder = try EventRecorder(Self.cheap(store))
            let complete = try await recorder.complete()
            #expect(complete.vins == ["b", "d"] && complete.total == 3)

            // Behind the window: nothing but the total changes.
            try await writer.upload(vins: "h")
            let grown = try await recorder.event { $0.total == 4 }
            #expect(grown.vins == ["b", "d"] && grown.insertions == [] && grown.modifications == [])
            #expect(grown.remote?.operations == [.create])
            #expect("\(grown)".contains("2 of 4 objects"))

            // Within it: both at once.
            try await writer.upload(vins: "a")
            let pushed = try await recorder.event { $0.total == 5 }
            #expect(pushed.vins == ["a", "b"])
            try await writer.write { try $0.delete(Vehicle.self, key: "a") }
            #expect(try await recorder.event { $0.total == 4 && !$0.deletions.isEmpty }.vins == ["b", "d"])

            // No event where neither changes.
            try await writer.write { try $0.update(Vehicle(vin: "z", plate: "P-z")) { $0.price = 91 } }
            try await server.settled()
            #expect(recorder.events.last?.total == 4)
            // A total is always that of the results beside it.
            for event in recorder.events { #expect(event.total.map { $0 >= event.results.count } ?? true) }
        }

        @Test func whatIsWrittenHereCountsAtOnceAndOnceOnly() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "b", "d", "f", "h")
            let recorder = try EventRecorder(Self.cheap(store))
            #expect(try await recorder.complete().total == 4)
            _ = try await store.objects(Vehicle.self).where { $0.vin == "h" }.synced()

            server.cut(store)
            try await store.write { tx in
                try tx.insert(Vehicle(vin: "x", price: 1, plate: "P"))
                try tx.insert(Vehicle(vin: "y", price: 50, plate: "P"))
            }
            #expect(try await recorder.event { $0.total == 5 }.remote == nil)
            // A member and one that another query has brought.
            try await store.write { try $0.update(Vehicle(vin: "b", plate: "P-b")) { $0.price = 70 } }
            #expect(try await recorder.event { $0.total == 4 && $0.vins.first == "d" }.remote == nil)
            try await store.write { try $0.delete(Vehicle.self, key: "h") }
            #expect(try await recorder.event { $0.total == 3 }.remote == nil)
            // Meanwhile somebody else deletes one of them, too, and adds one.
            try await writer.write { try $0.delete(Vehicle.self, key: "h") }
            try await writer.upload(vins: "c")

            server.restore(store)
            try await store.uploaded(timeout: nil)
            try await server.settled()
            // c, d, f, x.
            #expect(try await recorder.event { $0.total == 4 && $0.vins == ["c", "d"] }.state == .complete)
            #expect(try Self.cheap(store).snapshot().total == 4)
            #expect(try writer.objects(Vehicle.self).where { $0.price < 10 }.count() >= 1)
        }

        @Test func theLastTotalIsThereWhenAStoreIsOpenedAgain() async throws {
            let server = try TestServer()
            let writer = try await server.open()
            try await writer.upload(vins: "b", "d", "f")
            let path = FileManager.default.temporaryDirectory.path + "/sluice-total-\(UUID().uuidString).sluice"
            defer {
                for suffix in ["", "-wal", "-shm", "-lock", "-marker"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
            }
            let first = try await server.open(lifecycleModels, path: path)
            #expect(try Self.cheap(first).snapshot().total == nil)
            let token = try Self.cheap(first).observe { _ in }
            _ = try await Self.cheap(first).synced()
            #expect(try Self.cheap(first).snapshot().total == 3)
            token.stop(purgeLocal: false)
            await first.close()

            let again = try await server.open(lifecycleModels, path: path)
            server.cut(again)
            #expect(try Self.cheap(again).snapshot().total == 3)
            try await again.write { try $0.insert(Vehicle(vin: "a", price: 1, plate: "P")) }
            let recorder = try EventRecorder(Self.cheap(again))
            #expect(try await recorder.event { $0.isInitial }.total == 4)
            server.restore(again)
            let complete = try await recorder.event { $0.freshness == .confirmed && $0.state == .complete }
            #expect(complete.total == 4)
        }

        @Test func aQueryWithoutALimitHasAsManyAsItsResults() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload(vins: "b", "d", "f")
            let results = store.objects(Vehicle.self).where { $0.price < 10 }.withTotal()
            let recorder = try EventRecorder(results)
            let complete = try await recorder.complete()
            #expect(complete.total == 3 && complete.results.count == 3)
            #expect(try results.snapshot().total == 3)
            #expect(try store.objects(Vehicle.self).snapshot().total == nil)
        }

        /// A store without a server counts what it has, and so does who asks the server nothing.
        @Test func aStoreAloneCountsWhatItHas() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let recorder = try EventRecorder(Self.cheap(store))
            #expect(try await recorder.event { $0.isInitial }.total == 0)
            try await store.write { tx in
                for vin in ["a", "b", "c", "d"] { try tx.insert(Vehicle(vin: vin, price: 1, plate: "P")) }
            }
            #expect(try await recorder.event { $0.total == 4 }.vins == ["a", "b"])
            try await store.write { try $0.update(Vehicle(vin: "d", plate: "P")) { $0.price = 10 } }
            #expect(try await recorder.event { $0.total == 3 }.vins == ["a", "b"])
            let cached = try EventRecorder(Self.cheap(store, 1).cached())
            #expect(try await cached.event { $0.isInitial }.total == 3)
            try await store.write { try $0.delete(Vehicle.self, key: "a") }
            #expect(try await cached.event { $0.total == 2 }.vins == ["b"])
            #expect(try Self.cheap(store).snapshot().total == 2)
        }

        @Test func aTotalBehindLinksFollowsWhatTheyLeadTo() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            let (rome, bonn) = (Garage(code: "r", city: "Rome"), Garage(code: "b", city: "Bonn"))
            try await writer.upload([rome, bonn])
            for (vin, code) in [("a", "r"), ("b", "r"), ("c", "b"), ("d", "b")] {
                var vehicle = Vehicle(vin: vin, plate: "P")
                vehicle.garage = Link(key: code)
                try await writer.upload([vehicle])
            }
            let results = store.objects(Vehicle.self).filter("garage.city == 'Rome' SORT(vin) LIMIT(1) TOTAL")
            let recorder = try EventRecorder(results)
            #expect(try await recorder.complete().total == 2)
            try await writer.upload([Garage(code: "b", city: "Rome")])
            #expect(try await recorder.event { $0.total == 4 }.vins == ["a"])
            server.cut(store)
            _ = try store.objects(Garage.self).cached().fetch()
            try await store.write { try $0.upsert(Garage(code: "r", city: "Pisa")) }
            // What it knows of is one; that there are others in this garage, which are not here, nobody knows here.
            let guess = try await recorder.event { $0.total == 3 }
            #expect(guess.remote == nil && !guess.isTotalExact && "\(guess)".contains("of about 3 objects"))
            server.restore(store)
            try await store.uploaded(timeout: nil)
            let known = try await recorder.event { $0.total == 2 && $0.vins == ["c"] && $0.isTotalExact }
            #expect(known.state == .complete)
        }

        @Test func whatCannotBeCountedIsAnErrorOfTheQuery() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let vehicles = store.objects(Vehicle.self)
            #expect(throws: QueryError.self) { try vehicles.distinct(by: \.name).limit(2).withTotal().snapshot() }
            #expect(throws: QueryError.self) { try vehicles.limit(3).sorted(by: \.vin).withTotal().snapshot() }
            #expect(try vehicles.limit(3).withTotal().limit(2).canonicalText == "Vehicle LIMIT(2) TOTAL")
            #expect(try vehicles.withTotal().sorted(by: \.vin).canonicalText == "Vehicle SORT(vin ASC) TOTAL")
        }
    }
#endif
