import Foundation
import Sluice
import SluiceServer
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

#if SLUICE_MACROS
    /// Files are where their paths say, whatever the names in them look like.
    @Suite(.timeLimit(.minutes(10))) final class StorePathTests: Sendable {
        private let folder = FileManager.default.temporaryDirectory.path + "/sluice-path-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        private func makeFolder(_ name: String) throws -> String {
            let path = folder + "/" + name
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            return path
        }

        private func vins(_ path: String) async throws -> [String] {
            try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
                .objects(Vehicle.self).fetch().map(\.vin)
        }

        private func make(_ path: String, vin: String) async throws -> Store {
            let store = try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
            try await store.write { try $0.insert(Vehicle(vin: vin, plate: "P")) }
            return store
        }

        /// The names in a folder that do not belong to the file of a store.
        private func others(_ folder: String, than names: String...) throws -> [String] {
            let own = names.flatMap { name in ["", "-wal", "-shm", "-lock", "-marker"].map { name + $0 } }
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
                !own.contains { Array($0.utf8) == Array(name.utf8) }
            }
        }

        @Test(arguments: awkwardNames) func aStoreAndItsCopiesAreWhereTheirPathsSay(name: String) async throws {
            let place = try makeFolder(name)
            let path = place + "/" + name
            let store = try await make(path, vin: "a")
            #expect(FileManager.default.fileExists(atPath: path))
            // Readers have connections of their own.
            #expect(try store.objects(Vehicle.self).count() == 1)
            #expect(try store.description.contains(path) && store.size() > 0)
            try await store.writeCopy(to: path + " copy")
            try store.core.storage.copy(toFile: path + " backup", for: .backup)
            #expect(store.core.storage.path.map { Array($0.utf8) } == Array(path.utf8))
            await store.close()
            for file in [path, path + " copy", path + " backup"] { #expect(try await vins(file) == ["a"], "\(file)") }
            #expect(try others(place, than: name, name + " copy", name + " backup") == [])
        }

        @Test(arguments: awkwardNames) func aServerKeepsItsDatabasesInItsFolder(name: String) async throws {
            let place = try makeFolder("server") + "/" + name
            let keys = folder + "/" + name
            let key = """
                {"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "alg": "ES256", "use": "sig",
                "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
                """
            try Data(key.utf8).write(to: URL(filePath: keys))
            var configuration = ServerConfiguration(dataFolder: place, host: "server", isDevelopment: false)
            configuration.allowsEverything = true
            configuration.logins.allowsAnonymous = true
            configuration.logins.hasUsers = true
            configuration.logins.issuers = [
                TokenIssuer(issuer: "https://issuer", audiences: ["a"], keys: .file(keys), name: "issuer")
            ]
            let network = LoopbackNetwork()
            configuration.loopback = network
            let server = try SyncServer(configuration)
            _ = try server.start()
            var sync = SyncConfiguration(url: "ws://server/db")
            sync.loopback = network
            let store = try await Store.open(StoreConfiguration(models: [Garage.self], sync: sync))
            try await store.write { try $0.insert(Garage(code: "a")) }
            try await store.uploaded()
            await store.close()
            await server.stop()
            let names = try FileManager.default.contentsOfDirectory(atPath: place)
            #expect(names.contains("db.sluicedb") && names.contains { $0.contains("users") }, "\(names)")
        }

        @Test func namesThatLookAlikeAreDifferentFiles() async throws {
            let names = ["ü.sluice", "u\u{308}.sluice"]
            let stores = [
                try await make(folder + "/" + names[0], vin: "one"),
                try await make(folder + "/" + names[1], vin: "two"),
            ]
            for (store, vin) in zip(stores, ["one", "two"]) {
                #expect(try store.objects(Vehicle.self).fetch().map(\.vin) == [vin])
            }
            #expect(try others(folder, than: names[0], names[1]) == [])
        }

        @Test func allPathsToOneFileAreOneStore() async throws {
            let place = try makeFolder("real/inner")
            try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: place)
            let path = place + "/a.sluice"
            let store = try await make(folder + "/link/a.sluice", vin: "a")
            try FileManager.default.createSymbolicLink(atPath: folder + "/other", withDestinationPath: path)
            // Behind a symbolic link, two dots lead elsewhere than the text says.
            let paths = [
                path, place + "/../inner/./a.sluice", folder + "//real/inner/a.sluice", folder + "/other",
                folder + "/link/../inner/a.sluice",
            ]
            for path in paths {
                let twin = try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
                #expect(twin.core === store.core, "\(path)")
            }
            #expect(store.description.contains(path))
        }

        @Test func aStoreIsLetGoThoughItsLinkLeadsElsewhereByThen() async throws {
            let link = folder + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: try makeFolder("one"))
            do { _ = try await make(link + "/a.sluice", vin: "a") }
            try FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: try makeFolder("two"))
            #expect(try await vins(link + "/a.sluice") == [])
            #expect(try await vins(folder + "/one/a.sluice") == ["a"])
        }

        @Test(arguments: [("", "empty"), ("a\0b", "character 0")]) func aPathThatNamesNoFileIsRefused(
            path: String, word: String
        ) async throws {
            let error = await #expect(throws: StoreError.self) {
                _ = try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
            }
            #expect(error?.message.contains(word) == true)
        }

        @Test func relativePathsBeginAtTheWorkingFolderAndNothingIsExpanded() {
            let here = FilePath.canonical(".")
            for name in ["~", "~root", "100%", "a:b"] { #expect(FilePath.canonical(name) == here + "/" + name) }
            #expect(FilePath.canonical("/~") == "/~")
        }
    }
#endif
