import Dispatch
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What can be done with a store while a write is under way on another thread.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleBusyStoreTests {
        private let store: Store
        private let release = DispatchSemaphore(value: 0)

        init() async throws { store = try await Store.open(StoreConfiguration(models: lifecycleModels)) }

        /// Begins a write that stays open until `release` is signalled.
        private func beginWrite() async -> Task<Void, any Error> {
            let (store, release) = (store, release)
            let (begun, continuation) = AsyncStream<Void>.makeStream()
            let writing = Task {
                try await store.write { transaction in
                    try transaction.insert(Vehicle(vin: "a", plate: "P"))
                    continuation.finish()
                    release.wait()
                }
            }
            for await _ in begun {}
            return writing
        }

        @Test func aStoreInMemoryIsReadBesideAnOpenWrite() async throws {
            let writing = await beginWrite()
            #expect(try store.objects(Vehicle.self).count() == 0)
            release.signal()
            try await writing.value
            #expect(try store.objects(Vehicle.self).count() == 1)
        }

        @Test func observingDoesNotWaitForAnOpenWrite() async throws {
            let writing = await beginWrite()
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            release.signal()
            try await writing.value
            let first = try await recorder.event { $0.isInitial }
            #expect(first.vins == ["a"])
        }

        @Test func anObservationThatEndsBeforeItCouldBeginTellsNothing() async throws {
            let writing = await beginWrite()
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            let token = recorder.token
            let ending = Task.detached { token.stop() }
            release.signal()
            try await writing.value
            await ending.value
            try await store.write { try $0.insert(Vehicle(vin: "b", plate: "P")) }
            #expect(recorder.events.count <= 1)
            #expect(try store.objects(Vehicle.self).count() == 2)
        }
    }
#endif
