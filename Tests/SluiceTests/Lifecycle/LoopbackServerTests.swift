import Sluice
import SluiceServer
import Testing

#if SLUICE_MACROS
    /// A server and its stores in one process, with only the public API.
    struct LoopbackServerTests {
        private static func start(_ network: LoopbackNetwork, host: String = "server") throws -> SyncServer {
            var configuration = ServerConfiguration(host: host, isDevelopment: true)
            configuration.loopback = network
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }

        private static func store(_ network: LoopbackNetwork, host: String = "server") async throws -> Store {
            var sync = SyncConfiguration(url: "ws://\(host)/cars")
            sync.loopback = network
            return try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
        }

        @Test func aStoreReachesAServerInItsProcessWithoutSockets() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network)
            let writer = try await Self.store(network)
            try await writer.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await writer.uploaded()
            let reader = try await Self.store(network)
            let garages = try await reader.objects(Garage.self).synced(timeout: .seconds(30))
            #expect(garages.map(\.city) == ["Nice"])
            #expect(server.connectionCount == 2)
            await server.stop()
        }

        @Test func networksAndHostsAreApart() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network)
            let error = #expect(throws: ServerError.self) { try Self.start(network) }
            #expect(error?.code == .address)
            let other = try Self.start(network, host: "other")
            let elsewhere = try Self.start(LoopbackNetwork())
            let store = try await Self.store(network, host: "other")
            try await store.connected(timeout: .seconds(30))
            #expect([server, other, elsewhere].map(\.connectionCount) == [0, 1, 0])
            for server in [server, other, elsewhere] { await server.stop() }
        }
    }
#endif
