import Foundation
import Sluice
import SluiceModel
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

#if SLUICE_MACROS
    /// Queries within a write, and `update(all:)` and `delete(all:)` over them.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleWriteQueryTests {
        private static func store() async throws -> Store {
            try await Store.open(StoreConfiguration(models: lifecycleModels))
        }

        private static func vehicle(_ number: Int, price: Double, name: String = "Toyota") -> Vehicle {
            Vehicle(vin: String(format: "v%06d", number), name: name, price: price, plate: "P")
        }

        /// A query in every form that has one, with what it should find.
        private struct Form: Sendable {
            let text: String
            let typed: @Sendable (Results<Vehicle>) -> Results<Vehicle>
            let holds: @Sendable (Vehicle) -> Bool
        }

        private static let forms = [
            Form(text: "TRUEPREDICATE", typed: { $0 }, holds: { _ in true }),
            Form(text: "price < 5", typed: { $0.where { $0.price < 5 } }, holds: { $0.price < 5 }),
            Form(
                text: "price < 5 AND name == 'Honda'",
                typed: { $0.where { $0.price < 5 }.where { $0.name == "Honda" } },
                holds: { $0.price < 5 && $0.name == "Honda" }),
            Form(
                text: "views > 2 OR vin IN {'v000001', 'v000003'}",
                typed: { $0.where { $0.views > 2 }.or { $0.vin.in(["v000001", "v000003"]) } },
                holds: { $0.views > 2 || ["v000001", "v000003"].contains($0.vin) }),
            Form(
                text: "garage.city == 'Rome'", typed: { $0.where { $0.garage.city == "Rome" } },
                holds: { (try? $0.garage?.fetch())?.city == "Rome" }),
            Form(
                text: "ANY owners.age > 30", typed: { $0.where { $0.owners.contains(where: { $0.age > 30 }) } },
                holds: { ((try? $0.owners.fetchAll()) ?? []).contains { $0.age > 30 } }),
        ]

        @Test(arguments: 1...12 as ClosedRange<UInt64>)
        func everyFormOfAQueryInAWriteFindsTheSame(seed: UInt64) async throws {
            let store = try await Self.store()
            for round in 0..<4 as Range<UInt64> {
                let last = try await store.write { tx in
                    var random = SeededGenerator(seed: seed &* 31 &+ round)
                    for _ in 0..<25 {
                        try Self.change(tx, &random)
                        try Self.compare(tx, random.pick(Self.forms))
                    }
                    return try Self.forms.map { try tx.objects(Vehicle.self).filter($0.text).fetch().map(\.vin) }
                }
                // What the write saw at its end is what the store has after it.
                for (form, vins) in zip(Self.forms, last) {
                    #expect(try store.objects(Vehicle.self).filter(form.text).fetch().map(\.vin) == vins)
                }
            }
        }

        private static func change(_ tx: borrowing WriteTransaction, _ random: inout SeededGenerator) throws {
            let number = Int.random(in: 0..<12, using: &random)
            let form = random.pick(forms)
            switch Int.random(in: 0..<9, using: &random) {
            case 0: try tx.delete(Vehicle.self, key: vehicle(number, price: 0).vin)
            case 1: try tx.update(all: form.typed(tx.objects(Vehicle.self))) { $0.price += 1 }
            case 2: try tx.update(all: form.typed(tx.objects(Vehicle.self)).limit(2), add: ["views": .int(1)])
            case 3: try tx.delete(all: form.typed(tx.objects(Vehicle.self)).sorted(by: \.price).limit(1))
            case 4: try tx.upsert(Garage(code: "g", city: random.pick(["Rome", "Bonn"])))
            case 5: try tx.upsert(Person(name: "ada", age: random.pick([20, 40])))
            default:
                var made = vehicle(
                    number, price: Double(Int.random(in: 0..<9, using: &random)),
                    name: random.pick(["Toyota", "Honda"]))
                if Bool.random(using: &random) { made.garage = Link(key: "g") }
                if Bool.random(using: &random) { made.owners = [Link(key: "ada")] }
                try tx.upsert(made)
            }
        }

        private static func compare(_ tx: borrowing WriteTransaction, _ form: Form) throws {
            let expected = try tx.objects(Vehicle.self).fetch().filter(form.holds).sorted { $0.objectID < $1.objectID }
            let vins = expected.map(\.vin)
            let typed = form.typed(tx.objects(Vehicle.self))
            let textual = tx.objects(Vehicle.self).filter(form.text)
            #expect(try typed.fetch().map(\.vin) == vins, "\(form.text)")
            #expect(try textual.fetch().map(\.vin) == vins)
            #expect(try typed.snapshot().map(\.vin) == vins)
            #expect(try tx.records("Vehicle WHERE " + form.text).fetch().map(\.key) == vins.map { .string($0) })
            #expect(try typed.count() == vins.count)
            #expect(try typed.limit(2).count() == min(2, vins.count))
            #expect(try typed.first()?.vin == vins.first)
            #expect(try typed.limit(2).fetch().map(\.vin) == Array(vins.prefix(2)))
            let byPrice = expected.sorted {
                ($0.price, $1.objectID) > ($1.price, $0.objectID)
            }.map(\.vin)
            let sorted = typed.sorted(by: \.price, ascending: false)
            #expect(try sorted.fetch().map(\.vin) == byPrice)
            #expect(try sorted.limit(3).fetch().map(\.vin) == Array(byPrice.prefix(3)))
            #expect(try sorted.first()?.vin == byPrice.first)
        }

        /// While a subscription is complete, the server's word counts, except for what is pending. What a write has made
        /// so far counts as pending.
        @Test(arguments: 1...8 as ClosedRange<UInt64>)
        func whatAWriteSeesOfAnObservedQueryIsWhatTheStoreShowsAfterIt(seed: UInt64) async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload((0..<8).map { Self.vehicle($0, price: Double($0)) })
            let queries = ["price < 5", "price < 5 SORT(price DESC) LIMIT(3)", "name == 'Honda'"]
            let recorders = try queries.map { try EventRecorder(store.objects(Vehicle.self).filter($0)) }
            for recorder in recorders { try await recorder.complete() }
            server.cut(store)
            for round in 0..<6 as Range<UInt64> {
                let seen = try await store.write { tx in
                    var random = SeededGenerator(seed: seed &* 77 &+ round)
                    for _ in 0..<4 { try Self.change(tx, &random) }
                    return try queries.map { try tx.objects(Vehicle.self).filter($0).fetch().map(\.vin) }
                }
                for (query, vins) in zip(queries, seen) {
                    #expect(try store.objects(Vehicle.self).filter(query).fetch().map(\.vin) == vins, "\(query)")
                }
            }
            server.restore(store)
            try await store.uploaded()
            let other = try await server.open()
            let theirs = try await other.objects(Vehicle.self).synced()
            #expect(try store.objects(Vehicle.self).fetch().map(\.vin) == theirs.map(\.vin))
            #expect(try store.objects(Vehicle.self).fetch().map(\.price) == theirs.map(\.price))
        }

        @Test func theObjectsAreFoundBeforeTheFirstIsChanged() async throws {
            let store = try await Self.store()
            let changed = try await store.write { tx in
                for number in 0..<6 { try tx.insert(Self.vehicle(number, price: Double(number))) }
                return try tx.update(all: tx.objects(Vehicle.self).where { $0.price < 3 }) { $0.price += 1 }
            }
            #expect(changed == 3)
            #expect(try store.objects(Vehicle.self).sorted(by: \.vin).fetch().map(\.price) == [1, 2, 3, 3, 4, 5])
        }

        @Test func whatTheBodyDeletesOrChangesMeanwhileIsSeen() async throws {
            let store = try await Self.store()
            let changed = try await store.write { tx in
                for number in 0..<4 { try tx.insert(Self.vehicle(number, price: 1)) }
                var turns = 0
                return try tx.update(all: tx.objects(Vehicle.self).sorted(by: \.vin)) { vehicle in
                    if turns == 0 {
                        try tx.delete(Self.vehicle(1, price: 0))
                        try tx.update(Self.vehicle(2, price: 0)) { $0.price = 10 }
                    }
                    turns += 1
                    vehicle.price += 1
                }
            }
            #expect(changed == 3)
            #expect(try store.objects(Vehicle.self).sorted(by: \.vin).fetch().map(\.price) == [2, 11, 2])
        }

        @Test func aQueryOfTheStoreFindsWhatTheWriteSees() async throws {
            let store = try await Self.store()
            let cheap = store.objects(Vehicle.self).where { $0.price < 3 }
            let counts = try await store.write { tx in
                for number in 0..<5 { try tx.insert(Self.vehicle(number, price: Double(number))) }
                let updated = try tx.update(all: cheap, set: ["name": .string("Honda")], add: ["views": .int(2)])
                return (updated, try cheap.count(), try tx.delete(all: cheap.sorted(by: \.price).limit(1)))
            }
            // Results of the store read the last commit.
            #expect(counts == (3, 0, 1))
            #expect(try store.objects(Vehicle.self).sorted(by: \.vin).fetch().map(\.views) == [2, 2, 0, 0])
            #expect(try store.objects(Vehicle.self).where { $0.name == "Honda" }.count() == 2)
        }

        @Test func whatDoesNotFitIsAnErrorAlsoWhereNothingIsFound() async throws {
            let store = try await Self.store()
            for set in [["price": Value.string("x")], ["vin": .string("x")], ["pricee": .double(1)]] {
                await #expect(throws: RecordError.self) {
                    try await store.write { try $0.update(all: store.objects(Vehicle.self), set: set) }
                }
            }
            await #expect(throws: QueryError.self) {
                try await store.write { try $0.delete(all: $0.objects(Vehicle.self).filter("prize < 3")) }
            }
        }

        @Test func aNumberThatIsTheKeyIsNotAddedTo() async throws {
            let store = try await Store.open(StoreConfiguration(models: [Flight.self]))
            let flight = Flight(number: 1, carrier: "UA")
            try await store.write { try $0.insert(flight) }
            await #expect(throws: RecordError.self) {
                try await store.write { try $0.update(all: $0.objects(Flight.self), add: ["number": .int(1)]) }
            }
            await #expect(throws: RecordError.self) {
                try await store.write { try $0.increment(flight, \.number, by: 1) }
            }
            #expect(try store.objects(Flight.self).fetch().map(\.number) == [1])
        }

        @Test func resultsOfAWriteEndWithIt() async throws {
            let store = try await Self.store()
            let escaped = try await store.write { tx in
                try tx.insert(Self.vehicle(1, price: 1))
                let results = tx.objects(Vehicle.self).where { $0.price == 1 }
                #expect(throws: StoreError.self) { try results.observe { _ in } }
                #expect(try results.count() == 1)
                return results
            }
            let late = #expect(throws: StoreError.self) { try escaped.count() }
            #expect(late?.code == .outsideWrite)
            let observed = #expect(throws: StoreError.self) { try escaped.observe { _ in } }
            #expect(observed?.code == .insideWrite)
            // Another write does not revive them.
            try await store.write { _ in
                let other = #expect(throws: StoreError.self) { try escaped.first() }
                #expect(other?.code == .outsideWrite)
            }
        }

        @Test func linksInAWriteLeadToWhatItSees() async throws {
            let store = try await Self.store()
            try await store.write { try $0.insert(Garage(code: "g", city: "Rome")) }
            try await store.write { tx in
                var vehicle = Self.vehicle(1, price: 1)
                vehicle.garage = Link(key: "g")
                vehicle.owners = [Link(key: "ada")]
                try tx.insert(vehicle)
                try tx.insert(Person(name: "ada", age: 40))
                try tx.update(Garage(code: "g")) { $0.city = "Bonn" }
                let found = try #require(try tx.objects(Vehicle.self).first())
                #expect(try found.garage?.fetch()?.city == "Bonn")
                #expect(try found.owners.fetchAll().map(\.age) == [40])
                let ada = try #require(try tx.object(Person.self, key: "ada"))
                #expect(try ada.vehicles.fetchAll().map(\.vin) == [found.vin])
            }
        }

        @Test func changesOfAllTravelAsEveryOtherWrite() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            let bob = try await server.open()
            try await alice.upload((0..<10).map { Self.vehicle($0, price: Double($0)) })
            let theirs = try EventRecorder(bob.objects(Vehicle.self).sorted(by: \.vin))
            try await theirs.complete()
            try await alice.write { tx in
                try tx.update(all: tx.objects(Vehicle.self).where { $0.price < 3 }) { $0.views += 1 }
                try tx.update(all: tx.records("Vehicle WHERE price < 3"), add: ["views": .int(1)])
                try tx.delete(all: tx.objects(Vehicle.self).where { $0.price > 6 })
            }
            let change = try await theirs.event { $0.results.count == 7 }
            #expect(change.views == [2, 2, 2, 0, 0, 0, 0] && change.remote != nil)
        }

        /// The steps of SQLite's machine that a write takes beside as many objects.
        private func steps(
            beside count: Int, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
        ) async throws -> Int {
            let store = try await Self.store()
            let core = store.core
            try await store.write { tx in
                for number in 0..<count { try tx.insert(Self.vehicle(number, price: Double(number))) }
            }
            return try await store.write { tx in
                let storage = core.storage
                let limit = WorkLimit(stepCountMax: .max, interval: 20)
                try storage.withWorkLimit(limit) { try body(tx) }
                return limit.stepCount
            }
        }

        private static let work: [@Sendable (borrowing WriteTransaction) throws -> Void] = [
            { try $0.update(all: $0.objects(Vehicle.self).filter("vin BEGINSWITH 'v00002'")) { $0.price += 1 } },
            { try $0.delete(all: $0.objects(Vehicle.self).filter("vin BEGINSWITH 'v00002'")) },
            { try $0.update(all: $0.objects(Vehicle.self).sorted(by: \.vin).limit(10), add: ["views": .int(1)]) },
            { _ = try $0.objects(Vehicle.self).sorted(by: \.vin, ascending: false).first() },
        ]

        @Test(arguments: work.indices) func whatIsNotFoundCostsNothing(_ index: Int) async throws {
            let few = try await steps(beside: 500, Self.work[index])
            let many = try await steps(beside: 2_000, Self.work[index])
            #expect(few > 0 && many < few + few / 4, "\(few) steps beside 500 objects, \(many) beside 2,000")
        }

        @Test func aChangedObjectIsReadOnce() async throws {
            let found = try await steps(beside: 1_000) { _ = try $0.objects(Vehicle.self).fetch() }
            let changed = try await steps(beside: 1_000) { try $0.update(all: $0.objects(Vehicle.self)) { _ in } }
            #expect(changed < found + found / 10, "\(found) steps to find, \(changed) to look at each")
        }
    }
#endif
