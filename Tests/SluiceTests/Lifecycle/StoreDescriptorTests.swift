import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// How many files a store holds open.
    @Suite(.timeLimit(.minutes(10))) struct StoreDescriptorTests {
        /// The number of this process's descriptors that lead into a folder.
        private func descriptorCount(in folder: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                return target?.hasPrefix(folder) ?? false
            }.count
        }

        @Test func aStoreHoldsFiveFilesAndTwoMoreForEachReader() async throws {
            for storeCount in [4, 16] {
                let folder = FileManager.default.temporaryDirectory.path + "/sluice-files-\(UUID().uuidString)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(atPath: folder) }
                var stores: [Store] = []
                for number in 0..<storeCount {
                    stores.append(
                        try await Store.open(
                            StoreConfiguration(path: folder + "/\(number).sluice", models: lifecycleModels)))
                }
                #expect(try descriptorCount(in: folder) <= 5 * storeCount)
                for store in stores {
                    try await store.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
                    for _ in 0..<10 { #expect(try store.objects(Vehicle.self).count() == 1) }
                }
                #expect(try descriptorCount(in: folder) <= 7 * storeCount)
                for store in stores { await store.close() }
                #expect(try descriptorCount(in: folder) == 0)
            }
        }
    }
#endif
