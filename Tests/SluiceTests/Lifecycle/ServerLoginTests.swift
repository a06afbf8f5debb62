import Foundation
import Sluice
import SluiceModel
import SluiceServer
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Servers that know their users, and stores that log in, in one process.
    struct ServerLoginTests {
        private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)

        /// A clock that stands still until a test sets it.
        private final class Clock: Sendable {
            private let time = Mutex<Int64>(1_700_000_000_000_000)

            var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

            func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
        }

        private static func start(
            _ network: LoopbackNetwork, clock: Clock = Clock(), _ change: (inout ServerConfiguration) -> Void
        ) throws -> SyncServer {
            var configuration = ServerConfiguration(host: "server")
            configuration.loopback = network
            configuration.allowsEverything = true
            configuration.now = { clock.now }
            change(&configuration)
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }

        private static func store(_ network: LoopbackNetwork, _ credentials: Credentials) async throws -> Store {
            var sync = SyncConfiguration(url: "ws://server/cars", credentials: credentials)
            sync.loopback = network
            sync.reconnectDelay = .milliseconds(1)
            sync.reconnectDelayMax = .milliseconds(20)
            return try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
        }

        private static func refusal(_ network: LoopbackNetwork, _ credentials: Credentials) async throws -> SyncError? {
            let store = try await store(network, credentials)
            return await #expect(throws: SyncError.self) { try await store.connected(timeout: .seconds(30)) }
        }

        /// Waits until the server has ended the syncing of a store, and returns why.
        private static func end(of store: Store) async throws -> SyncError? {
            for _ in 0..<3_000 {
                do { try await store.connected(timeout: .milliseconds(10)) } catch let error as SyncError
                    where error.code == .notAuthenticated
                { return error } catch {}
                try await Task.sleep(for: .milliseconds(5))
            }
            return nil
        }

        private static func token(_ request: LoginRequest) -> String? {
            if case .token(let text) = request { text } else { nil }
        }

        @Test func theSharedSecretOpensAndAnythingElseDoesNot() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { $0.logins.sharedSecret = Self.secret }
            let store = try await Self.store(network, .sharedSecret(Self.secret))
            try await store.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await store.uploaded(timeout: .seconds(30))
            for wrong: Credentials in [.anonymous, .sharedSecret(Array(Self.secret.dropLast())), .jwt("x"), []] {
                #expect(try await Self.refusal(network, wrong)?.code == .notAuthenticated)
            }
            let array: Credentials = [.jwt("x"), .sharedSecret(Self.secret)]
            try await Self.store(network, array).connected(timeout: .seconds(30))
            await server.stop()
        }

        @Test func anonymousClientsNeedAServerThatTakesThem() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { $0.logins.allowsAnonymous = true }
            try await Self.store(network, .anonymous).connected(timeout: .seconds(30))
            #expect(try await Self.refusal(network, .jwt("x"))?.code == .notAuthenticated)
            await server.stop()
        }

        @Test func whoWroteIsNamedInTheChangesOfOthers() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { configuration in
                configuration.logins.custom = { Self.token($0).map { LoginUser(id: $0) } }
            }
            let reader = try await Self.store(network, .jwt("eve"))
            let (authors, continuation) = AsyncStream<String?>.makeStream()
            let observation = try reader.objects(Garage.self).observe { change in
                if !change.isInitial, !change.insertions.isEmpty { continuation.yield(change.remote?.userID) }
            }
            try await reader.connected(timeout: .seconds(30))
            _ = try await reader.objects(Garage.self).synced(timeout: .seconds(30))
            let writer = try await Self.store(network, .jwt("ada"))
            try await writer.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            for await author in authors {
                #expect(author == "ada")
                break
            }
            withExtendedLifetime(observation) {}
            await server.stop()
        }

        @Test func aTokenThatExpiresEndsTheSessionAndKeepsTheOutbox() async throws {
            let network = LoopbackNetwork()
            let clock = Clock()
            let end = clock.now.date.addingTimeInterval(100)
            let server = try Self.start(network, clock: clock) { configuration in
                configuration.logins.custom = {
                    Self.token($0).map { LoginUser(id: "ada", expiresAt: $0 == "old" ? end : nil) }
                }
            }
            let store = try await Self.store(network, .jwt("old"))
            try await store.connected(timeout: .seconds(30))
            clock.advance(seconds: 100)
            try await store.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            // The minute by which clocks may differ.
            try await store.uploaded(timeout: .seconds(30))
            clock.advance(seconds: 60)
            #expect(try await Self.end(of: store)?.message.contains("expired") == true)
            try await store.write { try $0.insert(Garage(code: "B", city: "Lyon")) }
            #expect(try store.objects(Garage.self).count() == 2)
            let other = try await Self.store(network, .jwt("new"))
            #expect(try await other.objects(Garage.self).synced(timeout: .seconds(30)).map(\.code) == ["A"])
            try await store.authenticate(.jwt("new"))
            try await store.uploaded(timeout: .seconds(30))
            await server.stop()
        }

        @Test func aLoginSaysWhenItEndsAndARenewalSaysSoAnew() async throws {
            let network = LoopbackNetwork()
            let clock = Clock()
            let ends = ["old": clock.now.date.addingTimeInterval(100), "new": clock.now.date.addingTimeInterval(500)]
            let server = try Self.start(network, clock: clock) { configuration in
                configuration.logins.custom = { request in
                    Self.token(request).map { LoginUser(id: "ada", expiresAt: ends[$0]) }
                }
            }
            let store = try await Self.store(network, .jwt("old"))
            var logins: [SessionStatus.Login] = []
            for await change in try #require(store.session).changes where change.new.login != change.old?.login {
                guard let login = change.new.login else { continue }
                logins.append(login)
                if login.expiresAt == ends["old"] { try await store.authenticate(.jwt("new")) }
                if login.expiresAt == ends["new"] { break }
            }
            #expect(logins.map(\.userID) == ["ada", "ada"])
            #expect(logins.map(\.expiresAt) == [ends["old"], ends["new"]])
            await server.stop()
        }

        @Test func aProviderIsAskedAgainWhenATokenHasExpired() async throws {
            let network = LoopbackNetwork()
            let clock = Clock()
            let server = try Self.start(network, clock: clock) { configuration in
                configuration.logins.custom = { request in
                    Self.token(request).flatMap { Double($0) }.map {
                        LoginUser(id: "ada", expiresAt: Date(timeIntervalSince1970: $0))
                    }
                }
            }
            let count = Mutex(0)
            let store = try await Self.store(
                network,
                .jwt {
                    count.withLock { $0 += 1 }
                    return "\(clock.now.date.timeIntervalSince1970 + 3_600)"
                })
            try await store.connected(timeout: .seconds(30))
            clock.advance(seconds: 3_660)
            while count.withLock({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(5)) }
            try await store.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await store.uploaded(timeout: .seconds(30))
            await server.stop()
        }

        @Test func newCredentialsOfAnotherUserEndTheSession() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { configuration in
                configuration.logins.custom = { Self.token($0).map { LoginUser(id: $0) } }
            }
            let store = try await Self.store(network, .jwt("ada"))
            try await store.connected(timeout: .seconds(30))
            try await store.authenticate(.jwt("ada"))
            try await store.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await store.uploaded(timeout: .seconds(30))
            try await store.authenticate(.jwt("eve"))
            #expect(try await Self.end(of: store)?.message.contains("another user") == true)
            await server.stop()
        }

        @Test func revokingAUserEndsThatUsersSessionsAlone() async throws {
            let network = LoopbackNetwork()
            let server = try Self.start(network) { configuration in
                configuration.logins.custom = { Self.token($0).map { LoginUser(id: $0) } }
            }
            let ada = try await Self.store(network, .jwt("ada"))
            let eve = try await Self.store(network, .jwt("eve"))
            for store in [ada, eve] { try await store.connected(timeout: .seconds(30)) }
            try server.revoke(user: "ada")
            while server.connectionCount > 1 { try await Task.sleep(for: .milliseconds(5)) }
            try await eve.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await eve.uploaded(timeout: .seconds(30))
            #expect(server.connectionCount == 1)
            await server.stop()
        }

        @Test func aStoreOfOneUserIsNotSyncedForAnother() async throws {
            let path = NSTemporaryDirectory() + "login-\(UUID().uuidString).sluice"
            defer { for end in ["", "-wal", "-shm", "-marker", "-lock"] { unlink(path + end) } }
            let network = LoopbackNetwork()
            let server = try Self.start(network) { configuration in
                configuration.logins.custom = { Self.token($0).map { LoginUser(id: $0) } }
            }
            func store(_ user: String) async throws -> Store {
                var sync = SyncConfiguration(url: "ws://server/cars", credentials: .jwt(user))
                sync.loopback = network
                return try await Store.open(StoreConfiguration(path: path, models: lifecycleModels, sync: sync))
            }
            let ada = try await store("ada")
            try await ada.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await ada.uploaded(timeout: .seconds(30))
            await ada.close()
            let eve = try await store("eve")
            let error = await #expect(throws: SyncError.self) { try await eve.connected(timeout: .seconds(30)) }
            #expect(error?.message.contains("another user") == true)
            await eve.close()
            try await store("ada").connected(timeout: .seconds(30))
            await server.stop()
        }

        @Test func logsAndErrorsHaveNothingOfTheCredentials() async throws {
            let lines = Mutex("")
            let log = LogSink(level: .verbose) { line in lines.withLock { $0 += "\(line) " } }
            let network = LoopbackNetwork()
            let server = try Self.start(network) { configuration in
                configuration.log = log
                configuration.logins.sharedSecret = Self.secret
                configuration.logins.custom = {
                    Self.token($0) == "right-token" ? LoginUser(id: "a-user", claims: #"{"c":"a-claim"}"#) : nil
                }
            }
            for credentials: Credentials in [
                .jwt("right-token"), .jwt("wrong-token"), .password(user: "some-name", password: "wrong-password"),
                .sharedSecret(Self.secret), .session("wrong-session"),
            ] {
                var sync = SyncConfiguration(url: "ws://server/cars", credentials: credentials)
                sync.loopback = network
                var configuration = StoreConfiguration(models: lifecycleModels, sync: sync)
                configuration.log = log
                let store = try await Store.open(configuration)
                do { try await store.connected(timeout: .seconds(30)) } catch {
                    lines.withLock { $0 += "\(error)" }
                }
                var dumped = "\(credentials) \(String(reflecting: sync)) \(store)"
                dump(configuration, to: &dumped)
                lines.withLock { $0 += dumped }
                await store.close()
            }
            await server.stop()
            let all = lines.withLock { $0 }
            #expect(all.contains("a login was refused"))
            for secret in [
                "right-token", "wrong-token", "wrong-password", "wrong-session", "some-name", "a-claim",
                "0123456789abcdef",
            ] { #expect(!all.contains(secret), "\(secret)") }
        }
    }
#endif
