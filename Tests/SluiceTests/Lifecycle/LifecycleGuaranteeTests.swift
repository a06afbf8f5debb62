import Foundation
import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// The guarantees of handlers, waits, snapshots and settings (rows P8, P20, O53, O60, I13, S19).
    @Suite(.timeLimit(.minutes(10))) struct LifecycleGuaranteeTests {
        private let server: TestServer
        private let alice: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
        }

        @Test func receivedAtIsWhenAChangeCameHereByTheClockHere() async throws {
            // A minute ahead of the server, so that the two times cannot be confused.
            let bob = try await server.open(lifecycleModels) { [clock = server.clock] configuration in
                configuration.environment.now = { Timestamp(clock.now.addingTimeInterval(60)) }
            }
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            server.clock.advance(by: .seconds(5))
            let accepted = server.clock.now
            try await alice.upload(vins: "a")
            let remote = try #require(try await recorder.event { !$0.insertions.isEmpty }.remote)
            #expect(remote.acceptedAt == accepted && remote.receivedAt == accepted.addingTimeInterval(60))
            #expect(remote.receivedAt > remote.acceptedAt)
        }

        @Test func aHandlerForRefusedWritesIsCalledWithWhatWasRefused() async {
            let heard = AsyncStream.makeStream(of: WriteRejection.self)
            let token = alice.onWriteRejected { heard.continuation.yield($0) }
            alice.core.performLater { engine in
                engine.onRejection?(
                    WriteRejection(object: nil, reason: .init(.writeRejected, "no"), rejectedValues: ["n": .int(1)]))
            }
            for await rejection in heard.stream {
                #expect(rejection.reason.code == .writeRejected && rejection.rejectedValues == ["n": .int(1)])
                break
            }
            token.stop()
        }

        @Test func aStoppedHandlerForRejectedWritesIsNotCalledAndTheNextOneGetsWhatItMissed() async {
            let calls = HandlerSequence(.pool(HandlerPool()))
            let center = RejectionCenter(calls, GateGroup())
            let first = Mutex<[String]>([])
            let second = Mutex<[String]>([])
            func reject(_ reason: String) async {
                center.report(WriteRejection(object: nil, reason: .init(.writeRejected, reason), rejectedValues: [:]))
                await calls.pass()
            }
            let token = center.add { rejection in first.withLock { $0.append(rejection.reason.message) } }
            await reject("a")
            token.stop()
            await reject("b")
            let other = center.add { rejection in second.withLock { $0.append(rejection.reason.message) } }
            await calls.pass()
            await reject("c")
            #expect(first.withLock { $0 } == ["a"])
            #expect(second.withLock { $0 } == ["b", "c"])
            other.stop()
        }

        @Test(arguments: ["synced", "uploaded", "connected"])
        func cancellingATaskEndsItsWait(name: String) async throws {
            await server.stop()
            try await alice.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            let waiting = Task {
                switch name {
                case "synced": _ = try await alice.objects(Vehicle.self).synced()
                case "uploaded": try await alice.uploaded()
                default: try await server.open().connected()
                }
            }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            // The store continues.
            try server.start()
            try await alice.uploaded()
            #expect(try await alice.objects(Vehicle.self).synced().map(\.vin) == ["a"])
        }

        // MARK: Schemas that contradict each other

        private func schema(primaryKey: String, seats: ScalarType = .int) throws -> Schema {
            try Schema([
                ClassSchema(
                    "Plane", primaryKey: primaryKey,
                    properties: [
                        Property("tail", .scalar(.string)), Property("code", .scalar(.string)),
                        Property("seats", .scalar(seats)),
                    ])
            ])
        }

        @Test func aModelThatTheServerContradictsIsRefusedByName() async throws {
            let first = try await server.open(schema: try schema(primaryKey: "tail"))
            try await first.connected()
            for (other, named) in [
                (try schema(primaryKey: "tail", seats: .string), "Plane.seats is int in the server and string"),
                (try schema(primaryKey: "code"), "Plane has the primary key 'tail' in the server"),
            ] {
                let second = try await server.open(schema: other)
                let error = await #expect(throws: SyncError.self) { try await second.connected() }
                #expect(error?.code == .schema && error?.message.contains(named) == true, "\(error?.message ?? "")")
            }
        }

        private func withPath(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-guarantee-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await body(folder + "/store.sluice")
        }

        @Test func aChangedPrimaryKeyIsRefusedWhereTheStoreIsOpened() async throws {
            try await withPath { path in
                let before = try schema(primaryKey: "tail")
                let after = try schema(primaryKey: "code")
                try await Store.open(StoreConfiguration(path: path, schema: before)).close()
                let error = await #expect(throws: SchemaError.self) {
                    try await Store.open(StoreConfiguration(path: path, schema: after))
                }
                #expect(error?.code == .incompatible && error?.message.contains("'tail'") == true)
                let again = try await Store.open(StoreConfiguration(path: path, schema: before))
                #expect(again.schema.classes.first?.primaryKey == "tail")
                await again.close()
            }
        }

        // MARK: Snapshots and settings

        @Test func aSnapshotStaysAsItWasAndNamesItsObjects() async throws {
            try await alice.write { tx in
                for (vin, price) in [("b", 2.0), ("a", 1)] { try tx.insert(Vehicle(vin: vin, price: price, plate: "")) }
            }
            let results = alice.objects(Vehicle.self).sorted(by: \.price)
            let snapshot = try results.snapshot()
            try await alice.write { try $0.delete(Vehicle.self, key: "a") }
            #expect(try snapshot.map(\.vin) == ["a", "b"] && results.count() == 1)
            for (index, vin) in ["a", "b"].enumerated() {
                let identity = Identity(className: "Vehicle", key: .string(vin))
                #expect(snapshot.identity(at: index) == identity)
                #expect(snapshot.objectID(at: index) == identity.objectID)
            }
        }

        @Test(arguments: [StoreConfiguration.Durability.process, .full])
        func aStoreOfEitherDurabilityHasWhatWasWrittenWhenItIsOpenedAgain(
            durability: StoreConfiguration.Durability
        ) async throws {
            try await withPath { path in
                var configuration = StoreConfiguration(path: path, models: lifecycleModels)
                configuration.durability = durability
                let store = try await Store.open(configuration)
                try await store.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
                await store.close()
                let again = try await Store.open(configuration)
                #expect(try again.objects(Vehicle.self).fetch().map(\.vin) == ["a"])
                await again.close()
            }
        }

        @Test(arguments: ["connectTimeout", "reconnectDelay", "reconnectDelayMax", "heartbeat"], [0, -1])
        func durationsThatCannotBeAreRefusedAtOpening(name: String, seconds: Int) async {
            var sync = SyncConfiguration(url: "ws://127.0.0.1:1/test")
            switch name {
            case "connectTimeout": sync.connectTimeout = .seconds(seconds)
            case "reconnectDelay": sync.reconnectDelay = .seconds(seconds)
            case "reconnectDelayMax": sync.reconnectDelayMax = .seconds(seconds)
            default: sync.heartbeat = .seconds(seconds)
            }
            let error = await #expect(throws: StoreError.self) { try await Store.open(StoreConfiguration(sync: sync)) }
            #expect(error?.code == .invalidConfiguration && error?.message.hasPrefix(name) == true)
        }
    }
#endif
