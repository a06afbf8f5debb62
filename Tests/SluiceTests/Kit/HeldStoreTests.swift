import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Holding what a server sends, and letting it go step by step.
    @Suite(.timeLimit(.minutes(10))) struct HeldStoreTests {
        private let server: TestServer
        private let writer: Store
        private let store: Store

        init() async throws {
            server = try TestServer()
            writer = try await server.open()
            store = try await server.open()
        }

        @Test func aStoreIsHeldInEachStateOfABootstrap() async throws {
            try await writer.upload(vins: "a", "b")
            server.hold(store, before: .page)
            let recorder = try EventRecorder(store.objects(Vehicle.self).sorted(by: \.vin))
            try await server.settled()
            #expect(recorder.events.map(\.state) == [.pending])
            #expect(server.held(store).first == .page)
            #expect(try await server.step(store) == .page)
            #expect(recorder.events.map(\.state) == [.pending, .bootstrapping])
            #expect(recorder.events.last?.vins == ["a", "b"])
            while server.held(store).contains(.complete) { try await server.step(store) }
            #expect(recorder.events.last?.state == .complete)
            #expect(recorder.events.last?.vins == ["a", "b"])
        }

        @Test func whatIsHeldComesInOrderWithTheRelease() async throws {
            let recorder = try EventRecorder(store.objects(Vehicle.self).sorted(by: \.vin))
            try await recorder.complete()
            server.hold(store)
            try await writer.upload(vins: "a")
            try await writer.upload(vins: "b")
            try await server.settled()
            #expect(recorder.events.last?.vins == [])
            #expect(server.held(store) == [.commit, .commit])
            #expect(try await server.step(store) == .commit)
            #expect(recorder.events.last?.vins == ["a"])
            server.release(store)
            try await server.settled()
            #expect(recorder.events.last?.vins == ["a", "b"])
            #expect(server.held(store).isEmpty)
            await #expect(throws: NotSettled.self) { try await server.step(store) }
        }

        @Test func aSessionIsHeldBeforeItOpens() async throws {
            server.cut(store)
            try await server.settled()
            server.hold(store, before: .session)
            server.restore(store)
            try await server.settled()
            #expect(store.session?.activity == .connecting)
            #expect(server.held(store).first == .session)
            server.release(store)
            try await server.settled()
            #expect(store.session?.activity == .idle)
        }

        @Test func whatIsHeldIsLostWithTheConnection() async throws {
            server.hold(store)
            try await writer.upload(vins: "a")
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await server.settled()
            server.cut(store)
            #expect(server.held(store).isEmpty)
            server.release(store)
            server.restore(store)
            #expect(try await recorder.complete().vins == ["a"])
        }

        @Test func aWriteIsUnconfirmedAsLongAsTheAcknowledgementIsHeld() async throws {
            try await store.connected()
            server.hold(store)
            try await store.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            try await server.settled()
            #expect(try store.outgoingCount() == 1)
            let other = try EventRecorder(writer.objects(Vehicle.self))
            #expect(try await other.complete().vins == ["a"])
            #expect(try store.outgoingCount() == 1)
            #expect(try await server.step(store) == .commit)
            try await store.uploaded()
            #expect(try store.outgoingCount() == 0)
        }

        @Test func settledSaysThatNothingCame() async throws {
            let recorder = try EventRecorder(store.objects(Vehicle.self).where { $0.price > 10 })
            try await recorder.complete()
            try await server.settled()
            let count = recorder.events.count
            try await writer.upload(vins: "a", price: 1)
            try await server.settled()
            #expect(recorder.events.count == count)
            try await writer.upload(vins: "b", price: 11)
            try await server.settled()
            #expect(recorder.events.count == count + 1)
        }

        @Test func settledSeesALongBootstrapThrough() async throws {
            try await writer.upload((0..<3_000).map { Vehicle(vin: "\($0)", plate: "P") })
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await server.settled()
            #expect(recorder.events.last?.state == .complete)
            #expect(recorder.events.last?.results.count == 3_000)
            try await writer.write { tx in _ = try tx.update(all: tx.objects(Vehicle.self)) { $0.price = 2 } }
            try await server.settled()
            #expect(try store.objects(Vehicle.self).where { $0.price == 2 }.count() == 3_000)
        }
    }
#endif
