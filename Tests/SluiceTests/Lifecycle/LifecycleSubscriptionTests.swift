import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Who holds a subscription, and what happens to its objects when nobody does (decision 1, rows P5 to P29).
    @Suite(.timeLimit(.minutes(10))) struct LifecycleSubscriptionTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open()
        }

        @Test func observingBeforeDataExistsDeliversItWhenItArrives() async throws {
            let recorder = try EventRecorder(bob.objects(Vehicle.self).filter("price < 10"))
            #expect(try await recorder.event { $0.isInitial }.results.isEmpty)
            try await recorder.complete()
            try await alice.upload(vins: "a")
            #expect(try await recorder.event { !$0.insertions.isEmpty }.vins == ["a"])
        }

        @Test func resultsAloneReadTheDiskAndContactNobody() async throws {
            try await alice.upload(vins: "a")
            try await bob.connected()
            let results = bob.objects(Vehicle.self)
            #expect(try results.count() == 0)
            #expect(try results.fetch().isEmpty)
            #expect(try results.first() == nil)
            #expect(try await bob.serverSubscriptions().isEmpty)
        }

        @Test func aReleasedTokenEndsSyncingAndKeepsTheData() async throws {
            try await alice.upload(vins: "a")
            var recorder: EventRecorder? = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder?.complete()
            recorder = nil
            #expect(try await bob.serverSubscriptions().isEmpty)
            try await alice.upload(vins: "b")
            #expect(try bob.objects(Vehicle.self).fetch().map(\.vin) == ["a"])
        }

        @Test func aReleasedTokenPurgesWhereTheStoreSaysSo() async throws {
            try await alice.upload(vins: "a")
            let carol = try await server.open(lifecycleModels) { $0.purgesWhenTokenIsReleased = true }
            var recorder: EventRecorder? = try EventRecorder(carol.objects(Vehicle.self))
            try await recorder?.complete()
            #expect(try carol.objects(Vehicle.self).count() == 1)
            recorder = nil
            #expect(try carol.objects(Vehicle.self).count() == 0)
        }

        @Test func stoppingPurgesHereAndDeletesNothingOnTheServer() async throws {
            try await alice.upload(vins: "a", "b")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            let eventCount = recorder.events.count
            recorder.token.stop()
            #expect(try bob.objects(Vehicle.self).count() == 0)
            try await bob.uploaded()
            #expect(try await alice.objects(Vehicle.self).synced().count == 2)
            #expect(recorder.events.count == eventCount)
        }

        @Test func stoppingWithoutPurgeKeepsTheData() async throws {
            try await alice.upload(vins: "a")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            recorder.token.stop(stopSyncing: true, purgeLocal: false)
            #expect(try await bob.serverSubscriptions().isEmpty)
            #expect(try bob.objects(Vehicle.self).count() == 1)
        }

        @Test func identicalQueriesAreCountedAcrossObservers() async throws {
            try await alice.upload(vins: "a")
            let first = try EventRecorder(bob.objects(Vehicle.self).filter("price < 10 AND views == 0"))
            let second = try EventRecorder(bob.objects(Vehicle.self).filter("views = 0 && price < 10.0"))
            try await first.complete()
            first.token.stop()
            #expect(try bob.objects(Vehicle.self).count() == 1)
            try await alice.upload(vins: "b")
            try await second.event { $0.results.count == 2 }
            second.token.stop()
            #expect(try bob.objects(Vehicle.self).count() == 0)
        }

        @Test func purgingKeepsWhatAnotherQueryHoldsAndTellsItsObserversNothing() async throws {
            try await alice.upload(vins: "cheap", price: 5)
            try await alice.upload(vins: "dear", price: 500)
            let all = try EventRecorder(bob.objects(Vehicle.self))
            let cheap = try EventRecorder(bob.objects(Vehicle.self).where { $0.price < 10 })
            try await all.complete()
            try await cheap.complete()
            let eventCount = cheap.events.count
            all.token.stop()
            #expect(try bob.objects(Vehicle.self).fetch().map(\.vin) == ["cheap"])
            #expect(cheap.events.count == eventCount)
        }

        @Test func purgingChangesTheResultsOfObserversThatAreNotComplete() async throws {
            try await alice.upload(vins: "a")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            server.cut(bob)
            let offline = try EventRecorder(bob.objects(Vehicle.self).where { $0.price < 10 })
            #expect(try await offline.event { $0.isInitial }.vins == ["a"])
            recorder.token.stop()
            let change = try await offline.event { !$0.removals.isEmpty }
            #expect(change.removals.map(\.reason) == [.purged] && change.remote == nil)
        }

        @Test func purgingKeepsWritesThatAreNotSent() async throws {
            try await alice.upload(vins: "a", "b")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            server.cut(bob)
            try await bob.write { try $0.update(Vehicle(vin: "a", plate: "")) { $0.price = 7 } }
            recorder.token.stop()
            #expect(try bob.objects(Vehicle.self).fetch().map(\.price) == [7])
            server.restore(bob)
            try await bob.uploaded()
            #expect(try await alice.objects(Vehicle.self).filter("vin == 'a'").synced().map(\.price) == [7])
        }

        @Test func stoppingOnlyTheNotificationsKeepsSyncingUntilALaterStop() async throws {
            let query = bob.objects(Vehicle.self).filter("views == 0")
            let first = try EventRecorder(query)
            try await first.complete()
            first.token.stop(stopSyncing: false)
            try await alice.upload(vins: "a")
            // The query that was kept stays in sync; another observer shows when a change has arrived.
            let witness = try EventRecorder(bob.objects(Vehicle.self))
            try await witness.event { $0.vins == ["a"] && $0.state == .complete }
            witness.token.stop()
            #expect(try query.count() == 1)
            let second = try EventRecorder(query)
            second.token.stop()
            #expect(try query.count() == 0)
            #expect(try await bob.serverSubscriptions().isEmpty)
        }

        @Test(arguments: [true, false])
        func aQueryStaysInSyncForItsTimeToLiveAndEndsThen(purges: Bool) async throws {
            let query = bob.objects(Vehicle.self).filter("views == 0")
            let first = try EventRecorder(query)
            try await first.complete()
            first.token.stop(syncingFor: .seconds(600), purgeLocal: purges)
            #expect(try bob.subscriptions().map(\.holderCount) == [1])
            server.clock.advance(by: .seconds(590))
            try await alice.upload(vins: "a")
            try await server.settled()
            #expect(try query.count() == 1)
            #expect(try await !bob.serverSubscriptions().isEmpty)
            server.clock.advance(by: .seconds(20))
            try await server.settled()
            #expect(try await bob.serverSubscriptions().isEmpty)
            #expect(try query.count() == (purges ? 0 : 1))
            #expect(try bob.subscriptions().isEmpty)
        }

        @Test func whoObservesAQueryWithinItsTimeToLiveFindsItCurrentAndItStays() async throws {
            try await alice.upload(vins: "a")
            let query = bob.objects(Vehicle.self)
            let first = try EventRecorder(query)
            try await first.complete()
            first.token.stop(syncingFor: .seconds(600))
            server.clock.advance(by: .seconds(300))
            let second = try EventRecorder(query)
            // Nothing has to come from the server.
            let event = try await second.event { _ in true }
            #expect(event.state == .complete && event.vins == ["a"])
            server.clock.advance(by: .seconds(400))
            try await server.settled()
            #expect(try bob.subscriptions().map(\.holderCount) == [1])
            #expect(try query.count() == 1)
            second.token.stop()
            #expect(try await bob.serverSubscriptions().isEmpty)
        }

        @Test func aTokenThatIsStoppedWithinAWriteStopsAndPurgesAfterIt() async throws {
            try await alice.upload(vins: "a", "b")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            let token = recorder.token
            try await bob.write { tx in
                token.stop(stopSyncing: true, purgeLocal: true)
                let car = try tx.object(Vehicle.self, key: "a")
                #expect(car != nil)
            }
            #expect(try bob.objects(Vehicle.self).count() == 0)
            #expect(try await bob.serverSubscriptions().isEmpty)
        }

        @Test func aTokenThatIsReleasedWithinAWriteEndsSyncingAndKeepsTheData() async throws {
            try await alice.upload(vins: "a")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            let box = TokenBox(try bob.objects(Vehicle.self).observe { _ in })
            recorder.token.stop(stopSyncing: true, purgeLocal: false)
            #expect(try await !bob.serverSubscriptions().isEmpty)
            try await bob.write { _ in box.letGo() }
            #expect(try await bob.serverSubscriptions().isEmpty)
            #expect(try bob.objects(Vehicle.self).count() == 1)
        }

        /// Holds a token until it is emptied.
        private final class TokenBox: Sendable {
            private let token: Mutex<NotificationToken?>

            init(_ token: NotificationToken) { self.token = Mutex(token) }

            func letGo() {
                let token = token.withLock { token in
                    defer { token = nil }
                    return token
                }
                withExtendedLifetime(token) {}
            }
        }

        @Test func syncedWaitsForTheServerAlsoWhereTheQueryIsObserved() async throws {
            try await alice.upload(vins: "a")
            let query = bob.objects(Vehicle.self)
            let recorder = try EventRecorder(query)
            try await recorder.complete()
            server.cut(bob)
            try await alice.upload(vins: "b")
            let late = Task { try await query.synced(timeout: .seconds(5)) }
            // There are two timers: that of the wait, and that of reconnecting.
            while server.clock.timerCount < 2 { await Task.yield() }
            server.clock.advance(by: .seconds(6))
            let error = await #expect(throws: SyncError.self) { _ = try await late.value }
            #expect(error?.code == .timedOut)
            async let rows = query.synced()
            server.restore(bob)
            #expect(try await Set(rows.map(\.vin)) == ["a", "b"])
        }

        @Test func stopSyncingEndsAQueryThatWasKept() async throws {
            try await alice.upload(vins: "a")
            let query = bob.objects(Vehicle.self)
            let recorder = try EventRecorder(query)
            try await recorder.complete()
            recorder.token.stop(stopSyncing: false)
            #expect(try await !bob.serverSubscriptions().isEmpty)
            try bob.stopSyncing(query, purgeLocal: true)
            #expect(try await bob.serverSubscriptions().isEmpty)
            #expect(try query.count() == 0)
        }

        @Test func aStoreListsWhatItKeepsInSync() async throws {
            try await alice.upload(vins: "a")
            #expect(try bob.subscriptions().isEmpty)
            let first = try EventRecorder(bob.objects(Vehicle.self).filter("price < 10"))
            let second = try EventRecorder(bob.objects(Vehicle.self).filter("price < 10.0"))
            try await first.complete()
            try await second.complete()
            let listed = try bob.subscriptions()
            #expect(listed.map(\.holderCount) == [2] && listed.map(\.status.state) == [.complete])
            first.token.stop()
            second.token.stop(stopSyncing: false)
            let kept = try #require(try bob.subscriptions().first)
            #expect(kept.holderCount == 0)
            // What the list says is enough to end it.
            try bob.stopSyncing(try bob.records(kept.query), purgeLocal: true)
            #expect(try bob.subscriptions().isEmpty)
            #expect(try bob.objects(Vehicle.self).count() == 0)
            await bob.close()
            #expect(throws: StoreError.self) { try bob.subscriptions() }
        }
    }
#endif
