import Sluice
import SluiceModel
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// What a test makes go wrong.
    @Suite(.timeLimit(.minutes(10))) struct ProvokedFaultTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open()
        }

        @Test func aQueryIsRejectedAndAcceptedAgain() async throws {
            try await store.upload(vins: "a")
            let cheap = store.objects(Vehicle.self).where { $0.price < 10 }
            try server.reject(cheap, of: store, because: .limitExceeded, "too expensive for this test")
            let recorder = try EventRecorder(cheap)
            let event = try await recorder.event { $0.state == .error }
            #expect(event.subscription.error?.code == .limitExceeded)
            #expect(event.subscription.error?.message == "too expensive for this test")
            // Others go on.
            #expect(try await store.objects(Vehicle.self).synced().count == 1)
            let error = await #expect(throws: SyncError.self) { try await cheap.synced() }
            #expect(error?.code == .limitExceeded)
            recorder.token.stop()
            server.acceptQueries(of: store)
            #expect(try await cheap.synced().count == 1)
        }

        @Test func writesAreRejectedUntilTheyAreNot() async throws {
            let reports = Mutex<[String]>([])
            let token = store.onWriteRejected { report in reports.withLock { $0.append(report.reason.message) } }
            server.rejectWrites(to: Vehicle.self, because: "not today")
            try await store.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            try await store.write { try $0.insert(Memo(text: "kept")) }
            try await store.uploaded()
            #expect(try store.objects(Vehicle.self).count() == 0 && store.objects(Memo.self).count() == 1)
            #expect(reports.withLock { $0 }.count == 1)
            #expect(reports.withLock { $0 }.first?.contains("not today") == true)
            try await server.restart()
            try await store.write { try $0.insert(Vehicle(vin: "b", plate: "P")) }
            try await store.uploaded()
            #expect(try store.objects(Vehicle.self).count() == 0)
            server.acceptWrites(to: Vehicle.self)
            try await store.write { try $0.insert(Vehicle(vin: "c", plate: "P")) }
            try await store.uploaded()
            #expect(try store.objects(Vehicle.self).fetch().map(\.vin) == ["c"])
            token.stop()
        }

        @Test func aLoginThatIsOverNeedsCredentialsOrFetchesThem() async throws {
            try await store.connected()
            server.expireLogin(of: store)
            try await server.settled()
            #expect(store.session?.state == .needsCredentials)
            try await store.authenticate(.anonymous)
            try await store.connected()
        }

        @Test func aStoreThatIsSentAwayComesAgainInTime() async throws {
            try await store.connected()
            server.sendAway(store, for: .seconds(20))
            try await server.settled()
            #expect(store.session?.activity == .offline)
            try await server.advance(by: .seconds(19))
            #expect(store.session?.activity == .offline)
            try await server.advance(by: .seconds(30))
            #expect(store.session?.activity == .idle)
        }

        @Test func aServerWithoutItsDataResetsItsStores() async throws {
            let resets = Mutex(0)
            let late = try await server.open(lifecycleModels) {
                $0.clientReset.after = { _ in resets.withLock { $0 += 1 } }
            }
            try await late.upload(vins: "a")
            let recorder = try EventRecorder(late.objects(Vehicle.self))
            try await recorder.complete()
            server.cut(late)
            try await late.write { try $0.insert(Vehicle(vin: "b", plate: "P")) }
            try await server.restartWithoutData()
            server.restore(late)
            try await late.uploaded()
            try await server.settled()
            #expect(recorder.events.last?.vins == ["b"])
            #expect(resets.withLock { $0 } == 1)
        }

        @Test func aTranscriptTellsTheLifeOfASubscription() async throws {
            let writer = try await server.open()
            try await writer.upload(vins: "a")
            server.hold(store, before: .page)
            let recorder = try EventRecorder(store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin))
            try await server.settled()
            try await server.step(store)
            server.release(store)
            try await server.settled()
            try await writer.upload([Vehicle(vin: "b", price: 2, plate: "P")])
            try await server.settled()
            server.cut(store)
            try await store.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 3 } }
            try await server.settled()
            server.restore(store)
            try await server.settled()
            try await writer.write { try $0.update(Vehicle(vin: "b", plate: "")) { $0.price = 20 } }
            try await server.settled()
            #expect(
                recorder.transcript == """
                    initial; pending; cached; 0 objects
                    remote (create); bootstrapping 100 %; cached; 1 object: +0 Vehicle "a" v1
                    status; complete; confirmed; 1 object
                    remote (create); complete; confirmed; 2 objects: +1 Vehicle "b" v2
                    local; complete; cached; 2 objects: ~0 Vehicle "a" v1 pending
                    remote (set); complete; confirmed; 1 object: -1 Vehicle "b" filter
                    """)
            recorder.token.stop()
        }
    }
#endif
