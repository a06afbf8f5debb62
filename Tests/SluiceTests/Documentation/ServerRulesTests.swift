import Foundation
import Sluice
import SluiceModel
import SluiceServer
import Testing

#if SLUICE_MACROS
    /// A server with rules, and stores that ask what they may do, in one process.
    struct ServerRulesTests {
        private static let rules = """
            {"database": {"schema": "$user.id == 'ada'"},
             "classes": {"Garage": {"read": true, "create": "city == $user.id", "update": "city == $user.id"}}}
            """

        private static func start(_ network: LoopbackNetwork) throws -> SyncServer {
            var configuration = ServerConfiguration(host: "server")
            configuration.loopback = network
            configuration.logins.custom = { request in
                if case .token(let text) = request { LoginUser(id: text) } else { nil }
            }
            let server = try SyncServer(rules: rules, configuration)
            try server.start()
            return server
        }

        private static func store(
            _ network: LoopbackNetwork, _ user: String, path: String? = nil, keeps: Bool = false
        ) async throws -> Store {
            var sync = SyncConfiguration(url: "ws://server/cars", credentials: .jwt(user))
            sync.loopback = network
            sync.reconnectDelay = .milliseconds(1)
            sync.reconnectDelayMax = .milliseconds(20)
            var configuration = StoreConfiguration(path: path, models: lifecycleModels, sync: sync)
            if keeps { configuration.rejectedWrites = .keepLocal }
            let store = try await Store.open(configuration)
            try await store.connected(timeout: .seconds(30))
            return store
        }

        @Test func aStoreAsksTheServerWhatItsUserMayDo() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network)
            let ada = try await Self.store(network, "ada")
            let garage = Garage(code: "A", city: "ada")
            try await ada.write { try $0.insert(garage) }
            try await ada.uploaded(timeout: .seconds(30))
            #expect(try await ada.can(.create, Garage.self))
            #expect(try await !ada.can(.delete, Garage.self))
            #expect(try await ada.privileges(of: garage) == [.read, .update])
            #expect(try await ada.can([.read, .update], garage))
            #expect(try await Self.ask(ada, garage))
            #expect(try await ada.privileges(of: Garage(code: "B", city: "ada")) == [])
            #expect(try await ada.databasePrivileges() == .schema)
            #expect(try await ada.can(.create, Garage(code: "B", city: "ada")))
            #expect(try await !ada.can(.create, Garage(code: "B", city: "bob")))
            #expect(try await !ada.can([.create, .read], Garage(code: "B", city: "ada")))
            let bob = try await Self.store(network, "bob")
            #expect(try await bob.privileges(of: garage) == .read)
            #expect(try await bob.databasePrivileges() == [])
            await #expect(throws: SyncError.self) { try await bob.privileges(ofClass: "Nothing") }
            await server.stop()
            await ada.close()
            await bob.close()
        }

        /// The example of docs/permissions.md.
        private static func ask<Document: Model>(_ store: Store, _ document: Document) async throws -> Bool {
            let mayUpdate = try await store.can(.update, document)
            let mayCreate = try await store.can(.create, Document.self)
            let privileges = try await store.privileges(of: document)
            return mayUpdate && mayCreate && privileges.contains(.read)
        }

        @Test func withoutAServerThereIsNoAnswer() async throws {
            let alone = try await Store.open(StoreConfiguration(models: lifecycleModels))
            let error = await #expect(throws: SyncError.self) { try await alone.can(.read, Garage.self) }
            #expect(error?.code == .noServer)
            let network = LoopbackNetwork()
            var sync = SyncConfiguration(url: "ws://server/cars")
            sync.loopback = network
            let offline = try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
            let other = await #expect(throws: SyncError.self) { try await offline.can(.read, Garage.self) }
            #expect(other?.code == .unreachable)
        }

        @Test func refusedValuesStayWhereTheStoreKeepsThemAndAreToldUntilSomebodyHears() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-kept-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let network = LoopbackNetwork()
            let server = try Self.start(network)
            let ada = try await Self.store(network, "ada")
            try await ada.write { try $0.insert(Garage(code: "A", city: "ada")) }
            try await ada.uploaded(timeout: .seconds(30))
            var bob = try await Self.store(network, "bob", path: folder + "/bob", keeps: true)
            _ = try await bob.objects(Garage.self).synced(timeout: .seconds(30))
            try await bob.write { try $0.upsert(Garage(code: "A", city: "bob")) }
            try await bob.uploaded(timeout: .seconds(30))
            #expect(try bob.object(Garage.self, key: "A")?.city == "bob")
            await bob.close()
            bob = try await Self.store(network, "bob", path: folder + "/bob", keeps: true)
            #expect(try bob.object(Garage.self, key: "A")?.city == "bob")
            #expect(try bob.rejectedWrites.map(\.objects) == [[Identity(className: "Garage", key: .string("A"))]])
            let (rejections, continuation) = AsyncStream<WriteRejection>.makeStream()
            let token = bob.onWriteRejected { continuation.yield($0) }
            for await rejection in rejections {
                #expect(rejection.reason.code == .notPermitted && rejection.rejectedValues["city"] == .string("bob"))
                break
            }
            token.stop()
            try await bob.discardRejectedWrites()
            #expect(try bob.rejectedWrites.isEmpty)
            #expect(try bob.object(Garage.self, key: "A")?.city == "ada")
            await bob.close()
            await ada.close()
            await server.stop()
        }
    }
#endif
