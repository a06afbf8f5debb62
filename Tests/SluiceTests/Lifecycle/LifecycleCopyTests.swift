import Foundation
import Sluice
import SluiceModel
import SluiceStorage
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Copies of a store's file, and its size.
    @Suite(.timeLimit(.minutes(10))) final class LifecycleCopyTests: Sendable {
        private let server: TestServer
        private let folder = FileManager.default.temporaryDirectory.path + "/sluice-copy-\(UUID().uuidString)"

        init() throws {
            server = try TestServer()
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        private func path(_ name: String) -> String { folder + "/" + name }

        private func vehicle(_ vin: String, views: Int = 0) -> Vehicle { Vehicle(vin: vin, views: views, plate: "P") }

        private static func vins(_ store: Store) throws -> [String] {
            try store.objects(Vehicle.self).sorted(by: \.vin).fetch().map(\.vin)
        }

        @Test(arguments: [true, false]) func aLocalCopyHasTheObjectsAndNoServer(isFile: Bool) async throws {
            let store = try await server.open(lifecycleModels, path: isFile ? path("store") : nil)
            var linked = vehicle("a")
            linked.garage = Link(key: "nowhere")
            try await store.upload([linked, vehicle("b")])
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await recorder.complete()
            server.cut(store)
            try await store.write { tx in
                try tx.delete(Vehicle.self, key: "b")
                try tx.insert(self.vehicle("c"))
            }
            try await store.writeCopy(to: path("copy"))
            let copy = try await Store.open(
                StoreConfiguration(path: path("copy"), models: lifecycleModels))
            #expect(try Self.vins(copy) == ["a", "c"])
            #expect(try copy.objects(Vehicle.self).sorted(by: \.vin).first()?.garage != nil)
            #expect(try copy.outgoingCount() == 0 && copy.pendingObjectIDs().isEmpty)
            #expect(copy.core.storage.syncState == nil && copy.core.storage.subscriptionCount == 0)
            // The store itself goes on.
            server.restore(store)
            try await store.uploaded()
            // With another server, the copy is as any local store.
            await copy.close()
            let other = try TestServer()
            let again = try await other.open(lifecycleModels, path: path("copy"))
            try await again.uploaded()
            #expect(try await other.open().objects(Vehicle.self).synced().count == 2)
            let mine = try EventRecorder(again.objects(Vehicle.self))
            try await mine.complete()
            let reader = try await other.open()
            _ = try await reader.objects(Vehicle.self).synced()
            try await reader.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 9 } }
            try await mine.event { change in change.results.contains { $0.price == 9 } }
        }

        @Test func everySyncedCopyIsAClientOfItsOwnAndGoesOnFromThere() async throws {
            let store = try await server.open(lifecycleModels, path: path("store"))
            try await store.upload([vehicle("a"), vehicle("b")])
            _ = try await store.objects(Vehicle.self).synced()
            try await store.writeCopy(to: path("shipped"), as: .synced)
            try await store.upload([vehicle("c")])
            var numbers: Set<UInt64> = [try #require(store.core.storage.syncState?.clientID)]
            var copies: [Store] = []
            for name in ["one", "two"] {
                try FileManager.default.copyItem(atPath: path("shipped"), toPath: path(name))
                let copy = try await server.open(lifecycleModels, path: path(name))
                try await copy.connected()
                #expect(try Self.vins(copy).starts(with: ["a", "b"]))
                numbers.insert(try #require(copy.core.storage.syncState?.clientID))
                copies.append(copy)
            }
            #expect(numbers.count == 3 && !numbers.contains(0))
            for copy in copies + [store] {
                try await copy.write { try $0.increment(Vehicle(vin: "a", plate: ""), \.views, by: 1) }
                try await copy.uploaded()
            }
            for copy in copies + [store] {
                #expect(try await copy.objects(Vehicle.self).sorted(by: \.vin).synced().map(\.views) == [3, 0, 0])
            }
        }

        @Test func whatIsNotUploadedIsNotShipped() async throws {
            let store = try await server.open(lifecycleModels, path: path("store"))
            try await store.connected()
            server.cut(store)
            try await store.write { try $0.insert(self.vehicle("a")) }
            let error = await #expect(throws: StoreError.self) {
                try await store.writeCopy(to: self.path("copy"), as: .synced)
            }
            #expect(error?.code == .notUploaded)
            #expect(!FileManager.default.fileExists(atPath: path("copy")))
            server.restore(store)
            try await store.uploaded()
            try await store.writeCopy(to: path("copy"), as: .synced)
        }

        /// A file that was copied by other means has the outbox of the original; its nonce shows that it is a copy.
        @Test func aFileCopiedByHandGetsANumberOfItsOwnAndKeepsItsOutbox() async throws {
            let store = try await server.open(lifecycleModels, path: path("store"))
            try await store.upload([vehicle("a")])
            server.cut(store)
            try await store.write { try $0.insert(self.vehicle("mine")) }
            await store.close()
            try FileManager.default.copyItem(atPath: path("store"), toPath: path("copy"))
            let first = try await server.open(lifecycleModels, path: path("store"))
            try await first.uploaded()
            try await first.upload([vehicle("later")])
            let second = try await server.open(lifecycleModels, path: path("copy"))
            try await second.uploaded()
            #expect(first.core.storage.syncState?.clientID != second.core.storage.syncState?.clientID)
            try await second.upload([vehicle("theirs")])
            let all = try await server.open().objects(Vehicle.self).sorted(by: \.vin).synced().map(\.vin)
            #expect(all == ["a", "later", "mine", "theirs"])
        }

        @Test func noCredentialsAreInACopyAndNothingOfWhatWasRemoved() async throws {
            let server = try TestServer(
                rules: #"{"database": {"schema": true}, "classes": {"Vehicle": {"read": true, "create": true}}}"#)
            let store = try await server.open(
                lifecycleModels, path: path("store"), user: "ada", claims: #"{"secret": "s3cr3t-claim"}"#)
            try await store.upload([vehicle("a")])
            try await store.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.name = "refused-value" } }
            try await store.uploaded()
            await store.close()
            let again = try await server.open(lifecycleModels, path: path("store"), user: "ada")
            for (name, kind) in [("local", StoreCopy.local), ("synced", .synced)] {
                try await again.writeCopy(to: path(name), as: kind)
                let bytes = try Data(contentsOf: URL(filePath: path(name)))
                for text in ["s3cr3t-claim", "refused-value", "jwt", "password"] {
                    #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) is in the \(name) copy")
                }
                #expect(bytes.range(of: Data("Toyota".utf8)) != nil)
            }
        }

        @Test func whatIsThereIsNotOverwrittenAndWhatAnAttemptLeftIsNoObstacle() async throws {
            let store = try await server.open(lifecycleModels, path: path("store"))
            try await store.upload([vehicle("a")])
            try Data("mine".utf8).write(to: URL(filePath: path("taken")))
            await #expect(throws: StoreError.self) { try await store.writeCopy(to: self.path("taken")) }
            #expect(try Data(contentsOf: URL(filePath: path("taken"))) == Data("mine".utf8))
            try await store.writeCopy(to: path("copy"))
            let error = await #expect(throws: StoreError.self) { try await store.writeCopy(to: self.path("copy")) }
            #expect(error?.code == .fileExists)
            await #expect(throws: StoreError.self) { try await store.writeCopy(to: self.path("store")) }
            // A process that was killed leaves a part under another name, which nobody opens.
            try Data(repeating: 7, count: 10_000).write(to: URL(filePath: path("late-new")))
            #expect(!FileManager.default.fileExists(atPath: path("late")))
            try await store.writeCopy(to: path("late"))
            #expect(!FileManager.default.fileExists(atPath: path("late-new")))
            #expect(
                try Self.vins(try await Store.open(StoreConfiguration(path: path("late"), models: lifecycleModels)))
                    == ["a"])
            await #expect(throws: StoreError.self) { try await store.writeCopy(to: self.path("no folder/copy")) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { !$0.hasSuffix("-new") })
        }

        @Test func aCopyCannotBeMadeWithinAWrite() async throws {
            let store = try await server.open(lifecycleModels, path: path("store"))
            let core = store.core
            let target = path("copy")
            try await store.write { _ in
                let error = #expect(throws: StoreError.self) {
                    try core.performAndWait { try $0.writeCopy(to: target, as: .local) }
                }
                #expect(error?.code == .insideWrite)
            }
        }

        @Test(arguments: [true, false]) func theSizeGrowsWithWhatIsStored(isFile: Bool) async throws {
            let store = try await server.open(lifecycleModels, path: isFile ? path("store") : nil)
            let before = try store.size()
            try await store.write { tx in
                for number in 0..<1_000 {
                    try tx.insert(Memo(text: String(repeating: "x", count: 1_000) + "\(number)"))
                }
            }
            #expect(before > 0)
            #expect(try store.size() > before + 900_000)
        }
    }
#endif
