import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Who asks the server, when, and for how long: observers of what is here alone, and each of ObjectBox's ways to
    /// request updates (rows O19, O43 to O46).
    @Suite(.timeLimit(.minutes(10))) struct CachedObservationTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open()
        }

        private var vehicles: Results<Vehicle> { alice.objects(Vehicle.self).sorted(by: \.vin) }

        @Test func whoObservesWhatIsHereAsksTheServerNothing() async throws {
            try await bob.upload(vins: "a", "b")
            try await alice.connected()
            let shown = try EventRecorder(vehicles.cached())
            try await server.settled()
            #expect(try alice.subscriptions().isEmpty)
            #expect(try await alice.serverSubscriptions().isEmpty)
            // What is written here is shown, and uploaded.
            try await alice.upload(vins: "c")
            try await bob.upload(vins: "d")
            try await server.settled()
            #expect(shown.events.map(\.vins) == [[], ["c"]])
            #expect(shown.events.map(\.state) == [.pending, .pending])
            #expect(shown.events.map(\.freshness) == [.cached(since: nil), .cached(since: nil)])
            #expect(shown.events.last?.origin == .local)
            #expect(try await bob.objects(Vehicle.self).synced().count == 4)
        }

        @Test func updatesThatAreRequestedOnceComeOnceAndAreShown() async throws {
            try await bob.upload(vins: "a")
            let shown = try EventRecorder(vehicles.cached())
            #expect(try await vehicles.synced().map(\.vin) == ["a"])
            try await shown.event { $0.vins == ["a"] }
            // No later changes are pushed, once the server knows that the wait is over.
            try await server.settled()
            try await bob.upload(vins: "b")
            try await server.settled()
            #expect(shown.events.last?.vins == ["a"])
            #expect(try vehicles.count() == 1)
            #expect(try await vehicles.cached().synced().map(\.vin) == ["a", "b"])
            let change = try await shown.event { $0.vins == ["a", "b"] }
            #expect(change.insertions == [1] && change.remote != nil)
        }

        @Test func updatesComeAtEachLoginWithoutPushesBetweenThem() async throws {
            try await bob.upload(vins: "a")
            let shown = try EventRecorder(vehicles.cached())
            let (session, vehicles) = (try #require(alice.session), vehicles)
            let (updates, update) = AsyncStream.makeStream(of: Void.self)
            let updating = Task {
                for await change in session.changes where change.new.login != nil && change.old?.login == nil {
                    _ = try? await vehicles.synced()
                    update.yield()
                }
            }
            try await shown.event { $0.vins == ["a"] }
            // The subscription of the update is there until it returns.
            for await _ in updates { break }
            try await server.settled()
            try await bob.upload(vins: "b")
            try await server.settled()
            #expect(shown.events.last?.vins == ["a"])
            server.cut(alice)
            try await bob.upload(vins: "c")
            server.restore(alice)
            try await shown.event { $0.vins == ["a", "b", "c"] }
            await alice.close()
            await updating.value
        }

        @Test func bothWaysToObserveAQueryGoOnBesideEachOther() async throws {
            let shown = try EventRecorder(vehicles.cached())
            let synced = try EventRecorder(vehicles)
            try await synced.complete()
            #expect(try alice.subscriptions().count == 1)
            try await bob.upload(vins: "a")
            try await synced.event { $0.vins == ["a"] }
            let change = try await shown.event { $0.vins == ["a"] }
            #expect(change.state == .pending && change.remote?.operations == [.create])
            // The end of either leaves the other as it is.
            let other = try EventRecorder(vehicles.cached())
            try await other.event { $0.vins == ["a"] }
            other.token.stop(stopSyncing: true, purgeLocal: true)
            #expect(try vehicles.count() == 1)
            synced.token.stop()
            let purged = try await shown.event { $0.vins.isEmpty && !$0.isInitial }
            #expect(purged.removals.map(\.reason) == [.purged])
            shown.token.stop(stopSyncing: false)
            #expect(try alice.subscriptions().isEmpty)
        }

        @Test func updatesThatAreCancelledCeaseAndWhatCameStays() async throws {
            try await bob.upload(vins: "a")
            server.hold(alice, before: .complete)
            let synced = try EventRecorder(vehicles)
            let shown = try EventRecorder(vehicles.cached())
            try await shown.event { $0.vins == ["a"] }
            synced.token.stop(purgeLocal: false)
            server.release(alice)
            try await bob.upload(vins: "b")
            try await server.settled()
            #expect(shown.events.last?.vins == ["a"])
            #expect(try await alice.serverSubscriptions().isEmpty)
        }

        @Test func aClassThatDoesNotSyncAndAStoreWithoutAServerHaveNothingElse() async throws {
            let alone = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let shown = try EventRecorder(alone.objects(Vehicle.self).cached())
            let usual = try EventRecorder(alone.objects(Vehicle.self))
            let both = try await (shown.event(where: \.isInitial), usual.event(where: \.isInitial))
            #expect(both.0.state == both.1.state && both.0.freshness == both.1.freshness)
            await alone.close()
        }

        /// Whatever brings and takes objects, the observer has what matches of what is here.
        @Test(arguments: [1, 2, 3] as [UInt64])
        func whatIsShownIsWhatMatchesOfWhatIsHere(seed: UInt64) async throws {
            var random = SeededGenerator(seed: seed)
            let all = alice.objects(Vehicle.self)
            let queries = [
                all.where { $0.views > 2 }.sorted(by: \.vin), all.sorted(by: \.views).sorted(by: \.vin).limit(3),
            ]
            let recorders = try queries.map { try EventRecorder($0.cached()) }
            var synced: [EventRecorder<Vehicle>] = []
            for step in 0..<40 {
                let store = Bool.random(using: &random) ? alice : bob
                let vehicle = Vehicle(
                    vin: "\(Int.random(in: 0..<8, using: &random))", views: Int.random(in: 0..<6, using: &random),
                    plate: "P")
                switch Int.random(in: 0..<8, using: &random) {
                case 0: synced.append(try EventRecorder(queries[step % 2]))
                case 1: synced.popLast()?.token.stop(purgeLocal: Bool.random(using: &random))
                case 2: _ = try await queries[step % 2].synced()
                case 3:
                    server.cut(alice)
                    try await bob.upload([vehicle])
                    server.restore(alice)
                case 4: try? await store.write { try $0.delete(vehicle) }
                default: try await store.write { try $0.upsert(vehicle) }
                }
                try await server.settled()
                let here = try all.fetch()
                let wanted = [
                    here.filter { $0.views > 2 }.map(\.vin).sorted(),
                    here.sorted { ($0.views, $0.vin) < ($1.views, $1.vin) }.prefix(3).map(\.vin),
                ]
                #expect(recorders.map { $0.events.last?.vins } == wanted, "step \(step)")
            }
        }
    }
#endif
