import Sluice
import SluiceModel
import SluiceServer
import Testing

#if SLUICE_MACROS
    /// Servers with quotas, and users who reach them.
    struct ServerQuotaTests {
        private static func start(
            _ network: LoopbackNetwork, dataFolder: String? = nil, _ change: (inout Quotas) -> Void
        ) throws -> SyncServer {
            var configuration = ServerConfiguration(dataFolder: dataFolder, host: "server")
            configuration.loopback = network
            configuration.allowsEverything = true
            configuration.logins.custom = { request in
                if case .token(let text) = request { LoginUser(id: text) } else { nil }
            }
            change(&configuration.quotas)
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }

        private static func store(_ network: LoopbackNetwork, _ user: String) async throws -> Store {
            var sync = SyncConfiguration(url: "ws://server/cars", credentials: .jwt(user))
            sync.loopback = network
            sync.reconnectDelay = .milliseconds(1)
            sync.reconnectDelayMax = .milliseconds(20)
            return try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
        }

        private static func problem(of store: Store, mentions text: String) async throws -> Bool {
            for _ in 0..<6_000 {
                if try await store.core.perform({ $0.lastProblem })?.contains(text) == true { return true }
                try await Task.sleep(for: .milliseconds(5))
            }
            return false
        }

        @Test func aFurtherSessionOfAUserIsRefusedAndOthersAreNot() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { $0.sessionCountMaxPerUser = 1 }
            let first = try await Self.store(network, "ada")
            try await first.connected(timeout: .seconds(30))
            let second = try await Self.store(network, "ada")
            #expect(try await Self.problem(of: second, mentions: "1 open sessions, its quota"))
            try await Self.store(network, "bob").connected(timeout: .seconds(30))
            await first.close()
            let third = try await Self.store(network, "ada")
            try await third.connected(timeout: .seconds(30))
            await server.stop()
        }

        @Test func aFurtherConnectionOfAnAddressIsRefusedUntilOneCloses() async throws {
            var configuration = ServerConfiguration(port: 0)
            configuration.allowsEverything = true
            configuration.logins.allowsAnonymous = true
            configuration.quotas.connectionCountMaxPerAddress = 1
            let server = try SyncServer(configuration)
            let port = try server.start()
            func store() async throws -> Store {
                var sync = SyncConfiguration(url: "ws://127.0.0.1:\(port)/cars")
                sync.reconnectDelay = .milliseconds(1)
                sync.reconnectDelayMax = .milliseconds(20)
                return try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
            }
            let first = try await store()
            try await first.connected(timeout: .seconds(30))
            let second = try await store()
            #expect(try await Self.problem(of: second, mentions: "1 connections, its quota"))
            await first.close()
            try await second.connected(timeout: .seconds(30))
            await server.stop()
        }

        @Test func aFurtherSubscriptionOfAUserIsRefusedInAnySession() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { $0.subscriptionCountMaxPerUser = 2 }
            let stores = [try await Self.store(network, "ada"), try await Self.store(network, "ada")]
            let observations = [
                try stores[0].objects(Garage.self).observe { _ in },
                try stores[1].objects(Garage.self).where { $0.city == "Nice" }.observe { _ in },
            ]
            _ = try await stores[0].objects(Garage.self).synced(timeout: .seconds(30))
            _ = try await stores[1].objects(Garage.self).where { $0.city == "Nice" }.synced(timeout: .seconds(30))
            let error = await #expect(throws: SyncError.self) {
                _ = try await stores[0].objects(Garage.self).where { $0.city == "Lyon" }.synced(timeout: .seconds(30))
            }
            #expect(error?.message.contains("its quota") == true, "\(error as Any)")
            let other = try await Self.store(network, "bob")
            _ = try await other.objects(Garage.self).synced(timeout: .seconds(30))
            withExtendedLifetime(observations) {}
            await server.stop()
        }

        @Test func uploadsFasterThanTheRateArriveLaterAndWhole() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { $0.operationRateMaxPerUser = 400 }
            let store = try await Self.store(network, "ada")
            for part in 0..<6 {
                try await store.write { tx in
                    for number in 0..<100 { try tx.insert(Garage(code: "\(part)-\(number)", city: "Nice")) }
                }
                try await store.uploaded(timeout: .seconds(60))
            }
            let reader = try await Self.store(network, "bob")
            #expect(try await reader.objects(Garage.self).synced(timeout: .seconds(30)).count == 600)
            await server.stop()
        }

        @Test func declaringMoreThanTheQuotaIsRefusedByName() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { $0.classCountMax = 2 }
            let store = try await Self.store(network, "ada")
            let error = await #expect(throws: SyncError.self) { try await store.connected(timeout: .seconds(30)) }
            #expect(error?.message.contains("its quota is 2") == true, "\(error as Any)")
            await server.stop()
        }

        @Test func quotasThatCannotBeKeptAreRefused() {
            for (change, name) in [
                ({ $0.sessionCountMaxPerUser = 0 }, "sessionCountMaxPerUser"),
                ({ $0.operationRateMaxPerUser = -1 }, "operationRateMaxPerUser"),
                ({ $0.databaseByteCountMax = 4096 }, "databaseByteCountMax"),
                ({ $0.consumerLogByteCountMax = 0 }, "consumerLogByteCountMax"),
            ] as [((inout Quotas) -> Void, String)] {
                let error = #expect(throws: ServerError.self) { _ = try Self.start(LoopbackNetwork(), change) }
                #expect(error?.message.contains(name) == true)
            }
        }
    }
#endif
