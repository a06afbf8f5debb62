import Foundation
import Sluice
import SluiceServer
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What a test server does by itself, and how a test that cannot go on ends.
    @Suite(.timeLimit(.minutes(10))) struct TestServerTests {
        // MARK: Recorders

        @Test func aRecorderThrowsTheErrorOfTheSubscriptionAtOnce() async throws {
            let server = try TestServer()
            let store = try await server.open()
            let cheap = store.objects(Vehicle.self).where { $0.price < 10 }
            try server.reject(cheap, of: store, because: .limitExceeded, "too expensive for this test")
            // The time-out is that of a day: nobody waits for it.
            let recorder = try EventRecorder(cheap)
            let waiting = Task { try await recorder.event(timeout: .seconds(86_400)) { !$0.insertions.isEmpty } }
            for _ in 1...2 {
                let error = await #expect(throws: SyncError.self) {
                    try await recorder.complete(timeout: .seconds(86_400))
                }
                #expect(error?.code == .limitExceeded)
                #expect(error?.message == "too expensive for this test")
            }
            let error = await #expect(throws: SyncError.self) { try await waiting.value }
            #expect(error?.code == .limitExceeded)
            // Whoever waits for the error has it.
            #expect(try await recorder.event { $0.state == .error }.subscription.error?.code == .limitExceeded)
        }

        @Test func aRecorderThatTimesOutSaysHowFarItCameAndWhatIsInTheWay() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.connected()
            try store.session?.pause()
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await recorder.event { $0.isInitial }
            let error = await #expect(throws: TimedOut.self) { try await recorder.complete(timeout: .milliseconds(1)) }
            #expect(error?.lastState == .pending)
            #expect(
                error?.description == "the expected change did not come; there were 1, the last of them pending: "
                    + "syncing is paused; store.session?.resume() goes on")
        }

        // MARK: Rules

        private static let rules =
            #"{"classes": {"Garage": {"read": "city == $user.id", "create": true}, "Vehicle": {"read": true}}}"#

        @Test func aServerWithRulesHasTheClassesOfItsStores() async throws {
            let server = try TestServer(rules: Self.rules)
            let ada = try await server.open(lifecycleModels, user: "ada")
            let eve = try await server.open(lifecycleModels, user: "eve", claims: #"{"role": "boss"}"#)
            let recorder = try EventRecorder(eve.objects(Garage.self))
            try await recorder.complete()
            try await ada.write { tx in
                try tx.insert(Garage(code: "A", city: "ada"))
                try tx.insert(Garage(code: "E", city: "eve"))
            }
            try await ada.uploaded()
            let event = try await recorder.event { !$0.insertions.isEmpty }
            #expect(event.results.map(\.code) == ["E"])
            #expect(event.remote?.userID == "ada")
        }

        @Test func aStoreOfAUserWithoutTheRightsStillCannotChangeTheSchema() async throws {
            let server = try TestServer(rules: Self.rules)
            let ada = try await server.open([Garage.self], user: "ada")
            try await ada.connected()
            #expect(try await ada.databasePrivileges() == [])
        }

        @Test func aStoppedServerIsGivenNoClasses() async throws {
            let server = try TestServer(rules: Self.rules)
            await server.stop()
            let ada = try await server.open([Garage.self], user: "ada")
            try await server.settled()
            #expect(ada.session?.activity == .offline)
        }

        @Test(arguments: ["ada", nil]) func aServerWithoutRulesSaysThatItKnowsNoUsers(user: String?) async throws {
            let server = try TestServer()
            let error = await #expect(throws: ServerError.self) {
                try await server.open(lifecycleModels, user: user, claims: user == nil ? #"{"role": "boss"}"# : "{}")
            }
            #expect(error?.message.contains("TestServer(rules:)") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains(user.map { "'\($0)'" } ?? "somebody with claims") == true)
        }

        // MARK: Clocks that stand still

        @Test func aWaitEndsInRealTimeWhereTheClockStandsStill() async throws {
            let server = try TestServer(patience: .milliseconds(20))
            let store = try await server.open()
            server.cut(store)
            try await store.write { try $0.insert(Vehicle(vin: "a", plate: "P")) }
            let vehicles = store.objects(Vehicle.self)
            func check(_ what: String, _ error: SyncError?) {
                #expect(error?.code == .timedOut)
                #expect(error?.message.hasPrefix(what) == true, "\(error?.message ?? "")")
                #expect(error?.message.contains("the clock of the test") == true, "\(error?.message ?? "")")
            }
            check(
                "the server's answer did not come",
                await #expect(throws: SyncError.self) { try await vehicles.synced(timeout: .seconds(30)) })
            check(
                "the server did not acknowledge",
                await #expect(throws: SyncError.self) { try await store.uploaded(timeout: .seconds(30)) })
            check(
                "no session with the server",
                await #expect(throws: SyncError.self) { try await store.connected(timeout: .seconds(30)) })
            check(
                "no change of the results came",
                await #expect(throws: SyncError.self) {
                    var changes = vehicles.changes(timeout: .seconds(30)).makeAsyncIterator()
                    while try await changes.next() != nil {}
                })
        }

        // MARK: Messages

        @Test func theMessagesToAStoreTellAResumeFromABootstrap() async throws {
            let server = try TestServer()
            let writer = try await server.open()
            let store = try await server.open()
            #expect(server.messages(to: store).count(of: .page) == 0)
            try await writer.upload((0..<500).map { Vehicle(vin: String($0 * 7_919 % 65_521, radix: 36), plate: "P") })
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await recorder.complete()
            try await server.settled()
            let first = server.messages(to: store)
            #expect(first.count(of: .session) == 1 && first.count(of: .page) > 0 && first.count(of: .complete) == 1)
            #expect(first.byteCount(of: .page) > 500 && first.frameByteCount > 0)
            #expect(first.frameCount <= first.count)

            // Nothing was missed: the subscription goes on without a page.
            server.cut(store)
            server.restore(store)
            try await server.settled()
            let resumed = server.messages(to: store) - first
            #expect(resumed.count(of: .page) == 0 && resumed.count(of: .complete) == 1)

            // One object was: one page, which costs as much as one object.
            server.cut(store)
            try await writer.upload(vins: "x")
            server.restore(store)
            try await server.settled()
            let caughtUp = server.messages(to: store) - first - resumed
            #expect(caughtUp.count(of: .page) == 1)
            #expect(caughtUp.byteCount(of: .page) * 10 < first.byteCount(of: .page))

            // A change of one object is one commit.
            let before = server.messages(to: store)
            try await writer.upload(vins: "y")
            try await server.settled()
            let change = server.messages(to: store) - before
            #expect(change.description == "1 commit" && change.kinds == [.commit] && change.frameCount == 1)
            #expect((change - change).description == "none")
        }

        @Test func aNewSubscriptionIsABootstrap() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload(vins: "a")
            let before = server.messages(to: store)
            _ = try await store.objects(Vehicle.self).synced()
            let asked = server.messages(to: store) - before
            #expect(asked.count(of: .page) == 1 && asked.count(of: .complete) == 1)
        }
    }
#endif
