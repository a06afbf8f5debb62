import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Windows that move: pages behind a place, and windows that grow.
    @Suite(.timeLimit(.minutes(10))) struct GrowingTests {
        private static func vehicles(_ count: Int) -> [Vehicle] {
            (0..<count).map {
                // Numbered texts would take next to nothing in one page, however many they are.
                let plate = String(UInt64($0 + 1) &* 0x9E37_79B9_7F4A_7C15, radix: 36)
                return Vehicle(vin: "v\(1_000 + $0)", price: Double($0 % 50), plate: plate)
            }
        }

        private static func sorted(_ store: Store) -> Results<Vehicle> {
            store.objects(Vehicle.self).sorted(by: \.price, ascending: false)
        }

        @Test func pagesBehindTheLastObjectHaveEachObjectOnce() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(Self.vehicles(95))
            let whole = try await Self.sorted(writer).synced().map(\.vin)
            var seen: [String] = []
            var page = Self.sorted(store).limit(20).withTotal()
            var tokens: [NotificationToken] = []
            while true {
                tokens.append(try page.observe { _ in })
                let vehicles = try await page.synced()
                #expect(try page.snapshot().total == 95)
                seen += vehicles.map(\.vin)
                guard let last = vehicles.last else { break }
                let snapshot = try page.snapshot()
                let byObject = try Self.sorted(store).withTotal().limit(20).after(last)
                page = Self.sorted(store).withTotal().limit(20).after(snapshot.cursor(at: snapshot.count - 1))
                #expect(try byObject.canonicalText == page.canonicalText)
            }
            #expect(seen == whole)
        }

        /// The table of docs/query-language.md: which rows show up by themselves.
        @Test func theRowsThatShowUpByThemselvesAreThoseOfTheTable() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "c", "e", "g", "i", "k", "m")
            let sorted = store.objects(Vehicle.self).sorted(by: \.vin)
            let window = try EventRecorder(sorted.limit(3).withTotal())
            let page = try EventRecorder(
                sorted.after(ResultCursor(values: [.string("g")], key: .string("g"))).limit(2).withTotal())
            #expect(try await window.complete().vins == ["c", "e", "g"])
            #expect(try await page.complete().vins == ["i", "k"])
            func expect(_ shown: [String], _ behind: [String], _ total: Int) async throws -> Change<Vehicle> {
                _ = try await page.event { $0.vins == behind && $0.total == total }
                return try await window.event { $0.vins == shown && $0.total == total }
            }
            // Before the first.
            try await writer.upload(vins: "a")
            #expect(try await expect(["a", "c", "e"], ["i", "k"], 7).removals.map(\.reason) == [.window])
            // Among those that are shown.
            try await writer.upload(vins: "d")
            _ = try await expect(["a", "c", "d"], ["i", "k"], 8)
            try await writer.upload(vins: "j")
            _ = try await expect(["a", "c", "d"], ["i", "j"], 9)
            // Behind the last.
            try await writer.upload(vins: "z")
            #expect(try await expect(["a", "c", "d"], ["i", "j"], 10).insertions == [])
            // What goes is followed by the next.
            try await writer.write { try $0.delete(Vehicle.self, key: "c") }
            _ = try await expect(["a", "d", "e"], ["i", "j"], 9)
            try await writer.write { try $0.delete(Vehicle.self, key: "i") }
            _ = try await expect(["a", "d", "e"], ["j", "k"], 8)
            // The object of the place.
            try await writer.write { try $0.delete(Vehicle.self, key: "g") }
            _ = try await expect(["a", "d", "e"], ["j", "k"], 7)
            // The limit grows.
            let longer = try EventRecorder(try #require(try sorted.limit(3).withTotal().growing(by: 2)))
            #expect(try await longer.complete().vins == ["a", "d", "e", "j", "k"])
        }

        @Test func aPageStaysWhereItIsWhenItsPlaceIsDeletedAndLosesAndTakesWhatMoves() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "a", "c", "e", "g", price: 5)
            let page = store.objects(Vehicle.self).sorted(by: \.vin).after(
                ResultCursor(values: [.string("c")], key: .string("c")))
            let recorder = try EventRecorder(page.limit(2))
            #expect(try await recorder.complete().vins == ["e", "g"])
            try await writer.write { try $0.delete(Vehicle.self, key: "c") }
            // Before the page: no event.
            try await writer.upload(vins: "b")
            try await writer.upload(vins: "d")
            let taken = try await recorder.event { $0.vins == ["d", "e"] }
            #expect(taken.removals.map(\.reason) == [.window])
            try await writer.write { try $0.delete(Vehicle.self, key: "d") }
            let back = try await recorder.event { $0.vins == ["e", "g"] && !$0.removals.isEmpty }
            #expect(back.removals.map(\.reason) == [.deleted])
            let between = store.objects(Vehicle.self).sorted(by: \.vin)
                .before(ResultCursor(values: [.string("g")], key: .string("g")))
                .after(ResultCursor(values: [.string("a")], key: .string("a")))
            #expect(try await between.synced().map(\.vin) == ["b", "e"])
        }

        @Test func aCursorOfAnotherOrderIsAnErrorOfTheQuery() async throws {
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let vehicles = store.objects(Vehicle.self)
            let cursor = try vehicles.sorted(by: \.price).cursor(of: Vehicle(vin: "a", price: 3, plate: ""))
            #expect(cursor.key == .string("a"))
            #expect(throws: QueryError.self) { try vehicles.after(cursor).fetch() }
            #expect(throws: QueryError.self) {
                try vehicles.sorted(by: \.price).sorted(by: \.name).after(cursor).fetch()
            }
            #expect(throws: QueryError.self) { try vehicles.sorted(by: \.name).after(cursor).fetch() }
            // The order is the same, whatever else is asked.
            try await store.write { tx in
                for (vin, price) in [("a", 3.0), ("b", 3), ("c", 4), ("d", 2)] {
                    try tx.insert(Vehicle(vin: vin, price: price, plate: ""))
                }
            }
            let behind = try vehicles.where { $0.vin != "x" }.sorted(by: \.price).limit(9).after(cursor).fetch().map(
                \.vin)
            let before = try vehicles.sorted(by: \.price).before(cursor).fetch().map(\.vin)
            #expect(Set(behind + before + ["a"]) == ["a", "b", "c", "d"] && behind.last == "c")
        }

        /// Growing by 20 sends each row once, and takes little more than asking for all at once.
        @Test func aWindowThatGrowsIsSentOnlyWhatIsNew() async throws {
            let server = try TestServer()
            let writer = try await server.open()
            try await writer.upload(Self.vehicles(400))
            let atOnce = try await server.open()
            let token = try Self.sorted(atOnce).limit(300).observe { _ in }
            _ = try await Self.sorted(atOnce).limit(300).synced()
            let whole = server.messages(to: atOnce)

            let store = try await server.open()
            var tokens: [NotificationToken] = []
            for limit in stride(from: 20, through: 300, by: 20) {
                let window = Self.sorted(store).limit(limit)
                tokens.append(try window.observe { _ in })
                #expect(try await window.synced().count == limit)
                if tokens.count > 1 { tokens.removeFirst().stop(purgeLocal: true) }
            }
            #expect(
                try Self.sorted(store).limit(300).fetch().map(\.vin)
                    == Self.sorted(atOnce).limit(300).fetch().map(\.vin))
            let grown = server.messages(to: store)
            #expect(grown.byteCount(of: .page) < whole.byteCount(of: .page) * 2)
            withExtendedLifetime(token) {}
        }

        @Test func whatChangesWhileAWindowGrowsIsInIt() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(Self.vehicles(60))
            let small = try EventRecorder(Self.sorted(store).limit(10).withTotal())
            _ = try await small.complete()
            server.hold(store)
            let large = try EventRecorder(Self.sorted(store).limit(30).withTotal())
            _ = try await large.event { $0.isInitial }
            // Some are pushed out of the smaller window and stay in the larger one, some leave both.
            try await writer.upload((0..<5).map { Vehicle(vin: "w\($0)", price: 90, plate: "P") })
            try await writer.write { try $0.delete(Vehicle.self, key: "v1049") }
            try await writer.upload([Vehicle(vin: "v1048", price: 1, plate: "P")])
            server.release(store)
            _ = try await large.event { $0.state == .complete && $0.total == 64 }
            try await server.settled()
            let right = try await Self.sorted(writer).limit(30).synced().map(\.vin)
            #expect(try Self.sorted(store).limit(30).fetch().map(\.vin) == right)
            #expect(large.events.last?.vins == right)
            #expect(small.events.last?.vins == Array(right.prefix(10)))
            // It goes on without the one that it has grown from.
            small.token.stop()
            try await writer.upload([Vehicle(vin: "x", price: 99, plate: "P")])
            #expect(try await large.event { $0.vins.first == "x" }.total == 65)
            let mismatches = try await store.core.perform { $0.mismatchCount }
            #expect(mismatches == 0)
        }
    }
#endif
