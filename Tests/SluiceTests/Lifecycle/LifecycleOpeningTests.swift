import Foundation
import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// How stores are opened, shared and released, and what they throw.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleOpeningTests {
        /// Holds a store until it is emptied.
        private final class Box: Sendable {
            private let store: Mutex<Store?>

            init(_ store: Store) { self.store = Mutex(store) }

            var value: Store? { store.withLock { $0 } }

            func letGo() {
                let store = store.withLock { store in
                    defer { store = nil }
                    return store
                }
                withExtendedLifetime(store) {}
            }
        }

        private func memory(_ name: String = UUID().uuidString) -> StoreConfiguration {
            var configuration = StoreConfiguration(models: lifecycleModels)
            configuration.location = .memory(name: name)
            return configuration
        }

        private func withFolder(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-opening-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await body(folder)
        }

        // MARK: Memory

        @Test func storesOfOneNameInMemoryShareTheirObjectsAndOthersDoNot() async throws {
            let name = UUID().uuidString
            let first = try await Store.open(memory(name))
            try await first.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            let second = try await Store.open(memory(name))
            let other = try await Store.open(memory(name + "2"))
            let unnamed = try await Store.open(StoreConfiguration(models: lifecycleModels))
            #expect(try second.objects(Vehicle.self).fetch().map(\.vin) == ["a"])
            #expect(try other.objects(Vehicle.self).count() == 0)
            #expect(try unnamed.objects(Vehicle.self).count() == 0)
        }

        @Test func aStoreInMemoryGoesWithTheLastOfItsName() async throws {
            let name = UUID().uuidString
            var first: Store? = try await Store.open(memory(name))
            var second: Store? = try await Store.open(memory(name))
            try await first?.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            first = nil
            #expect(try second?.objects(Vehicle.self).count() == 1)
            second = nil
            #expect(try await Store.open(memory(name)).objects(Vehicle.self).count() == 0)
        }

        // MARK: Letting go

        @Test func aFileCanBeOpenedAgainAsSoonAsItsStoreIsLetGo() async throws {
            try await withFolder { folder in
                for count in 0..<20 {
                    let store = try await Store.open(.init(path: folder + "/a.sluice", models: lifecycleModels))
                    #expect(try store.objects(Vehicle.self).count() == count)
                    try await store.write { try $0.insert(Vehicle(vin: "\(count)", plate: "P")) }
                }
            }
        }

        @Test func theLastStoreMayBeLetGoWithinItsOwnWrite() async throws {
            try await withFolder { folder in
                let configuration = StoreConfiguration(path: folder + "/a.sluice", models: lifecycleModels)
                let box = Box(try await Store.open(configuration))
                try await write(box)
                #expect(try await Store.open(configuration).objects(Vehicle.self).fetch().map(\.vin) == ["a"])
            }
        }

        /// Writes to the boxed store; the body of the write empties the box.
        private func write(_ box: Box) async throws {
            try await box.value?.write { tx in
                try tx.insert(Vehicle(vin: "a", plate: "P"))
                box.letGo()
            }
        }

        @Test func storesAreOpenedAndLetGoOnTheirQueuesWhileOthersAreOpened() async throws {
            let name = UUID().uuidString
            let store = try await Store.open(memory(name))
            let configuration = memory(name)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    let box = Box(try await Store.open(memory()))
                    group.addTask { try await store.write { _ in box.letGo() } }
                    group.addTask { _ = try await Store.open(configuration).objects(Vehicle.self).count() }
                }
                try await group.waitForAll()
            }
        }

        @Test func manyWhoOpenOneFileAtOnceShareIt() async throws {
            try await withFolder { folder in
                let configuration = StoreConfiguration(path: folder + "/a.sluice", models: lifecycleModels)
                let counts = try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<20 {
                        group.addTask {
                            let store = try await Store.open(configuration)
                            try await store.write { try $0.insert(Vehicle(vin: "\(number)", plate: "P")) }
                        }
                    }
                    try await group.waitForAll()
                    return try await Store.open(configuration).objects(Vehicle.self).count()
                }
                #expect(counts == 20)
            }
        }

        @Test func whoGetsAStoreThatAnotherOneOpensFindsThatItSyncs() async throws {
            for _ in 0..<200 {
                var configuration = memory()
                // Nobody listens there.
                configuration.sync = SyncConfiguration(url: "ws://127.0.0.1:9/test")
                try await withThrowingTaskGroup(of: Void.self) { [configuration] group in
                    for _ in 0..<4 {
                        group.addTask {
                            let store = try await Store.open(configuration)
                            let error = await #expect(throws: SyncError.self) {
                                try await store.connected(timeout: .zero)
                            }
                            #expect(error?.code != .stopped)
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }

        // MARK: Errors

        @Test func aFileThatIsNoStoreIsRefusedWithAnErrorThatCanBeTold() async throws {
            try await withFolder { folder in
                let path = folder + "/notes.txt"
                try Data(repeating: 65, count: 4_096).write(to: URL(filePath: path))
                let error = await #expect(throws: StoreError.self) {
                    _ = try await Store.open(.init(path: path, models: lifecycleModels))
                }
                #expect(error?.code == .foreignFile && error?.message.contains(path) == true)
                #expect(error?.cause != nil)
                #expect(try Data(contentsOf: URL(filePath: path)).count == 4_096)
            }
        }

        @Test func aFileInAFolderThatIsNotThereIsRefused() async throws {
            try await withFolder { folder in
                let error = await #expect(throws: StoreError.self) {
                    _ = try await Store.open(.init(path: folder + "/none/a.sluice", models: lifecycleModels))
                }
                #expect(error?.code == .storage)
            }
        }

        @Test func aClosedStoreSaysSo() async throws {
            let store = try await Store.open(memory())
            let results = store.objects(Vehicle.self)
            await store.close()
            await store.close()
            #expect(throws: StoreError.self) { try results.fetch() }
            #expect(throws: StoreError.self) { try results.observe { _ in } }
            let error = await #expect(throws: StoreError.self) { try await store.write { _ in } }
            #expect(error?.code == .closed)
        }

        @Test func aStoreWithoutServerIsNotWaitedFor() async throws {
            let store = try await Store.open(memory())
            try await store.write { tx in
                try tx.insert(Vehicle(vin: "a", plate: "P", garage: Link(key: "G")))
            }
            let garage = try #require(try store.object(Vehicle.self, key: "a")?.garage)
            for wait in [
                { _ = try await store.objects(Vehicle.self).synced() }, { try await store.connected() },
                { try await store.uploaded() }, { _ = try await garage.resolve() },
                { _ = try await store.serverStatus() },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: SyncError.self) { try await wait() }
                #expect(error?.code == .noServer)
            }
        }
    }
#endif
