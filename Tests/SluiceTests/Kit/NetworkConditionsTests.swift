import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// A network that is slow, and breaks, in virtual time.
    @Suite(.timeLimit(.minutes(10))) struct NetworkConditionsTests {
        private let server: TestServer
        private let writer: Store

        init() async throws {
            server = try TestServer()
            writer = try await server.open()
        }

        @Test func aMessageTakesAsLongAsTheLatency() async throws {
            try await writer.upload(vins: "a")
            let store = try await server.open()
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await recorder.complete()
            server.setConditions(NetworkConditions(latency: .milliseconds(80)), of: store)
            try await writer.upload(vins: "b")
            try await server.advance(by: .milliseconds(79))
            #expect(recorder.events.last?.results.count == 1)
            try await server.advance(by: .milliseconds(1))
            #expect(recorder.events.last?.results.count == 2)
            let change = try #require(recorder.events.last?.remote)
            #expect(abs(change.receivedAt.timeIntervalSince(change.acceptedAt) - 0.08) < 0.001)
        }

        @Test func aStoreConnectsThroughALatencyAndUploads() async throws {
            server.setConditions(NetworkConditions(latency: .milliseconds(50), jitter: .milliseconds(30), seed: 7))
            let store = try await server.open()
            try await store.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            try await server.settled()
            #expect(store.session?.activity == .connecting)
            try await server.advance(by: .seconds(2))
            #expect(store.session?.activity == .idle)
            #expect(try store.outgoingCount() == 0)
        }

        /// A day of a phone: connections last half a minute, and everything arrives in the end, the same in every run.
        private func day(seed: UInt64) async throws -> [String] {
            let server = try TestServer()
            let writer = try await server.open()
            let phone = try await server.open()
            let recorder = try EventRecorder(phone.objects(Vehicle.self).sorted(by: \.vin))
            try await recorder.complete()
            server.setConditions(
                NetworkConditions(
                    latency: .milliseconds(100), jitter: .milliseconds(400),
                    connectionLifetime: .seconds(5) ... .seconds(60), seed: seed), of: phone)
            server.cut(phone)
            server.restore(phone)
            for number in 0..<20 {
                try await writer.upload(vins: "w\(number)")
                try await phone.write { try $0.insert(Vehicle(vin: "p\(number)", plate: "P")) }
                try await server.advance(by: .seconds(15))
            }
            server.setConditions(NetworkConditions(), of: phone)
            try await server.advance(by: .seconds(600))
            #expect(try phone.outgoingCount() == 0)
            #expect(try phone.objects(Vehicle.self).count() == 40)
            #expect(try await writer.objects(Vehicle.self).synced().count == 40)
            let freshness = recorder.events.map { event in if case .confirmed = event.freshness { "+" } else { "-" } }
            #expect(freshness.contains("-"))
            return recorder.events.last?.vins ?? []
        }

        @Test func whatConnectionsLoseArrivesLater() async throws {
            for seed in 1...3 { #expect(try await day(seed: UInt64(seed)).count == 40) }
        }

        @Test func aPartitionSeparatesSomeStores() async throws {
            let stores = [try await server.open(), try await server.open(), try await server.open()]
            let recorders = try stores.map { try EventRecorder($0.objects(Vehicle.self)) }
            for recorder in recorders { try await recorder.complete() }
            server.cut(stores[0], stores[1])
            try await writer.upload(vins: "a")
            try await server.settled()
            #expect(recorders.map { $0.events.last?.results.count } == [0, 0, 1])
            server.restore(stores[0], stores[1])
            try await server.settled()
            #expect(recorders.map { $0.events.last?.results.count } == [1, 1, 1])
        }

        @Test func attemptsToConnectFollowTheClock() async throws {
            await server.stop()
            let store = try await server.open()
            try await server.settled()
            #expect(store.session?.activity == .offline)
            try await server.advance(by: .seconds(60))
            #expect(store.session?.activity == .offline)
        }

        @Test func timersAreAwaited() async throws {
            server.cut(writer)
            let waiting = Task { [writer] in try await writer.objects(Vehicle.self).synced(timeout: .seconds(30)) }
            try await server.clock.timers(2)
            server.clock.advance(by: .seconds(31))
            await #expect(throws: SyncError.self) { try await waiting.value }
            let error = await #expect(throws: NotSettled.self) {
                try await server.clock.timers(50, timeout: .milliseconds(1))
            }
            #expect(error?.description.hasPrefix("of 50 timers only ") == true)
        }
    }
#endif
