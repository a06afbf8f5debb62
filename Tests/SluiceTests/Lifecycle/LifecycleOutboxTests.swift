import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What a store says of writes that the server has not confirmed.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleOutboxTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open()
        }

        private func vehicle(_ vin: String, price: Double = 1) -> Vehicle {
            Vehicle(vin: vin, price: price, plate: "P")
        }

        @Test func whatIsPendingIsKnownUntilTheServerHasIt() async throws {
            try await store.upload(vins: "a", "b", "c")
            #expect(try store.pendingObjectIDs().isEmpty && store.outgoingCount() == 0)
            server.cut(store)
            let memo = Memo(text: "x")
            try await store.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 2 } }
            try await store.write { tx in
                try tx.delete(Vehicle.self, key: "b")
                try tx.insert(memo)
            }
            #expect(
                try store.pendingObjectIDs() == [vehicle("a").objectID, vehicle("b").objectID, memo.objectID])
            #expect(try store.isPending(vehicle("a")) && store.isPending(vehicle("b")) && store.isPending(memo))
            #expect(try !store.isPending(vehicle("c")) && !store.isPending(vehicle("none")))
            #expect(try store.isPending(vehicle("a").identity))
            #expect(try store.outgoingCount() == 2 && store.outgoingCount(limit: 1) == 1)
            server.restore(store)
            try await store.uploaded()
            #expect(try store.pendingObjectIDs().isEmpty && store.outgoingCount() == 0)
            #expect(try !store.isPending(vehicle("a")))
        }

        @Test func anEventSaysWhichObjectsShowPendingWrites() async throws {
            try await store.upload(vins: "a", "b")
            let quiet = try EventRecorder(store.objects(Vehicle.self).sorted(by: \.vin))
            let told = try EventRecorder(store.objects(Vehicle.self).sorted(by: \.vin).reportingPendingWrites())
            try await quiet.complete()
            try await told.complete()
            server.cut(store)
            try await store.write { try $0.update(Vehicle(vin: "b", plate: "")) { $0.price = 2 } }
            for recorder in [quiet, told] {
                let change = try await recorder.event { $0.modifications == [1] }
                #expect(!change.results.hasPendingWrites(at: 0) && change.results.hasPendingWrites(at: 1))
                #expect(change.remote == nil)
            }
            #expect(try store.objects(Vehicle.self).sorted(by: \.vin).snapshot().hasPendingWrites(at: 1))
            let before = (quiet.events.count, told.events.count)
            server.restore(store)
            try await store.uploaded()
            let settled = try await told.event(from: before.1) { $0.modifications == [1] }
            #expect(!settled.results.hasPendingWrites(at: 1))
            // Nothing that is shown has changed.
            try await store.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 3 } }
            let next = try await quiet.event(from: before.0) { $0.modifications == [0] }
            #expect(quiet.events[before.0].modifications == next.modifications)
            #expect(next.results.hasPendingWrites(at: 0) && !next.results.hasPendingWrites(at: 1))
        }

        @Test func aValueThatIsRefusedAndStaysCountsAsPending() async throws {
            let server = try TestServer(
                rules: #"{"database": {"schema": true}, "classes": {"Vehicle": {"read": true, "create": true}}}"#)
            let store = try await server.open(lifecycleModels, user: "ada") { $0.rejectedWrites = .keepLocal }
            try await store.upload(vins: "a")
            try await store.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 2 } }
            try await store.uploaded()
            #expect(try store.outgoingCount() == 0 && store.isPending(vehicle("a")))
            try await store.discardRejectedWrites()
            #expect(try !store.isPending(vehicle("a")))
        }
    }
#endif
