import Foundation
import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    enum PlaceCode: String, PrimaryKeyValue { case north, south }

    @Model struct Place {
        @PrimaryKey var code: PlaceCode
        var visits: Int?
        var weight: Double?
    }

    @Model struct Ride {
        @PrimaryKey var number: Int32
        var place: Link<Place>?
    }

    /// What users write every day: keys, changes by key, interpolated conditions, loops, and what `print` shows.
    @Suite(.timeLimit(.minutes(10))) struct ModelInterfaceTests {
        let store: Store

        init() async throws {
            store = try await Store.open(StoreConfiguration(models: lifecycleModels + [Place.self, Ride.self]))
            try await store.write { tx in
                for vin in ["a", "b", "c"] { try tx.insert(Vehicle(vin: vin, price: 5, plate: "P")) }
                try tx.insert(Place(code: .north))
                try tx.insert(Ride(number: 7, place: Link(key: PlaceCode.north)))
            }
        }

        // MARK: Keys

        @Test func aKeyOfAnotherTypeIsRefusedEverywhere() async throws {
            let store = store
            func message(_ body: () async throws -> Void) async -> String {
                let error = await #expect(throws: RecordError.self) { try await body() }
                #expect(error?.code == .typeMismatch)
                return error?.message ?? ""
            }
            let expected = "objects of Vehicle are named by vin, which is string, and the key given is an int"
            #expect(await message { _ = try store.object(Vehicle.self, key: 5) } == expected)
            #expect(await message { _ = try store.results(Vehicle.self, key: 5) } == expected)
            #expect(await message { try await store.write { _ = try $0.object(Vehicle.self, key: 5) } } == expected)
            #expect(await message { try await store.write { try $0.delete(Vehicle.self, key: 5) } } == expected)
            #expect(
                await message { try await store.write { try $0.update(Vehicle.self, key: 5) { $0.price = 1 } } }
                    == expected)
            let keyless = await message { _ = try store.object(Memo.self, key: "a") }
            #expect(keyless == "objects of Memo are named by their object ids, and the key given is a string")
            #expect(try store.object(Vehicle.self, key: "a") != nil)
            #expect(try store.object(Ride.self, key: 7) != nil && store.object(Place.self, key: "north") != nil)
        }

        @Test func aLinkKnowsItsKeyAsItsType() throws {
            let ride = try #require(try store.object(Ride.self, key: 7))
            #expect(try ride.place?.key(as: PlaceCode.self) == .north)
            #expect(try ride.place?.key(as: String.self) == "north")
            #expect(throws: ModelError.self) { try ride.place?.key(as: Int.self) }
            #expect(throws: ModelError.self) { try ride.place?.key(as: UUID.self) }
            #expect(try Link<Ride>(key: 7).key(as: Int8.self) == 7)
            #expect(throws: ModelError.self) { try Link<Ride>(key: 700).key(as: Int8.self) }
            #expect(try (nil as Link<Ride>).key(as: Int.self) == nil)
            let id = UUID()
            #expect(try Link<Ride>(key: id).key(as: UUID.self) == id)
            #expect(throws: ModelError.self) { try Link<Place>(key: "east").key(as: PlaceCode.self) }
        }

        // MARK: Changes

        @Test func anObjectIsChangedByItsKey() async throws {
            try await store.write { try $0.update(Vehicle.self, key: "b") { $0.price = 9 } }
            #expect(try store.object(Vehicle.self, key: "b")?.price == 9)
            let error = await #expect(throws: StoreError.self) {
                try await store.write { try $0.update(Vehicle.self, key: "x") { $0.price = 9 } }
            }
            #expect(error?.code == .objectMissing)
        }

        @Test func nullHasNoSum() async throws {
            let place = Place(code: .north)
            for add in [
                { (tx: borrowing WriteTransaction) in try tx.increment(place, \.visits, by: 1) },
                { tx in try tx.increment(place, \.weight, by: 0.5) },
                { tx in try tx.update(place.identity, add: ["visits": .int(1)]) },
            ] as [@Sendable (borrowing WriteTransaction) throws -> Void] {
                let error = await #expect(throws: RecordError.self) { try await store.write { try add($0) } }
                #expect(error?.message.contains("is null here, and null has no sum; set a number first") == true)
            }
            try await store.write { tx in
                try tx.update(place) { $0.visits = 2 }
                try tx.increment(place, \.visits, by: 3)
                try tx.update(place.identity, set: ["weight": .double(1)], add: ["visits": .int(1)])
                try tx.increment(place, \.weight, by: 0.5)
            }
            let changed = try #require(try store.object(Place.self, key: PlaceCode.north))
            #expect(changed.visits == 6 && changed.weight == 1.5)
        }

        @Test func anAdditionThatMeetsNullElsewhereLeavesItNullInBothOrders() async throws {
            for nullFirst in [true, false] {
                let server = try TestServer()
                let adder = try await server.open([Place.self])
                try await adder.upload([Place(code: .north, visits: 1)])
                let eraser = try await server.open([Place.self])
                try await eraser.objects(Place.self).synced()
                _ = try await adder.objects(Place.self).synced()
                server.cut(adder)
                server.cut(eraser)
                try await adder.write { try $0.increment(Place(code: .north), \.visits, by: 5) }
                try await eraser.write { try $0.update(Place.self, key: PlaceCode.north) { $0.visits = nil } }
                for store in nullFirst ? [eraser, adder] : [adder, eraser] {
                    server.restore(store)
                    try await store.uploaded()
                }
                for store in [adder, eraser, try await server.open([Place.self])] {
                    #expect(try await store.objects(Place.self).synced().map(\.visits) == [nil])
                }
            }
        }

        // MARK: Conditions

        @Test func interpolatedValuesAreValuesWhateverIsInThem() async throws {
            let evil = "a' OR TRUEPREDICATE OR name == 'x"
            try await store.write { tx in
                try tx.insert(Vehicle(vin: evil, price: 1, plate: "P"))
            }
            let vehicles = store.objects(Vehicle.self)
            #expect(try vehicles.filter("vin == \(evil)").fetch().map(\.vin) == [evil])
            #expect(try vehicles.filter("vin IN \(["a", evil])").count() == 2)
            #expect(try vehicles.filter("price>\(4)AND price<\(6.5) AND vin != $0", "a").count() == 2)
            #expect(try vehicles.filter("price > %@ AND vin == \("b")", 1).count() == 1)
            #expect(try vehicles.filter("price > \(0) SORT(vin ASC) LIMIT(\(2))").fetch().map(\.vin).first == "a")
            #expect(try vehicles.filter("garage == \(nil as Link<Garage>?)").count() == 4)
            let place = try #require(try store.object(Place.self, key: PlaceCode.north))
            #expect(try store.objects(Ride.self).filter("place == \(place)").count() == 1)
            #expect(try store.records("Vehicle WHERE vin == \(evil)").count() == 1)
            #expect(try await store.write { try $0.records("Vehicle WHERE vin == \(evil)").count() } == 1)
            let text = "vin == $0"
            #expect(try vehicles.filter(text, evil).count() == 1)
        }

        @Test func anInterpolatedValueInQuotesIsNoSilentText() throws {
            let error = #expect(throws: QueryError.self) {
                try store.objects(Vehicle.self).filter("vin == '\("a")'").fetch()
            }
            #expect(error?.code == .missingArgument && error?.message.contains("without quotes") == true)
            #expect(throws: QueryError.self) { try store.records("Vehicle WHERE vin == \"\("a")\"") }
        }

        // MARK: Results

        @Test func emptinessIsAskedAtTheCostOfOneRow() async throws {
            let vehicles = store.objects(Vehicle.self)
            #expect(try !vehicles.isEmpty && !vehicles.where { $0.price == 5 }.sorted(by: \.name).isEmpty)
            #expect(try vehicles.where { $0.price > 5 }.isEmpty && store.objects(Memo.self).isEmpty)
            #expect(try vehicles.limit(0).isEmpty && !vehicles.limit(1).isEmpty)
            #expect(try !vehicles.limit(2).distinct(by: \.price).isEmpty)
            #expect(try vehicles.sorted(by: \.vin).limit(2).distinct(by: \.price).limit(0).isEmpty)
            #expect(try !store.results(Vehicle.self, key: "a").isEmpty && store.results(Vehicle.self, key: "z").isEmpty)
            let isEmptyWithin = try await store.write { tx in
                let before = try tx.objects(Vehicle.self).isEmpty
                try tx.delete(all: tx.objects(Vehicle.self))
                return [before, try tx.objects(Vehicle.self).isEmpty]
            }
            #expect(isEmptyWithin == [false, true])
        }

        @Test func aSnapshotIsACollection() async throws {
            let snapshot = try store.objects(Vehicle.self).sorted(by: \.vin).snapshot()
            var vins: [String] = []
            for vehicle in snapshot { vins.append(vehicle.vin) }
            #expect(
                vins == ["a", "b", "c"] && snapshot.map(\.vin) == vins && snapshot.prefix(2).map(\.vin) == ["a", "b"])
            #expect(snapshot.first?.vin == "a" && snapshot.last?.vin == "c" && !snapshot.isEmpty)
            #expect(snapshot.contains { $0.vin == "b" } && Array(snapshot).count == snapshot.count)
            #expect(snapshot.indices == 0..<3 && snapshot[1].vin == "b" && snapshot[1...].map(\.vin) == ["b", "c"])
            #expect(snapshot.reversed().map(\.vin) == ["c", "b", "a"] && snapshot.firstIndex { $0.vin == "c" } == 2)
            let none = try store.objects(Memo.self).snapshot()
            #expect(none.first == nil && none.last == nil && none.isEmpty && Array(none).isEmpty)
        }

        @Test func aSnapshotLeavesOutWhatCannotBeReadAndTheLogSaysSo() async throws {
            let lines = Mutex<[LogLine]>([])
            var configuration = StoreConfiguration(models: [Chore.self])
            configuration.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line) } }
            let store = try await Store.open(configuration)
            try await store.write { tx in
                for id in ["a", "b", "c", "d"] { try tx.insert(Chore(id: id, state: .open)) }
                for id in ["b", "d"] {
                    try tx.update(
                        Identity(className: "Task", key: .string(id)), set: ["state": .string("unheard of")])
                }
            }
            let snapshot = try store.objects(Chore.self).sorted(by: \.id).snapshot()
            #expect(snapshot.count == 2 && snapshot.map(\.id) == ["a", "c"] && snapshot[1].id == "c")
            #expect(snapshot.first?.id == "a" && snapshot.last?.id == "c")
            #expect(snapshot.unreadable.map(\.object?.key) == [.string("b"), .string("d")])
            let told = lines.withLock { $0 }
            #expect(told.count == 2 && told.allSatisfy { !"\($0)".contains("unheard of") })
        }

        // MARK: Texts

        @Test func aPrintedModelShowsItsPropertiesAndNothingElse() async throws {
            let place = Place(code: .north, visits: 3)
            #expect("\(place)" == "Place(code: \"north\", visits: 3, weight: nil)")
            #expect(String(reflecting: place) == "\(place)")
            let ride = try #require(try store.object(Ride.self, key: 7))
            #expect("\(ride)" == "Ride(number: 7, place: →north)")
            #expect(Mirror(reflecting: ride).children.map(\.label) == ["number", "place"])
            let memo = Memo(text: "hello")
            #expect("\(memo)" == "Memo(id \(memo.objectID), text: \"hello\")")
            var manual = ManualEverything()
            manual.string = String(repeating: "x", count: 1_000_000)
            #expect(manual.description.hasPrefix("ManualEverything(") && manual.description.count < 1_000)
            #expect(!manual.description.contains("etadata"))
            let partial = try #require(try store.objects(Vehicle.self).excluding(\.owners).sorted(by: \.vin).first())
            #expect("\(partial)".contains("owners: absent") == !partial.isPresent(\.owners))
        }

        @Test func everyErrorSaysItsOwnText() throws {
            let identity = Identity(className: "A", key: .int(1))
            let errors: [any SluiceError] = [
                StoreError(.closed, "one"), SyncError(.timedOut, "two"),
                ModelError(.notFound, "three", object: identity),
                RecordError(.typeMismatch, "four"), SchemaError(.duplicateName, "five"),
                QueryError(.syntax, "six", at: 3), StorageError(.io, "seven"), ServerError(.dataFolder, "eight"),
                LimitExcess("bytes of an object", 9, limit: 8),
            ]
            for error in errors { #expect(error.localizedDescription == error.description) }
        }
    }
#endif
