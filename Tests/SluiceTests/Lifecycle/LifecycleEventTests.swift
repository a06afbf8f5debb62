import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// The events that observers receive, and the origins of these (decisions 2 and 9, rows P14 to P23, P35 to P38).
    @Suite(.timeLimit(.minutes(10))) struct LifecycleEventTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer(workerID: "w1")
            alice = try await server.open()
            bob = try await server.open()
        }

        @Test func aLocalChangeHasNoRemoteAndTheServersChangeSaysWhoseItWas() async throws {
            let mine = try EventRecorder(alice.objects(Vehicle.self))
            let theirs = try EventRecorder(bob.objects(Vehicle.self))
            try await mine.complete()
            try await theirs.complete()
            server.clock.advance(by: .seconds(60))
            let accepted = server.clock.now
            try await alice.upload(vins: "a")
            #expect(try await mine.event { !$0.insertions.isEmpty }.remote == nil)
            let remote = try #require(try await theirs.event { !$0.insertions.isEmpty }.remote)
            #expect(remote.operations == [.create] && remote.acceptedAt == accepted)
            #expect(remote.receivedAt >= remote.acceptedAt && remote.workerID == "w1" && remote.userID == nil)
            try await alice.write { try $0.increment(Vehicle(vin: "a", plate: ""), \.views, by: 2) }
            let change = try await theirs.event { !$0.modifications.isEmpty }
            #expect(change.remote?.operations == [.add])
            #expect(change.results[0].views == 2)
        }

        @Test func anAcknowledgementThatChangesNothingIsNoEvent() async throws {
            let recorder = try EventRecorder(alice.objects(Vehicle.self))
            try await recorder.complete()
            let count = recorder.events.count
            try await alice.upload(vins: "a")
            try await recorder.event { $0.vins == ["a"] }
            #expect(recorder.events.count == count + 1)
        }

        @Test func theStateGoesFromPendingToCompleteAndComesBackAfterALoss() async throws {
            try await alice.upload(vins: "a")
            server.cut(bob)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            let first = try await recorder.event { $0.isInitial }
            #expect(first.state == .pending && first.remote == nil)
            server.restore(bob)
            let complete = try await recorder.complete()
            #expect(complete.subscription.progress == 1 && complete.vins == ["a"])
            #expect(recorder.events.filter(\.isInitial).count == 1)
        }

        @Test func aBootstrapOfManyPagesSaysHowFarItIsAndItsFirstPageIsOnScreenEarly() async throws {
            try await alice.upload((0..<30_000).map { Vehicle(vin: "v\($0)", price: Double($0), plate: "") })
            let recorder = try EventRecorder(bob.objects(Vehicle.self).sorted(by: \.price))
            try await recorder.complete()
            let underWay = recorder.events.filter { $0.state == .bootstrapping }
            let progress = underWay.map(\.subscription.progress)
            #expect(progress == progress.sorted() && progress.contains { $0 > 0 && $0 < 1 }, "\(progress)")
            let early = underWay.first { !$0.insertions.isEmpty }
            #expect(early?.results[0].price == 0)
            #expect(recorder.events.last?.results.count == 30_000)
        }

        @Test func everyEventSaysWhatItComesFrom() async throws {
            server.cut(bob)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.event { $0.isInitial }
            server.restore(bob)
            try await recorder.complete()
            try await alice.upload(vins: "a")
            try await recorder.event { !$0.insertions.isEmpty }
            try await bob.upload(vins: "b")
            try await recorder.event { Set($0.vins) == ["a", "b"] }
            let origins = recorder.events.map(\.origin.description)
            #expect(origins == ["initial", "status", "remote (create)", "local"])
            #expect(recorder.events.map { $0.remote != nil } == [false, false, true, false])
        }

        @Test func everyEventSaysWhetherTheServerHasConfirmedTheResultsInThisConnection() async throws {
            try await alice.upload(vins: "a")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            #expect(try await recorder.complete().freshness == .confirmed)
            server.clock.advance(by: .seconds(60))
            let lost = server.clock.now
            server.cut(bob)
            for await change in try #require(bob.session).changes where change.new.activity == .offline { break }
            try await bob.write { try $0.insert(Vehicle(vin: "b", plate: "")) }
            #expect(try await recorder.event { $0.results.count == 2 }.freshness == .cached(since: lost))
            try await alice.upload(vins: "c")
            server.restore(bob)
            #expect(try await recorder.event { $0.results.count == 3 }.freshness == .confirmed)
        }

        @Test func whatWasNeverConfirmedHereIsCachedSinceAnUnknownTime() async throws {
            server.cut(bob)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            #expect(try await recorder.event { $0.isInitial }.freshness == .cached(since: nil))
        }

        /// Pages make many events, and the handler gets one at a time.
        @Test func whenSyncedReturnsTheHandlersWereToldThatTheQueryIsComplete() async throws {
            try await alice.upload((0..<30_000).map { Vehicle(vin: "v\($0)", price: Double($0), plate: "") })
            let vehicles = bob.objects(Vehicle.self).sorted(by: \.price)
            let recorder = try EventRecorder(vehicles)
            #expect(try await vehicles.synced().count == 30_000)
            let last = try #require(recorder.events.last)
            #expect(last.state == .complete && last.results.count == 30_000)
            recorder.token.stop()
        }

        @Test func bootstrapCountsAsRemoteCreation() async throws {
            try await alice.upload(vins: "a")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            let change = try await recorder.event { !$0.insertions.isEmpty }
            #expect(change.remote?.operations == [.create] && change.remote?.userID == nil)
        }

        @Test func aLimitedResultNeverExceedsItsLimitAndRefills() async throws {
            try await alice.upload([
                Vehicle(vin: "a", price: 1, plate: ""), Vehicle(vin: "b", price: 2, plate: ""),
                Vehicle(vin: "c", price: 3, plate: ""),
            ])
            let recorder = try EventRecorder(bob.objects(Vehicle.self).sorted(by: \.price).limit(2))
            #expect(try await recorder.complete().vins == ["a", "b"])
            try await alice.upload([Vehicle(vin: "d", price: 0, plate: "")])
            let pushed = try await recorder.event { $0.vins == ["d", "a"] }
            #expect(pushed.removals.map(\.reason) == [.window] && pushed.insertions == [0])
            try await alice.write { try $0.delete(Vehicle(vin: "d", plate: "")) }
            let pulled = try await recorder.event(from: recorder.events.count - 1) { $0.vins == ["a", "b"] }
            #expect(pulled.removals.map(\.reason) == [.deleted])
            #expect(recorder.events.allSatisfy { $0.results.count <= 2 })
        }

        @Test func linkedObjectsDoNotCountAgainstTheLimit() async throws {
            let owners = (0..<5).map { Person(name: "p\($0)") }
            try await alice.upload(owners + [Vehicle(vin: "a", plate: "", owners: Links(owners))] as [any Model])
            let vehicles = try await bob.objects(Vehicle.self).limit(1).synced()
            #expect(vehicles.count == 1)
            #expect(try vehicles[0].owners.fetchAll().count == 5)
        }

        @Test func objectsComeAndGoWithTheirProperties() async throws {
            try await alice.upload(vins: "a", price: 5)
            let recorder = try EventRecorder(bob.objects(Vehicle.self).where { $0.price < 10 })
            try await recorder.complete()
            try await alice.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 50 } }
            let left = try await recorder.event { !$0.removals.isEmpty }
            #expect(left.removals.map(\.reason) == [.filter] && left.remote?.operations == [.set])
            try await alice.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 6 } }
            try await recorder.event(from: recorder.events.count - 1) { $0.vins == ["a"] }
        }

        @Test func catchingUpTellsWhatLeftAndWhy() async throws {
            try await alice.upload(vins: "deleted", "dear", "kept", price: 5)
            let recorder = try EventRecorder(
                bob.objects(Vehicle.self).where { $0.price < 10 }.excluding(\.owners).excluding(\.garage))
            try await recorder.complete()
            server.cut(bob)
            try await alice.write { tx in
                try tx.delete(Vehicle(vin: "deleted", plate: ""))
                try tx.update(Vehicle(vin: "dear", plate: "")) { $0.price = 99 }
            }
            try await alice.upload(vins: "new", price: 3)
            server.restore(bob)
            let change = try await recorder.event { $0.removals.count == 2 }
            let reasons = Dictionary(
                uniqueKeysWithValues: change.removals.map { ($0.identity.key.description, $0.reason) })
            #expect(reasons == ["deleted": .deleted, "dear": .filter])
            #expect(Set(change.vins) == ["kept", "new"] && change.remote?.operations == [.create, .set, .delete])
        }
    }
#endif
