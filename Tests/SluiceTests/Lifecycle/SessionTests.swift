import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// What a store's session says of itself, and how it is steered (rows S1 to S11, S27, S28, O10, O11, O37, O49, O54).
    @Suite(.timeLimit(.minutes(10))) struct SessionTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open()
        }

        /// Waits until a session's status is as described, and returns the changes up to there.
        @discardableResult
        private func changes(
            of store: Store, until isReached: (SessionStatus) -> Bool
        ) async throws -> [SessionChange] {
            var changes: [SessionChange] = []
            for await change in try #require(store.session).changes {
                changes.append(change)
                if isReached(change.new) { return changes }
            }
            Issue.record("the changes ended before the status was reached: \(changes)")
            return changes
        }

        /// The changes that a handler is told, one after the other.
        private struct Told {
            private let token: HandlerToken
            private var iterator: AsyncStream<SessionChange>.Iterator
            private(set) var changes: [SessionChange] = []

            init(_ session: StoreSession) {
                let (stream, continuation) = AsyncStream<SessionChange>.makeStream()
                iterator = stream.makeAsyncIterator()
                token = session.observe { continuation.yield($0) }
            }

            mutating func take(until isReached: (SessionChange) -> Bool) async {
                while let change = await iterator.next(isolation: #isolation) {
                    changes.append(change)
                    if isReached(change) { return }
                }
            }

            func stop() { token.stop() }
        }

        @Test func aStoreWithoutAServerHasNoSession() async throws {
            let local = try await Store.open(StoreConfiguration(models: lifecycleModels))
            #expect(local.session == nil)
            await local.close()
        }

        @Test func aStoreBeginsToSyncWhenItIsToldToIfItsConfigurationSaysSo() async throws {
            let carol = try await server.open(lifecycleModels) { $0.startsSyncing = false }
            let session = try #require(carol.session)
            #expect(session.status == .init(state: .stopped, connection: .disconnected, activity: .stopped))
            async let seen = changes(of: carol) { $0.activity == .idle }
            try session.start()
            let changes = try await seen
            #expect(changes.first?.old == nil)
            for (before, after) in zip(changes, changes.dropFirst()) { #expect(after.old == before.new) }
            let connections = changes.map(\.new.connection).removingRepeats
            // The first change is told when the task begins to listen, which may be after the start.
            #expect([.disconnected, .connecting, .connected].suffix(connections.count) == connections[...])
            #expect(session.state == .active && session.connection == .connected && session.activity == .idle)
            #expect("\(session.status)" == "idle")
        }

        @Test func everyChangeIsToldWithWhatWasBefore() async throws {
            let carol = try await server.open(lifecycleModels) { $0.startsSyncing = false }
            let session = try #require(carol.session)
            var told = Told(session)
            try session.start()
            await told.take { $0.new.activity == .idle }
            try session.pause()
            await told.take { $0.new.state == .paused }
            let all = told.changes
            #expect(
                all.map(\.new.connection).removingRepeats == [.disconnected, .connecting, .connected, .disconnected])
            #expect(all[0].old == nil && all[0].new.state == .stopped)
            for (before, after) in zip(all, all.dropFirst()) { #expect(after.old == before.new) }
        }

        @Test func aStoppedHandlerIsToldNothingMore() async throws {
            let session = try #require(alice.session)
            let count = Mutex(0)
            let token = session.observe { _ in count.withLock { $0 += 1 } }
            try await changes(of: alice) { $0.activity == .idle }
            token.stop()
            let told = count.withLock { $0 }
            try session.pause()
            try session.resume()
            try await changes(of: alice) { $0.activity == .idle }
            try await server.settled()
            #expect(count.withLock { $0 } == told)
        }

        @Test func aPausedStoreKeepsWhatIsWrittenAndSendsItWhenItGoesOn() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            try await bob.connected()
            try session.pause()
            #expect(session.state == .paused && session.connection == .disconnected && session.activity == .stopped)
            try session.pause()
            try await alice.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            // A wait goes on while the session is paused.
            async let uploaded: Void = alice.uploaded()
            server.clock.advance(by: .seconds(3_600))
            try await changes(of: bob) { $0.activity == .idle }
            #expect(session.state == .paused, "time alone resumes nothing")
            #expect(try await bob.objects(Vehicle.self).synced().isEmpty, "other sessions go on, and nothing was sent")
            try session.resume()
            try await uploaded
            #expect(try await bob.objects(Vehicle.self).synced().map(\.vin) == ["a"])
            #expect(session.state == .active)
        }

        @Test func stoppingEndsTheWaitsAndStartingBeginsAgain() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            server.cut(alice)
            try await alice.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            let waiting = Task { try await alice.uploaded() }
            try session.stop()
            await #expect { try await waiting.value } throws: { ($0 as? SyncError)?.code == .stopped }
            #expect(session.state == .stopped)
            await #expect { try await alice.connected() } throws: { ($0 as? SyncError)?.code == .stopped }
            await #expect {
                _ = try await alice.objects(Vehicle.self).synced()
            } throws: { ($0 as? SyncError)?.code == .stopped }
            server.restore(alice)
            try session.resume()
            #expect(session.state == .stopped, "what is stopped is not paused")
            try session.start()
            try await alice.uploaded()
        }

        @Test func anAttemptIsMadeAtOnceWhenAskedForAndOnlyThen() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            try session.reconnect()
            #expect(session.connection == .connected, "a connected session stays as it is")
            server.cut(alice)
            try await changes(of: alice) { $0.activity == .offline }
            #expect(session.status.problem != nil && session.state == .active)
            var told = Told(session)
            // The clock stands still: only the call can make an attempt.
            try session.reconnect()
            await told.take { $0.new.activity == .connecting }
            await told.take { $0.new.activity == .offline }
            #expect(told.changes.map(\.new.activity) == [.offline, .connecting, .offline])
            try session.pause()
            try session.reconnect()
            #expect(session.state == .paused)
        }

        @Test func aWriteMakesTheSessionBusyUntilItIsAcknowledged() async throws {
            try await changes(of: alice) { $0.activity == .idle }
            var told = Told(try #require(alice.session))
            try await alice.upload(vins: "a")
            await told.take { $0.new.activity == .busy }
            await told.take { $0.new.activity == .idle }
            #expect(told.changes.map(\.new.activity) == [.idle, .busy, .idle])
        }

        @Test func credentialsThatAreRejectedAreAskedForAndOthersBeginAgain() async throws {
            let ruled = try TestServer(rules: #"{"database": {"schema": "TRUEPREDICATE"}}"#)
            let carol = try await ruled.open(lifecycleModels, user: "carol") {
                $0.sync?.credentials = .jwt("not a token")
            }
            let session = try #require(carol.session)
            let changes = try await changes(of: carol) { $0.state == .needsCredentials }
            let status = try #require(changes.last).new
            #expect(status.connection == .disconnected && status.activity == .stopped && status.problem != nil)
            try session.resume()
            try session.reconnect()
            #expect(session.state == .needsCredentials)
            let other = try await ruled.open(lifecycleModels, user: "carol")
            try await other.connected()
            let accepted = try #require(other.core.configuration.sync).credentials
            try await carol.authenticate(accepted)
            try await carol.connected()
            #expect(session.state == .active)
        }

        @Test func aLoginIsToldWithTheUserAndEndsWithTheSession() async throws {
            let server = try TestServer(rules: #"{"database": {"schema": "TRUEPREDICATE"}}"#)
            let store = try await server.open(lifecycleModels, user: "carol") { $0.startsSyncing = false }
            let session = try #require(store.session)
            var told = Told(session)
            try session.start()
            await told.take { $0.new.activity == .idle }
            let carol = SessionStatus.Login(userID: "carol")
            #expect(session.login == carol)
            // There is a login exactly while there is a session.
            for change in told.changes { #expect((change.new.login == carol) == (change.new.connection == .connected)) }
            let logins = told.changes.filter { $0.old?.login == nil && $0.new.login != nil }
            #expect(logins.count == 1 && logins.allSatisfy { $0.description.hasSuffix(" as carol") })
            server.expireLogin(of: store)
            await told.take { $0.new.state == .needsCredentials }
            #expect(told.changes.last?.old?.login == carol && session.login == nil)
            #expect(session.status.problem == "the login of the session is over")
        }

        @Test func eachCatchUpAfterALossIsTold() async throws {
            try await changes(of: alice) { $0.activity == .idle }
            var told = Told(try #require(alice.session))
            let observed = try EventRecorder(alice.objects(Vehicle.self))
            try await observed.complete()
            await told.take { $0.new.activity == .idle && $0.old?.activity == .busy }
            for number in 1...3 {
                server.cut(alice)
                await told.take { $0.new.connection == .disconnected }
                try await bob.upload(vins: "\(number)")
                server.restore(alice)
                // By the time that it is told, what the server has sent is here.
                await told.take { $0.new.activity == .idle }
                #expect(try alice.objects(Vehicle.self).count() == number)
            }
        }

        @Test func otherCredentialsDoNotEndAPause() async throws {
            let session = try #require(alice.session)
            try session.pause()
            try await alice.authenticate(.anonymous)
            #expect(session.state == .paused)
            try session.stop()
            try await alice.authenticate(.anonymous)
            #expect(session.state == .stopped)
        }

        @Test func aResetFetchesEverythingAnewAndAppliesUnsentWritesOnce() async throws {
            try await alice.upload(vins: "a")
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            try await bob.write { try $0.increment(Vehicle(vin: "a", plate: ""), \.views, by: 2) }
            try await bob.uploaded()
            server.cut(bob)
            try await bob.write { try $0.increment(Vehicle(vin: "a", plate: ""), \.views, by: 3) }
            let session = try #require(bob.session)
            try session.start(reset: true)
            // What was written here is shown before the server can be reached.
            #expect(try bob.objects(Vehicle.self).fetch().map(\.vin) == ["a"])
            server.restore(bob)
            try await bob.uploaded()
            #expect(try await bob.objects(Vehicle.self).synced().map(\.views) == [5])
            #expect(try await alice.objects(Vehicle.self).synced().map(\.views) == [5])
            try session.start(reset: true)
            #expect(try await bob.objects(Vehicle.self).synced().map(\.views) == [5])
        }

        @Test func whatAWriteAsksForHappensAfterIt() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            try await alice.write { transaction in
                try transaction.insert(Vehicle(vin: "a", plate: ""))
                try session.pause()
                #expect(session.state == .active)
            }
            #expect(session.state == .paused)
        }

        @Test func aListenerThatTakesNothingHasAtMost64ChangesWaiting() async throws {
            try await changes(of: alice) { $0.activity == .idle }
            let session = try #require(alice.session)
            var iterator = session.changes.makeAsyncIterator()
            for _ in 0..<100 {
                try session.pause()
                try session.resume()
            }
            try session.pause()
            var taken: [SessionChange] = []
            while let change = await iterator.next() {
                taken.append(change)
                if change.new.state == .paused && taken.count >= 64 { break }
            }
            #expect(taken.count == 64)
            for (before, after) in zip(taken, taken.dropFirst()) { #expect(after.old == before.new) }
            #expect(taken.last?.new == session.status)
        }

        @Test func closingTheStoreIsTheLastChange() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            var iterator = session.changes.makeAsyncIterator()
            #expect(await iterator.next()?.old == nil)
            await alice.close()
            var last: SessionChange?
            while let change = await iterator.next() { last = change }
            #expect(last?.new.state == .stopped && session.state == .stopped)
            #expect(throws: StoreError.self) { try session.start() }
            var late = session.changes.makeAsyncIterator()
            #expect(await late.next()?.new.state == .stopped)
            #expect(await late.next() == nil)
        }

        @Test func aCancelledListenerEnds() async throws {
            try await changes(of: alice) { $0.activity == .idle }
            let session = try #require(alice.session)
            let listening = Task {
                var count = 0
                for await _ in session.changes { count += 1 }
                return count
            }
            listening.cancel()
            #expect(await listening.value <= 1)
        }

        @Test func theServersClockIsKnownOnceASessionHasOpened() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            #expect(try session.serverClockOffset == .zero)
        }
    }

    extension Array where Element: Equatable {
        fileprivate var removingRepeats: [Element] {
            indices.filter { $0 == 0 || self[$0] != self[$0 - 1] }.map { self[$0] }
        }
    }
#endif
