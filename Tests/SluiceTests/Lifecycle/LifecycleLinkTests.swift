import Dispatch
import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Which objects a query includes besides its results, and which it leaves out (decisions 3, 10 to 12, rows P30 to
    /// P34, P39 to P46).
    @Suite(.timeLimit(.minutes(10))) struct LifecycleLinkTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open()
        }

        private func uploadCar() async throws {
            try await alice.upload(
                [
                    Person(name: "ann", age: 30, friends: [Link(key: "ben")]),
                    Person(name: "ben", friends: [Link(key: "ann")]),
                    Garage(code: "G", city: "Oslo"),
                    Vehicle(vin: "a", plate: "P", owners: [Link(key: "ann")], garage: Link(key: "G")),
                ] as [any Model])
        }

        private final class Warnings: Sendable {
            private let lines = Mutex<[String]>([])

            var all: [String] { lines.withLock { $0 } }

            func sink(_ level: LogLevel) -> LogSink {
                LogSink(level: level) { [self] line in
                    if line.level == .warning { lines.withLock { $0.append(line.message) } }
                }
            }
        }

        @Test func anInverseRelationshipIsReadOnObjectsAndAskedInQueries() async throws {
            let (ann, bea) = (Person(name: "Ann"), Person(name: "Bea"))
            try await alice.upload([
                ann, bea, Vehicle(vin: "a", price: 1, plate: "", owners: [ann, bea]),
                Vehicle(vin: "b", price: 9, plate: "", owners: [ann]),
            ])
            let here = try #require(try alice.object(Person.self, key: "Ann"))
            #expect(Set(try here.vehicles.fetchAll().map(\.vin)) == ["a", "b"])
            #expect(try here.vehicles.count() == 2)
            let recorder = try EventRecorder(bob.objects(Person.self).where { $0.vehicles.any.price > 5 })
            #expect(try await recorder.complete().results.map(\.name) == ["Ann"])
            let named = bob.objects(Person.self).filter("vehicles.@count == 1")
            #expect(try await named.synced().map(\.name) == ["Bea"])
            // Another store's write makes Bea a result, although nothing of Bea herself changes.
            try await alice.write { try $0.upsert(Vehicle(vin: "c", price: 7, plate: "", owners: [bea])) }
            let change = try await recorder.event { $0.results.count == 2 }
            #expect(change.remote != nil && change.insertions.count == 1)
            try await alice.write { try $0.delete(Vehicle.self, key: "b") }
            let left = try await recorder.event { $0.results.count == 1 && !$0.deletions.isEmpty }
            #expect(left.results.map(\.name) == ["Bea"])
        }

        @Test func linksAreFollowedDeeplyAndCyclesEnd() async throws {
            try await uploadCar()
            let car = try #require(try await bob.objects(Vehicle.self).synced().first)
            let ann = try #require(try car.owners.first?.fetch())
            #expect(try ann.friends.first?.fetch()?.friends.first?.fetch()?.name == "ann")
            #expect(try car.garage?.fetch()?.city == "Oslo")
        }

        @Test func whatOnlyAnExcludedLinkLeadsToStaysAway() async throws {
            try await uploadCar()
            let car = try #require(try await bob.objects(Vehicle.self).excluding(\.owners).synced().first)
            #expect(car.owners.isExcluded && car.owners.isEmpty)
            #expect(try bob.objects(Person.self).count() == 0)
            #expect(try car.garage?.fetch() != nil)
        }

        @Test func exclusionByPathReachesOnlyThatPath() async throws {
            try await uploadCar()
            let car = try #require(try await bob.objects(Vehicle.self).excluding("owners.friends").synced().first)
            let ann = try #require(try car.owners.first?.fetch())
            #expect(ann.friends.isExcluded && ann.age == 30)
            #expect(try bob.objects(Person.self).count() == 1)
        }

        @Test func changesBehindAnExcludedPropertyAreNoEvents() async throws {
            try await uploadCar()
            let recorder = try EventRecorder(bob.objects(Vehicle.self).excluding(\.owners))
            try await recorder.complete()
            let count = recorder.events.count
            try await alice.write { try $0.update(Person(name: "ann")) { $0.age = 31 } }
            try await alice.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.views = 1 } }
            try await recorder.event { !$0.modifications.isEmpty }
            #expect(recorder.events.count == count + 1)
        }

        @Test func changesOfLinkedObjectsModifyTheResult() async throws {
            try await uploadCar()
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            try await alice.write { try $0.update(Person(name: "ann")) { $0.age = 31 } }
            let change = try await recorder.event { $0.modifications == [0] }
            #expect(try change.results[0].owners.first?.fetch()?.age == 31)
        }

        @Test func anExcludedPropertyWithADefaultReadsAsItAndOneWithoutThrows() async throws {
            try await uploadCar()
            let defaulted = try await bob.objects(Vehicle.self).excluding(\.name).synced()
            #expect(defaulted.map(\.name) == ["Toyota"])
            let carol = try await server.open()
            await #expect(throws: ModelError.self) { try await carol.objects(Vehicle.self).excluding(\.plate).synced() }
        }

        @Test func readingWhatAQueryExcludesIsLoggedAtVerboseLevel() async throws {
            try await uploadCar()
            let warnings = Warnings()
            let carol = try await server.open(lifecycleModels) { $0.log = warnings.sink(.verbose) }
            let cars = try await carol.objects(Vehicle.self).excluding(\.name).excluding(\.garage).synced()
            #expect(warnings.all.count == 1 && warnings.all[0].contains("Vehicle.name"))
            let garage = try #require(cars.first?.garage)
            #expect(try garage.fetch() == nil && garage.fetch() == nil)
            #expect(warnings.all.count == 2 && warnings.all[1].contains("Vehicle.garage"))
        }

        @Test func readingWhatAQueryExcludesIsNotLoggedBelowThatLevel() async throws {
            try await uploadCar()
            let warnings = Warnings()
            let carol = try await server.open(lifecycleModels) { $0.log = warnings.sink(.debug) }
            let cars = try await carol.objects(Vehicle.self).excluding(\.name).excluding(\.garage).synced()
            #expect(try cars.first?.garage?.fetch() == nil)
            #expect(warnings.all.isEmpty)
        }

        @Test func anotherQueryThatBringsThePropertyMakesItPresent() async throws {
            try await uploadCar()
            let without = try EventRecorder(bob.objects(Vehicle.self).excluding(\.owners))
            try await without.complete()
            let with = try EventRecorder(bob.objects(Vehicle.self))
            try await with.complete()
            let car = try #require(try bob.objects(Vehicle.self).excluding(\.owners).fetch().first)
            #expect(!car.owners.isExcluded && car.owners.count == 1)
        }

        @Test func resolveBringsAnAbsentTarget() async throws {
            try await uploadCar()
            let cars = try await bob.objects(Vehicle.self).excluding(\.garage).excluding(\.owners).synced()
            let link = try #require(cars.first?.garage)
            #expect(link.isExcluded && !link.isPresent)
            #expect(try await link.resolve().city == "Oslo")
        }

        @Test func resolvingGivesUpWhenNothingComesInTime() async throws {
            try await uploadCar()
            let cars = try await bob.objects(Vehicle.self).excluding(\.garage).synced()
            let link = try #require(cars.first?.garage)
            server.cut(bob)
            let waiting = Task { try await link.resolve(timeout: .seconds(30)) }
            // There are two timers: that of the wait, and that of reconnecting.
            while server.clock.timerCount < 2 {
                try Task.checkCancellation()
                await Task.yield()
            }
            server.clock.advance(by: .seconds(31))
            let error = await #expect(throws: SyncError.self) { try await waiting.value }
            #expect(error?.code == .timedOut)
        }

        @Test func anObjectIsObservedByValueByKeyAndByIdBeforeItIsHere() async throws {
            let key = try EventRecorder(bob.results(Vehicle.self, key: "a"))
            let value = try EventRecorder(bob.results(of: Vehicle(vin: "a", plate: "")))
            let id = try EventRecorder(bob.results(Record.self, id: Vehicle(vin: "a", plate: "").objectID))
            try await key.complete()
            try await alice.upload(vins: "a")
            try await key.event { $0.vins == ["a"] }
            try await value.event { $0.vins == ["a"] }
            try await id.event { $0.results.count == 1 }
            try await alice.write { try $0.delete(Vehicle(vin: "a", plate: "")) }
            let gone = try await id.event { !$0.removals.isEmpty }
            #expect(gone.removals.map(\.reason) == [.deleted])
        }

        @Test func anObjectIsAskedForByItsKeyAndNotByItsId() async throws {
            #expect(try bob.results(Vehicle.self, key: "a").canonicalText == #"Vehicle WHERE vin == "a""#)
            #expect(try bob.results(of: Vehicle(vin: "a", plate: "")).canonicalText == #"Vehicle WHERE vin == "a""#)
            let memo = Memo(text: "x")
            #expect(try bob.results(of: memo).canonicalText == "OBJECT(\(memo.objectID))")
            try await alice.upload(vins: "a", "b")
            let some = try bob.results(Vehicle.self, key: "a").excluding(\.owners).where { $0.plate != "none" }
            #expect(try await some.synced().map(\.vin) == ["a"])
        }

        @Test func aKeyOfAnotherTypeIsRefused() async throws {
            try await alice.upload(vins: "1")
            let error = #expect(throws: RecordError.self) { try bob.results(Vehicle.self, key: 1) }
            #expect(error?.message.contains("vin") == true)
        }

        @Test func anObjectIsObservedByItselfOnTheQueueAskedFor() async throws {
            let queue = DispatchQueue(label: "test")
            let (vins, continuation) = AsyncStream.makeStream(of: [String].self)
            let token = try bob.observe(Vehicle(vin: "a", plate: ""), on: queue) { change in
                dispatchPrecondition(condition: .onQueue(queue))
                continuation.yield(change.vins)
            }
            try await alice.upload(vins: "a", "b")
            for await seen in vins where seen == ["a"] { break }
            token.stop()
        }

        @Test func valuesHaveTheirGlobalIdBeforeAnyStoreAndEverywhereTheSame() async throws {
            let memo = Memo(text: "x")
            #expect(memo.objectID != Memo(text: "x").objectID)
            try await alice.upload([memo])
            _ = try await bob.objects(Memo.self).synced()
            #expect(try bob.object(Memo.self, id: memo.objectID)?.text == "x")
            #expect(try bob.object(memo.objectID)?.classSchema.name == "Memo")
            #expect(Vehicle(vin: "a", plate: "").objectID == Vehicle(vin: "a", plate: "other").objectID)
        }
    }
#endif
