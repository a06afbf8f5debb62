import Sluice
import Synchronization
import Testing

@testable import SluiceTesting

#if SLUICE_MACROS
    /// What ``TestServer/settled(timeout:)`` says when it gives up.
    @Suite(.timeLimit(.minutes(10))) struct SettlingTests {
        private let server: TestServer
        private let writer: Store
        private let store: Store

        init() async throws {
            server = try TestServer()
            writer = try await server.open()
            store = try await server.open()
        }

        @Test func whoDoesNotSettleSaysWhichStoreWaitsForWhat() async throws {
            server.hold(store, before: .page)
            let recorder = try EventRecorder(store.objects(Vehicle.self).sorted(by: \.vin))
            try await server.settled()
            server.cut(writer)
            try await server.settled()
            try await writer.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            // The first look uses up the time, whatever it finds.
            let error = await #expect(throws: NotSettled.self) { try await server.settled(timeout: .zero) }
            let lines = error?.message.split(separator: "; ") ?? []
            #expect(lines.contains("store 1: offline, 1 writes to upload"), "\(lines)")
            #expect(
                lines.contains {
                    $0.hasPrefix("store 2: busy, Vehicle SORT(vin ASC): pending, ") && $0.contains("held: page")
                },
                "\(lines)")
            #expect(recorder.events.map(\.state) == [.pending])
        }

        /// Messages that never end are no progress for ever.
        @Test func whatTravelsWithoutEndDoesNotSettle() async throws {
            try await server.settled()
            let goesOn = Mutex(true)
            @Sendable func travel() { server.world.floor.run { if goesOn.withLock({ $0 }) { travel() } } }
            travel()
            let error = await #expect(throws: NotSettled.self) {
                try await server.settled(timeout: .milliseconds(50))
            }
            // Ten times the time without progress is the longest wait of all.
            #expect(error?.message == "after 0.5 seconds there is still work in the network")
            goesOn.withLock { $0 = false }
            try await server.settled()
        }
    }
#endif
