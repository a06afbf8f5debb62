import Foundation
import Sluice
import SluiceModel
import SluiceServer
import SluiceTransport
import SluiceWire
import Synchronization
import TestSupport
import Testing

#if SLUICE_MACROS
    /// Several databases of one server and user on one connection (row S3).
    @Suite(.timeLimit(.minutes(10))) struct SharedConnectionTests {
        private let network = LoopbackNetwork()
        private let folder = FileManager.default.temporaryDirectory.path + "/sluice-shared-\(UUID().uuidString)"

        private func serve() throws -> SyncServer {
            var configuration = ServerConfiguration(
                dataFolder: folder + "/server", host: "server", isDevelopment: true)
            configuration.loopback = network
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }

        private func open(
            _ name: String, _ database: String, _ configure: (inout SyncConfiguration) -> Void = { _ in }
        ) async throws -> Store {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var sync = SyncConfiguration(url: "ws://server/\(database)")
            sync.loopback = network
            sync.reconnectDelay = .milliseconds(10)
            configure(&sync)
            return try await Store.open(
                StoreConfiguration(path: "\(folder)/\(name).sluice", models: lifecycleModels, sync: sync))
        }

        @Test func storesOfOneServerAndUserShareAConnectionAndSyncEachItsDatabase() async throws {
            let server = try serve()
            var stores: [Store] = []
            for number in 0..<6 { stores.append(try await open("\(number)", "d\(number / 2)")) }
            for (number, store) in stores.enumerated() {
                try await store.write { try $0.insert(Garage(code: "\(number)", city: "")) }
            }
            for store in stores { try await store.uploaded() }
            for (number, store) in stores.enumerated() {
                let first = number / 2 * 2
                let garages = try await store.objects(Garage.self).sorted(by: \.code).synced()
                #expect(garages.map(\.code) == ["\(first)", "\(first + 1)"])
            }
            #expect(server.connectionCount == 1)
            // One that leaves ends its session alone.
            await stores[0].close()
            try stores[1].session?.pause()
            try await stores[2].write { try $0.insert(Garage(code: "later", city: "")) }
            try await stores[2].uploaded()
            #expect(try await stores[3].objects(Garage.self).synced().count == 3)
            #expect(server.connectionCount == 1)
            try stores[1].session?.resume()
            try await stores[1].connected()
            #expect(try await stores[1].serverStatus().sessions == 1)
            #expect(server.connectionCount == 1)
            for store in stores { await store.close() }
            try await wait(for: "the end of the connection") { server.connectionCount == 0 }
            await server.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }

        @Test func storesThatDifferHaveConnectionsOfTheirOwn() async throws {
            let server = try serve()
            let stores = [
                try await open("a", "d"), try await open("b", "d"),
                try await open("c", "d") { $0.sharesConnection = false },
                try await open("d", "d") { $0.headers["X-A"] = "1" },
                try await open("e", "d") { $0.heartbeat = .seconds(7) },
            ]
            for store in stores { try await store.connected() }
            #expect(server.connectionCount == 4)
            for store in stores { await store.close() }
            await server.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }

        @Test func allComeBackAfterTheirConnectionIsLost() async throws {
            let server = try serve()
            let stores = [try await open("a", "d1"), try await open("b", "d2"), try await open("c", "d3")]
            for store in stores { try await store.connected() }
            await server.stop()
            for store in stores { try await store.write { try $0.insert(Garage(code: "A", city: "")) } }
            let other = try serve()
            for store in stores {
                try await store.uploaded()
                #expect(try await store.objects(Garage.self).synced().count == 1)
            }
            #expect(other.connectionCount <= 3)
            for store in stores { await store.close() }
            await other.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }

        // MARK: Turns

        /// A connection whose socket takes what it is told to.
        private final class Socket: MessageConnection {
            struct State {
                var sent: [[UInt8]] = []
                var queued = 0
                var isPaused = false
                var isClosed = false
            }

            let id = ConnectionID(rawValue: 1)
            let peerDescription = "socket"
            let state = Mutex(State())
            var queuedBytes: Int { state.withLock { $0.queued } }

            func send(_ message: SharedBuffer) {
                state.withLock { state in
                    state.sent.append(message.withUnsafeBytes { Array($0) })
                    state.queued += message.count
                }
            }

            func admit() {}
            func close(code: CloseCode, reason: String) { state.withLock { $0.isClosed = true } }
            func abort() {}
            func pauseReceiving(for reason: PauseReason) { state.withLock { $0.isPaused = true } }
            func resumeReceiving(after reason: PauseReason) { state.withLock { $0.isPaused = false } }

            /// What was sent since the last call, after the hello.
            func take() -> [[UInt8]] {
                state.withLock { state in
                    defer { state.sent = [] }
                    return state.sent
                }
            }
        }

        private func shared(
            _ socket: Socket, uptime: @escaping @Sendable () -> Duration = { .zero }
        ) throws -> SharedConnection {
            let connection = SharedConnection(agent: "test", uptime: uptime) { _ in }
            try connection.begin { _ in socket }
            connection.connectionDidOpen(socket)
            #expect(socket.take().count == 1, "the hello is said once")
            return connection
        }

        @Test func storesTakeTurnsAndLittleWaitsForTheSocket() throws {
            let socket = Socket()
            let connection = try shared(socket)
            let busy = try #require(connection.join { _ in })
            let quick = try #require(connection.join { _ in })
            for member in [busy, quick] {
                _ = member.takePlace()
                member.send([0])
            }
            _ = socket.take()
            let large = [UInt8](repeating: 1, count: 100_000)
            for _ in 0..<10 { busy.send(large) }
            quick.send([2])
            #expect(socket.take() == [large], "the rest waits")
            socket.state.withLock { $0.queued = 0 }
            connection.connectionDidDrain(socket)
            // The busy one had its turn; both orders are turns.
            let next = socket.take()
            #expect(next.contains([2]) || next == [large])
            socket.state.withLock { $0.queued = 0 }
            connection.connectionDidDrain(socket)
            #expect((next + socket.take()).contains([2]), "it does not wait for all of the other")
        }

        @Test func whoJoinsLaterLearnsTheServersTimeOfNow() throws {
            let uptime = Mutex(Duration.seconds(100))
            let socket = Socket()
            let connection = try shared(socket) { uptime.withLock { $0 } }
            uptime.withLock { $0 = .seconds(103) }
            let first = try #require(connection.join { _ in }?.takePlace())
            #expect(first.greeting == nil && first.wait == .seconds(3), "the answer takes as long so far")
            let time = Timestamp(microseconds: 1_700_000_000_000_000)
            let hello = Frame.encode(
                ServerMessage.hello(
                    .init(version: 1, features: .all, time: time, limits: ServerLimits(), agent: "test")))
            uptime.withLock { $0 = .seconds(104) }
            hello.withUnsafeBytes { connection.connection(socket, didReceive: $0) }
            uptime.withLock { $0 = .seconds(3_604) }
            let second = try #require(connection.join { _ in }?.takePlace())
            #expect(second.greeting?.time == Timestamp(microseconds: time.microseconds + 3_500_000_000))
            #expect(second.wait == .seconds(4), "the answer took as long")
        }

        @Test func sessionsAreOpenedInTheOrderOfTheirNumbers() throws {
            let socket = Socket()
            let connection = try shared(socket)
            let members = (0..<3).compactMap { _ in connection.join { _ in } }
            #expect(members.compactMap { $0.takePlace()?.session } == [1, 2, 3])
            members[2].send([3])
            members[1].send([2])
            #expect(socket.take().isEmpty)
            members[0].leave()
            // Its session was never opened, so nobody has to be told of its end.
            #expect(socket.take() == [[2], [3]])
            members[1].leave()
            #expect(socket.take().count == 1, "the server is told of the end of a session")
            members[2].leave()
            #expect(socket.state.withLock { $0.isClosed })
            #expect(connection.join { _ in } == nil)
        }

        @Test func aStoreThatHandlesNothingHoldsTheConnectionUpUntilItGoesOnOrLeaves() throws {
            let socket = Socket()
            let connection = try shared(socket)
            let received = Mutex<[UInt64: Int]>([:])
            func member(_ number: UInt64) throws -> ConnectionMember {
                try #require(
                    connection.join { event in
                        if case .received = event { received.withLock { $0[number, default: 0] += 1 } }
                    })
            }
            let members = [try member(1), try member(2)]
            for member in members { _ = member.takePlace() }
            func deliver(_ session: UInt64) {
                let frame = Frame.encode(ServerMessage.listMembers(session: session, subscription: 1))
                frame.withUnsafeBytes { connection.connection(socket, didReceive: $0) }
            }
            for _ in 0..<63 { deliver(1) }
            #expect(!socket.state.withLock { $0.isPaused })
            deliver(1)
            #expect(socket.state.withLock { $0.isPaused })
            deliver(2)
            #expect(received.withLock { $0 } == [1: 64, 2: 1])
            for _ in 0..<48 { members[0].didHandleFrame() }
            #expect(!socket.state.withLock { $0.isPaused })
            for _ in 0..<64 { deliver(2) }
            #expect(socket.state.withLock { $0.isPaused })
            members[1].leave()
            #expect(!socket.state.withLock { $0.isPaused })
        }
    }
#endif
