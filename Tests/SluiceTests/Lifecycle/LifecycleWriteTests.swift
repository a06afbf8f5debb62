import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Writing, waiting, stopping and resuming (decision 4, rows P8, P9, P64, S15 to S18).
    @Suite(.timeLimit(.minutes(10))) struct LifecycleWriteTests {
        private let server: TestServer
        private let alice: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
        }

        @Test func whatIsWrittenOutsideAnySubscriptionIsUploadedAndStaysUntilItIsCleanedUp() async throws {
            try await alice.upload(vins: "a")
            #expect(try alice.objects(Vehicle.self).count() == 1)
            let bob = try await server.open()
            #expect(try await bob.objects(Vehicle.self).synced().count == 1)
            #expect(try await alice.purgeUnsubscribed() == 1)
            #expect(try alice.objects(Vehicle.self).count() == 0)
            #expect(try await alice.objects(Vehicle.self).synced().count == 1)
        }

        @Test func cleaningUpSparesWhatIsNotSent() async throws {
            try await alice.connected()
            server.cut(alice)
            try await alice.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            #expect(try await alice.purgeUnsubscribed() == 0)
            server.restore(alice)
            try await alice.uploaded()
            let bob = try await server.open()
            #expect(try await bob.objects(Vehicle.self).synced().count == 1)
        }

        @Test func anUpsertWritesWhatIsNotHereEvenWhereItIsTheDefault() async throws {
            try await alice.upload([Vehicle(vin: "a", name: "Honda", price: 1, plate: "P-a")])
            let bob = try await server.open()
            let known = try #require(try await bob.objects(Vehicle.self).excluding(\.name).synced().first)
            try await bob.upload([known])
            let carol = try await server.open()
            #expect(try await carol.objects(Vehicle.self).synced().map(\.name) == ["Honda"])
            try await bob.upload([Vehicle(vin: "a", price: 1, plate: "P-a")])
            #expect(try await carol.objects(Vehicle.self).synced().map(\.name) == ["Toyota"])
        }

        @Test func aCompletingQueryRemovesWhatTheServerNoLongerHasSo() async throws {
            try await alice.upload(vins: "a")
            let bob = try await server.open()
            _ = try await bob.objects(Vehicle.self).synced()
            try await bob.write { try $0.delete(Vehicle(vin: "a", plate: "")) }
            try await bob.uploaded()
            #expect(try alice.objects(Vehicle.self).count() == 1)
            #expect(try await alice.objects(Vehicle.self).synced().isEmpty)
            #expect(try alice.objects(Vehicle.self).count() == 0)
        }

        @Test func writesOfBothSidesMeetAfterASeparation() async throws {
            let bob = try await server.open()
            try await alice.upload(vins: "a")
            let mine = try EventRecorder(alice.objects(Vehicle.self))
            let theirs = try EventRecorder(bob.objects(Vehicle.self))
            try await mine.complete()
            try await theirs.complete()
            server.cut(bob)
            try await bob.write { try $0.increment(Vehicle(vin: "a", plate: ""), \.views, by: 2) }
            try await alice.write { try $0.increment(Vehicle(vin: "a", plate: ""), \.views, by: 3) }
            try await alice.uploaded()
            server.restore(bob)
            try await bob.uploaded()
            try await mine.event { $0.views == [5] }
            try await theirs.event { $0.views == [5] }
        }

        @Test func aTransactionThatThrowsLeavesNothing() async throws {
            struct Abandoned: Error {}
            await #expect(throws: Abandoned.self) {
                try await alice.write { tx in
                    try tx.insert(Vehicle(vin: "a", plate: ""))
                    throw Abandoned()
                }
            }
            #expect(try alice.objects(Vehicle.self).count() == 0)
            await #expect(throws: StoreError.self) {
                try await alice.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 1 } }
            }
        }

        @Test func syncedWaitsForTheServersAnswer() async throws {
            try await alice.upload(vins: "a")
            let bob = try await server.open()
            server.cut(bob)
            async let vehicles = bob.objects(Vehicle.self).synced()
            server.restore(bob)
            #expect(try await vehicles.map(\.vin) == ["a"])
        }

        @Test func syncedTimesOutWithoutProgress() async throws {
            server.cut(alice)
            let waiting = Task { try await alice.objects(Vehicle.self).synced(timeout: .seconds(30)) }
            // There are two timers: that of the wait, and that of reconnecting.
            while server.clock.timerCount < 2 {
                try Task.checkCancellation()
                await Task.yield()
            }
            server.clock.advance(by: .seconds(31))
            let error = await #expect(throws: SyncError.self) { try await waiting.value }
            #expect(error?.code == .timedOut)
        }

        @Test func syncedReportsTheServersRejection() async throws {
            let stranger = try await server.open(lifecycleModels, database: "no.such.name")
            let error = await #expect(throws: SyncError.self) { try await stranger.objects(Vehicle.self).synced() }
            #expect(error?.code != .timedOut)
        }

        @Test func aStoppedServerLosesNothingThatItAcknowledged() async throws {
            let recorder = try EventRecorder(alice.objects(Vehicle.self))
            try await alice.upload(vins: "a")
            await server.stop()
            try await alice.write { try $0.insert(Vehicle(vin: "b", plate: "")) }
            try server.start()
            try await alice.uploaded()
            let bob = try await server.open()
            #expect(Set(try await bob.objects(Vehicle.self).synced().map(\.vin)) == ["a", "b"])
            try await recorder.event { $0.state == .complete && $0.results.count == 2 }
        }

        @Test func storesOnOnePathShareEverything() async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-shared-\(UUID().uuidString).sluice"
            defer {
                for suffix in ["", "-wal", "-shm", "-lock", "-marker"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
            }
            let first = try await server.open(lifecycleModels, path: path)
            let second = try await server.open(lifecycleModels, path: path)
            let recorder = try EventRecorder(second.objects(Vehicle.self))
            try await first.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            #expect(try await recorder.event { $0.vins == ["a"] }.remote == nil)
            await first.close()
            #expect(throws: StoreError.self) { try second.objects(Vehicle.self).fetch() }
        }

        @Test func writesSurviveClosingAndAreUploadedLater() async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-later-\(UUID().uuidString).sluice"
            defer {
                for suffix in ["", "-wal", "-shm", "-lock", "-marker"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
            }
            let offline = try await server.open(lifecycleModels, path: path)
            server.cut(offline)
            try await offline.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            await offline.close()
            let again = try await server.open(lifecycleModels, path: path)
            #expect(try again.objects(Vehicle.self).count() == 1)
            try await again.uploaded()
            #expect(try await alice.objects(Vehicle.self).synced().map(\.vin) == ["a"])
        }
    }
#endif
