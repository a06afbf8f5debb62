import Foundation
import Sluice
import SluiceServer
import Testing

#if SLUICE_MACROS
    /// A backup from before the schema changed is put back, while edits of collections wait.
    @Suite(.timeLimit(.minutes(10))) final class PutBackSchemaTests {
        private let folder = NSTemporaryDirectory() + "sluice-put-back-\(UUID().uuidString)"
        private let network = LoopbackNetwork()

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        private func start() throws -> SyncServer {
            var configuration = ServerConfiguration(host: "server", isDevelopment: true)
            configuration.loopback = network
            configuration.dataFolder = folder + "/data"
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }

        private func open(_ models: [any Model.Type], at path: String? = nil) async throws -> Store {
            var sync = SyncConfiguration(url: "ws://server/sheets")
            sync.loopback = network
            return try await Store.open(StoreConfiguration(path: path, models: models, sync: sync))
        }

        private func copy(_ from: String, to: String) throws {
            try? FileManager.default.removeItem(atPath: folder + "/" + to)
            try FileManager.default.copyItem(atPath: folder + "/" + from, toPath: folder + "/" + to)
        }

        @Test func editsThatWaitAreUploadedWithTheSchemaThatTheyNeed() async throws {
            var server = try start()
            let old = try await open([SheetOne.self], at: folder + "/store")
            try await old.upload([SheetOne(id: "a", numbers: [1, 2, 3], marks: [1, 2], votes: ["x": 1, "y": 2])])
            _ = try await old.objects(SheetOne.self).synced()
            await old.close()
            await server.stop()
            try copy("data", to: "backup")

            server = try start()
            let store = try await open([SheetTwo.self], at: folder + "/store")
            let sheet = try #require(try await store.objects(SheetTwo.self).synced().first)
            // The server has confirmed it, and loses it with everything since the backup.
            try await store.write { try $0.update(sheet) { $0.values.append(100) } }
            try await store.uploaded()
            await server.stop()
            try await store.write { tx in
                try tx.update(sheet) { sheet in
                    sheet.author = "ann"
                    sheet.values.append(2.5)
                    sheet.values.removeFirst()
                    sheet.tags.insert(0.5)
                    sheet.tags.remove(1)
                    sheet.ballots["w"] = 0.25
                    sheet.ballots["x"] = nil
                }
            }
            try copy("backup", to: "data")

            server = try start()
            try await store.uploaded(timeout: .seconds(300))
            for store in [store, try await open([SheetTwo.self])] {
                let sheet = try #require(try await store.objects(SheetTwo.self).synced().first)
                #expect(sheet.author == "ann" && sheet.values == [2, 3, 2.5])
                #expect(sheet.tags == [2, 0.5] && sheet.ballots == ["y": 2, "w": 0.25])
            }
            // A program of before the change works with it still.
            let older = try await open([SheetOne.self]).records("Sheet").synced()
            #expect(older.first?["numbers"] == .list([.double(2), .double(3), .double(2.5)]))
            await server.stop()
        }
    }
#endif
