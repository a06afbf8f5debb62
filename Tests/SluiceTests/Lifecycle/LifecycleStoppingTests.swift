import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What is left of a query that ends while something is on its way to it: what no other query holds is gone, and
    /// whatever is left is whole.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleStoppingTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open(lifecycleModels) { $0.purgesWhenTokenIsReleased = true }
            try await alice.upload([
                Garage(code: "g", city: "Lyon"),
                Vehicle(vin: "a", price: 1, plate: "P", garage: Link(key: "g")),
                Vehicle(vin: "b", price: 2, plate: "P"), Vehicle(vin: "c", price: 3, plate: "P"),
            ])
        }

        /// How many objects of every class a store has.
        private func count(_ store: Store) throws -> Int {
            try store.objects(Vehicle.self).count() + store.objects(Garage.self).count()
        }

        // MARK: Before the rows are here

        @Test(arguments: [ServerMessageKind.page, .complete])
        func aQueryThatEndsAmidItsPagesLeavesNothing(held: ServerMessageKind) async throws {
            server.hold(bob, before: held)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await server.settled()
            recorder.token.stop()
            server.release(bob)
            try await server.settled()
            #expect(try count(bob) == 0)
            #expect(try await bob.purgeUnsubscribed() == 0)
        }

        @Test func aQueryThatEndsAgainAndAgainLeavesNothing() async throws {
            for _ in 0..<20 {
                let recorder = try EventRecorder(bob.objects(Vehicle.self))
                recorder.token.stop()
            }
            try await server.settled()
            #expect(try count(bob) == 0)
        }

        @Test func aQueryThatIsObservedAgainAtOnceIsCompleteAndThenLeavesNothing() async throws {
            server.hold(bob, before: .page)
            let first = try EventRecorder(bob.objects(Vehicle.self))
            try await server.settled()
            first.token.stop()
            let second = try EventRecorder(bob.objects(Vehicle.self).sorted(by: \.vin))
            let third = try EventRecorder(bob.objects(Vehicle.self))
            server.release(bob)
            #expect(try await second.complete().vins == ["a", "b", "c"])
            try await third.complete()
            third.token.stop()
            second.token.stop()
            try await server.settled()
            #expect(try count(bob) == 0)
        }

        @Test func whatCameBeforeTheConnectionWasLostGoesWithItsQuery() async throws {
            server.hold(bob, before: .complete)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await server.settled()
            #expect(try count(bob) == 4)
            server.cut(bob)
            #expect(try count(bob) == 4)
            recorder.token.stop()
            #expect(try count(bob) == 0)
            server.release(bob)
            server.restore(bob)
            try await server.settled()
            #expect(try count(bob) == 0)
        }

        @Test func whatAnEarlierProcessHadOfABootstrapGoesWithItsQuery() async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-stopping-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let earlier = try await server.open(lifecycleModels, path: folder + "/store.sluice")
            server.hold(earlier, before: .complete)
            let recorder = try EventRecorder(earlier.objects(Vehicle.self))
            try await server.settled()
            #expect(try count(earlier) == 4)
            await earlier.close()
            _ = recorder
            let later = try await server.open(lifecycleModels, path: folder + "/store.sluice")
            #expect(try count(later) == 4)
            server.cut(later)
            try EventRecorder(later.objects(Vehicle.self)).token.stop()
            #expect(try count(later) == 0)
            await later.close()
        }

        @Test func whatAnotherQueryHoldsStaysWhenAPageIsForBoth() async throws {
            let cheap = try EventRecorder(bob.objects(Vehicle.self).where { $0.price < 3 })
            try await cheap.complete()
            server.hold(bob, before: .page)
            let all = try EventRecorder(bob.objects(Vehicle.self))
            try await server.settled()
            all.token.stop()
            server.release(bob)
            try await server.settled()
            #expect(try bob.objects(Vehicle.self).fetch().map(\.vin).sorted() == ["a", "b"])
            cheap.token.stop()
            #expect(try count(bob) == 0)
        }

        @Test func whatWasWrittenHereStaysWhenItsQueryEndsAmidItsPages() async throws {
            server.hold(bob, before: .page)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await server.settled()
            try await bob.write { try $0.insert(Vehicle(vin: "d", plate: "P")) }
            recorder.token.stop()
            server.release(bob)
            try await bob.uploaded()
            try await server.settled()
            #expect(try bob.objects(Vehicle.self).fetch().map(\.vin) == ["d"])
        }

        // MARK: While a commit is on its way

        enum Ending: String, CaseIterable { case stop, purgeLater, stopSyncing, release, keep }
        enum Change: String, CaseIterable { case set, twice, leave, delete, linked, increment, recreate, create }

        @Test(arguments: Ending.allCases, Change.allCases)
        func aCommitThatCrossesTheEndLeavesWholeObjectsOrNone(ending: Ending, change: Change) async throws {
            let results = bob.objects(Vehicle.self).where { $0.price < 10 }
            var recorder: EventRecorder? = try EventRecorder(results)
            try await recorder?.complete()
            server.hold(bob, before: .commit)
            try await make(change)
            try await server.settled()
            switch ending {
            case .stop: recorder?.token.stop()
            case .purgeLater:
                recorder?.token.stop(stopSyncing: true, purgeLocal: false)
                #expect(try await bob.purgeUnsubscribed() == 4)
            case .stopSyncing:
                recorder?.token.stop(stopSyncing: false)
                try bob.stopSyncing(results, purgeLocal: true)
            case .release: recorder = nil
            case .keep: recorder?.token.stop(stopSyncing: true, purgeLocal: false)
            }
            server.release(bob)
            try await server.settled()
            let left = try bob.records("Vehicle").fetch()
            #expect(left.count == (ending == .keep ? 3 : 0))
            #expect(left.allSatisfy { record in ["name", "price", "views", "plate"].allSatisfy(record.isPresent) })
            #expect(try count(bob) == (ending == .keep ? 4 : 0))
            #expect(try bob.objects(Vehicle.self).fetch().count == left.count)
            let again = try EventRecorder(bob.objects(Vehicle.self))
            try await again.complete()
            let right = try await alice.objects(Vehicle.self).synced().map { "\($0.vin) \($0.name) \($0.price)" }
            let shown = try bob.objects(Vehicle.self).fetch().map { "\($0.vin) \($0.name) \($0.price)" }
            #expect(shown.sorted() == right.sorted())
        }

        private func make(_ change: Change) async throws {
            let a = Vehicle(vin: "a", plate: "")
            try await alice.write { tx in
                switch change {
                case .set, .twice: try tx.update(a) { $0.price = 5 }
                case .leave: try tx.update(a) { $0.price = 99 }
                case .delete, .recreate: try tx.delete(a)
                case .linked: try tx.update(Garage(code: "g")) { $0.city = "Nice" }
                case .increment: try tx.increment(a, \.views, by: 1)
                case .create: try tx.insert(Vehicle(vin: "e", price: 4, plate: "P"))
                }
            }
            try await alice.uploaded()
            if change == .twice { try await alice.write { tx in try tx.update(a) { $0.name = "Audi" } } }
            if change == .recreate { try await alice.upload([Vehicle(vin: "a", price: 8, plate: "N")]) }
            try await alice.uploaded()
        }
    }
#endif
