import Sluice
import SluiceModel
import SluiceServer
import SluiceTesting
import SluiceTransport
import Synchronization
import TestSupport
import Testing

#if SLUICE_MACROS
    /// When and where a store connects again (rows O7, O14, O54, S27 to S31, C8 to C10, C54).
    @Suite(.timeLimit(.minutes(10))) struct ReconnectingTests {
        private let world = ReconnectingWorld()

        // MARK: Attempts

        @Test func everyServerIsTriedBeforeTheStoreWaits() async throws {
            let store = try await world.open(["ws://a/cars", "ws://b/cars", "ws://c/cars"]) {
                $0.reconnectDelay = .seconds(8)
            }
            // Attempts that follow at once do so through a timer of no time.
            try await world.attempts(3, advancing: .zero)
            #expect(world.attempts == ["a", "b", "c"])
            try await world.clock.timers(1)
            world.clock.advance(by: .seconds(7))
            #expect(world.attempts.count == 3)
            world.clock.advance(by: .seconds(1))
            try await world.attempts(6, advancing: .zero)
            #expect(world.attempts == ["a", "b", "c", "a", "b", "c"])
            // The second wait is longer.
            try await world.clock.timers(1)
            world.clock.advance(by: .seconds(15))
            #expect(world.attempts.count == 6)
            await store.close()
        }

        @Test func serversAreTriedInARandomOrderWhereTheConfigurationSaysSo() async throws {
            var orders: Set<[String]> = []
            for seed in UInt64(1)...12 {
                var generator = SeededGenerator(seed: seed)
                var options = ClientOptions()
                options.serverCount = 3
                options.choosesServersAtRandom = true
                var round = ServerRound(options)
                var order: [String] = []
                for _ in 0..<3 {
                    order.append("\(round.next(using: &generator))")
                    _ = round.delay(using: &generator)
                }
                #expect(order.sorted() == ["0", "1", "2"], "each is tried once in a round")
                orders.insert(order)
            }
            #expect(orders.count > 2)
        }

        @Test func `a store that is sent on tries its other servers first, and the same one last`() {
            var generator = SeededGenerator(seed: 1)
            var options = ClientOptions()
            options.serverCount = 3
            var round = ServerRound(options)
            #expect([round.next(using: &generator), round.next(using: &generator)] == [0, 1])
            // A session opens there, and the server sends it on.
            round.reset()
            round.moveOn(using: &generator)
            #expect((0..<3).map { _ in round.next(using: &generator) } == [0, 2, 1])
            #expect(round.next(using: &generator) == 0)
        }

        @Test func theURLsOfAStoreNameOneDatabase() async throws {
            for urls in [[], ["ws://a/cars", "ws://b/planes"], ["ws://a/cars", "http://b/cars"]] {
                await #expect {
                    _ = try await world.open(urls)
                } throws: { ($0 as? StoreError)?.code == .invalidConfiguration }
            }
            await #expect {
                _ = try await world.open(["ws://a/cars"]) { $0.attemptCountMax = 0 }
            } throws: { ($0 as? StoreError)?.code == .invalidConfiguration }
        }

        @Test func aStoreGivesUpAfterAsManyAttemptsAsItMayMakeAndBeginsAnewWhenItIsStarted() async throws {
            let store = try await world.open(["ws://a/cars"]) { $0.attemptCountMax = 3 }
            let waiting = Task { try await store.connected() }
            let session = try #require(store.session)
            for round in 1...2 {
                _ = try await world.attempts(3 * round - 2)
                try await wait(for: "the last attempt") {
                    if session.state == .active { world.clock.advance(by: .seconds(1)) }
                    return session.state != .active
                }
                #expect(world.attempts.count == 3 * round)
                guard case .failed(let error) = session.state else {
                    Issue.record("the session has not given up: \(session.status)")
                    return
                }
                #expect(error.code == .unreachable && error.message.contains("3 attempts"))
                world.clock.advance(by: .seconds(1_000))
                #expect(world.attempts.count == 3 * round)
                if round == 1 {
                    await #expect { try await waiting.value } throws: { ($0 as? SyncError)?.code == .unreachable }
                    try session.start()
                }
            }
            await store.close()
        }

        // MARK: Surroundings

        @Test func aStoreThatWaitsConnectsAtOnceWhenTheNetworkChanges() async throws {
            let store = try await world.open(["ws://a/cars"])
            _ = try await world.attempts(1)
            try await world.waiting(store)
            world.state.withLock { $0.changed }?()
            _ = try await world.attempts(2)
            #expect(world.state.withLock { $0.watcherCount } == 1)
            await store.close()
            try await wait(for: "the end of the watch") { world.state.withLock { $0.watcherCount } == 0 }
        }

        @Test func aStoreThatWaitsConnectsAtOnceWhenTheMachineWasSuspended() async throws {
            let store = try await world.open(["ws://a/cars"]) {
                $0.reconnectDelay = .seconds(3_600); $0.reconnectDelayMax = .seconds(3_600)
            }
            _ = try await world.attempts(1)
            try await world.waiting(store)
            world.clock.advance(by: .seconds(60))
            #expect(world.attempts.count == 1)
            world.state.withLock { $0.suspended = .seconds(1_800) }
            world.clock.advance(by: .seconds(5))
            _ = try await world.attempts(2)
            // It is noticed once.
            try await world.waiting(store)
            world.clock.advance(by: .seconds(60))
            #expect(world.attempts.count == 2)
            await store.close()
        }

        @Test func anAttemptThatHangsBeginsAnewWhenTheNetworkChanges() async throws {
            world.state.withLock { $0.reachable = ["a"] }
            let store = try await world.open(["ws://a/cars"])
            _ = try await world.attempts(1)
            world.state.withLock { $0.changed }?()
            // It has just begun.
            #expect(try store.core.performAndWait { $0.isConnecting })
            #expect(world.attempts.count == 1)
            world.clock.advance(by: .seconds(3))
            world.state.withLock { $0.changed }?()
            _ = try await world.attempts(2)
            await store.close()
        }

        @Test func aPausedStoreStaysSoWhenTheNetworkChanges() async throws {
            let store = try await world.open(["ws://a/cars"])
            _ = try await world.attempts(1)
            try #require(store.session).pause()
            world.state.withLock { $0.changed }?()
            #expect(try store.core.performAndWait { $0.sessionStatus.state } == .paused)
            #expect(world.attempts.count == 1)
            await store.close()
        }

        // MARK: Handing over

        private func serve(_ network: LoopbackNetwork, _ host: String, handingOverTo other: String? = nil) throws
            -> SyncServer
        {
            var configuration = ServerConfiguration(host: host, isDevelopment: true)
            configuration.loopback = network
            configuration.handsOverTo = other
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }

        private func open(_ network: LoopbackNetwork, _ url: String, clock: ManualClock? = nil) async throws -> Store {
            var sync = SyncConfiguration(url: url)
            sync.loopback = network
            var configuration = StoreConfiguration(models: lifecycleModels, sync: sync)
            if let clock { configuration.environment.schedule = { clock.schedule(after: $0, $1) } }
            return try await Store.open(configuration)
        }

        @Test func storesFollowAServerThatHandsItsSessionsOver() async throws {
            let network = LoopbackNetwork()
            let old = try serve(network, "old")
            let new = try serve(network, "new")
            let store = try await open(network, "ws://old/cars")
            try await store.connected()
            try old.handOver(to: "ws://new")
            let reader = try await open(network, "ws://new/cars")
            try await store.write { try $0.insert(Garage(code: "A", city: "Nice")) }
            try await store.uploaded()
            #expect(try await reader.objects(Garage.self).synced().map(\.city) == ["Nice"])
            try await wait(for: "the end of the connections") { old.connectionCount == 0 }
            #expect(new.connectionCount == 2)
            // Those that come later follow too, until the old server serves again.
            let late = try await open(network, "ws://old/cars")
            #expect(try await late.objects(Garage.self).synced().count == 1)
            try old.handOver(to: nil)
            let stranger = try await open(network, "ws://old/cars")
            #expect(try await stranger.objects(Garage.self).synced().isEmpty)
            for url in ["ws://new/cars", "new", "http://new"] {
                #expect(throws: ServerError.self) { try old.handOver(to: url) }
            }
            for store in [store, reader, late, stranger] { await store.close() }
            for server in [old, new] { await server.stop() }
        }

        @Test(arguments: [
            ("wss://a/cars", "wss://b/cars", true), ("ws://a/cars", "wss://b/cars", true),
            ("wss://a/cars", "ws://b/cars", false), ("ws://a/cars", "ws://b/planes", false),
            ("ws://a/cars", "http://b/cars", false), ("ws://a/cars", "", false),
        ])
        func aStoreFollowsNeitherToAServerWithoutTLSNorToAnotherDatabase(
            from url: String, to other: String, follows: Bool
        ) async throws {
            let store = try await world.open([url], movingTo: other)
            try await world.attempts(3, advancing: .seconds(1))
            #expect(world.attempts.prefix(2) == (follows ? ["a", "b"] : ["a", "a"]))
            #expect(world.attempts[2] == "a", "it returns to its own server")
            await store.close()
        }

        @Test func `a store waits before it returns to the only server that it has, although that sends it on`()
            async throws
        {
            let store = try await world.open(["ws://a/cars"], movingTo: "")
            while store.session?.status.problem == nil { await Task.yield() }
            world.clock.advance(by: .milliseconds(1))
            try await store.core.perform { _ in }
            #expect(world.attempts == ["a"])
            try await world.attempts(2, advancing: .seconds(1))
            await store.close()
        }

        @Test func aStoreReturnsToItsOwnServerWhenTheOtherCannotBeReached() async throws {
            let network = LoopbackNetwork()
            let old = try serve(network, "old", handingOverTo: "ws://gone")
            let store = try await open(network, "ws://old/cars")
            let session = try #require(store.session)
            for await change in session.changes where change.new.activity == .offline { break }
            try old.handOver(to: nil)
            while session.connection != .connected {
                try session.reconnect()
                await Task.yield()
            }
            await store.close()
            await old.stop()
        }

        @Test func aStoreIsNotHandedRoundInACircleWithoutAWait() async throws {
            let network = LoopbackNetwork()
            let clock = ManualClock()
            let one = try serve(network, "one", handingOverTo: "ws://two")
            let two = try serve(network, "two", handingOverTo: "ws://one")
            let store = try await open(network, "ws://one/cars", clock: clock)
            let session = try #require(store.session)
            try await wait(for: "the end of the circle") {
                clock.advance(by: .zero)
                return session.status.problem?.contains("circle") == true
            }
            #expect(session.activity == .offline)
            // It waits as long as no time passes.
            try await clock.timers(1)
            clock.advance(by: .zero)
            try await store.core.perform { _ in }
            #expect(session.activity == .offline)
            await store.close()
            for server in [one, two] { await server.stop() }
        }
    }
#endif
