import Sluice
import SluiceServer
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Waits for one write, for an event in time, and those that a lost connection ends (rows O42, S15 to S20).
    @Suite(.timeLimit(.minutes(10))) struct WaitingTests {
        private let server: TestServer
        private let alice: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
        }

        private func insert(_ vin: String, price: Double = 1, into store: Store) async throws -> WriteReceipt {
            try await store.write { transaction in
                try transaction.insert(Vehicle(vin: vin, price: price, plate: ""))
                return transaction.receipt
            }
        }

        // MARK: Reports of the server

        @Test func whoAsksForAReportWaitsForASession() async throws {
            let bob = try await server.open()
            #expect(try await bob.serverStatus().sessions >= 1)
            #expect(try await bob.serverSubscriptions(timeout: .seconds(30)).isEmpty)
            server.cut(bob)
            try await server.settled()
            let waiting = Task { try await bob.serverStatus() }
            try await server.settled()
            server.restore(bob)
            #expect(try await waiting.value.sessions >= 1)
            let cancelled = Task { try await bob.serverStatus() }
            try bob.session?.pause()
            cancelled.cancel()
            await #expect(throws: (any Error).self) { try await cancelled.value }
        }

        // MARK: One write

        @Test func oneWriteIsWaitedForByItsReceipt() async throws {
            let first = try await insert("a", into: alice)
            try await alice.uploaded(first)
            server.cut(alice)
            // It stays so, and later writes do not matter.
            _ = try await insert("b", into: alice)
            try await alice.uploaded(first)
            let third = try await insert("c", into: alice)
            let waiting = Task { try await alice.uploaded(third) }
            server.restore(alice)
            try await waiting.value
            #expect(try alice.outgoingCount() == 0)
        }

        @Test func aWriteThatIsRejectedSaysWhyToWhoeverWaitsForItAndToNobodyElse() async throws {
            let server = try TestServer { server in
                server.onWrite(to: "Vehicle", timeLimit: .seconds(60)) { write in
                    write.new?["price"] == .double(666) ? .refuse("too dear") : .accept
                }
            }
            let store = try await server.open()
            try await store.connected()
            server.cut(store)
            let good = try await insert("a", into: store)
            let bad = try await insert("b", price: 666, into: store)
            let last = try await insert("c", into: store)
            let reported = Mutex(0)
            let token = store.onWriteRejected { _ in reported.withLock { $0 += 1 } }
            let waiting = Task { try await store.uploaded(bad) }
            server.restore(store)
            await #expect {
                try await waiting.value
            } throws: { error in
                (error as? SyncError)?.code == .writeRejected && "\(error)".contains("too dear")
            }
            #expect(reported.withLock { $0 } == 1, "the handlers are told first")
            try await store.uploaded(good)
            try await store.uploaded(last)
            await #expect(throws: SyncError.self) { try await store.uploaded(bad) }
            #expect(try store.objects(Vehicle.self).fetch().map(\.vin).sorted() == ["a", "c"])
            token.stop()
        }

        @Test func aWriteThatChangesNothingHasNothingToWaitFor() async throws {
            server.cut(alice)
            let receipt = try await alice.write { $0.receipt }
            try await alice.uploaded(receipt)
        }

        @Test func aWriteThatThrewHasNoFate() async throws {
            struct Refused: Error {}
            let (receipts, continuation) = AsyncStream<WriteReceipt>.makeStream()
            await #expect(throws: Refused.self) {
                try await alice.write { transaction in
                    try transaction.insert(Memo())
                    continuation.yield(transaction.receipt)
                    throw Refused()
                }
            }
            var iterator = receipts.makeAsyncIterator()
            let receipt = try #require(await iterator.next())
            await #expect { try await alice.uploaded(receipt) } throws: {
                ($0 as? StoreError)?.code == .outsideWrite
            }
        }

        @Test func aWaitForOneWriteEndsWithItsTimeOutAndUploadingGoesOn() async throws {
            try await alice.connected()
            server.cut(alice)
            let receipt = try await insert("a", into: alice)
            // By then the store waits for its next attempt to connect.
            try await server.settled()
            let count = server.clock.timerCount
            let waiting = Task { try await alice.uploaded(receipt, timeout: .seconds(10)) }
            try await server.clock.timers(count + 1)
            server.clock.advance(by: .seconds(10))
            await #expect { try await waiting.value } throws: { ($0 as? SyncError)?.code == .timedOut }
            server.restore(alice)
            try await alice.uploaded(receipt)
        }

        // MARK: Events in time

        @Test func whoWaitsForAnEventTooLongIsToldSoWithTheReason() async throws {
            try await alice.connected()
            server.cut(alice)
            try await server.settled()
            let count = server.clock.timerCount
            var changes = alice.objects(Vehicle.self).changes(timeout: .seconds(30)).makeAsyncIterator()
            #expect(try await changes.next()?.state == .pending)
            let waiting = Task {
                var changes = alice.objects(Person.self).changes(timeout: .seconds(30)).makeAsyncIterator()
                while let change = try await changes.next() { #expect(change.state == .pending) }
            }
            try await server.clock.timers(count + 2)
            server.clock.advance(by: .seconds(29))
            // The time of the first sequence does not run while nobody waits for it.
            server.clock.advance(by: .seconds(2))
            await #expect {
                try await waiting.value
            } throws: { error in
                (error as? SyncError)?.code == .timedOut && "\(error)".contains("cut the network")
            }
            server.restore(alice)
            #expect(try await changes.next()?.state == .complete)
        }

        // MARK: Waits that a loss ends

        @Test func aLostConnectionEndsTheWaitsOfAStoreThatWantsItSo() async throws {
            let bob = try await server.open(lifecycleModels) { $0.sync?.cancelsWaitsOnNonFatalErrors = true }
            try await bob.connected()
            let token = try bob.objects(Vehicle.self).observe { _ in }
            server.cut(bob)
            try await bob.write { try $0.insert(Memo()) }
            let session = try #require(bob.session)
            for await change in session.changes where change.new.activity == .offline { break }
            let waits = [
                Task { try await bob.uploaded() }, Task { try await bob.connected() },
                Task { _ = try await bob.objects(Vehicle.self).synced() },
            ]
            // Each ends with the next attempt that fails, as soon as it waits.
            for wait in waits {
                let ending = Task { await wait.result }
                let isOver = Mutex(false)
                Task {
                    _ = await ending.value
                    isOver.withLock { $0 = true }
                }
                while !isOver.withLock({ $0 }) {
                    try session.reconnect()
                    await Task.yield()
                }
                await #expect { try await wait.value } throws: { ($0 as? SyncError)?.code == .unreachable }
            }
            #expect(session.state == .active, "the store goes on trying")
            server.restore(bob)
            try await bob.uploaded()
            token.stop()
        }

        @Test func aLostConnectionEndsNoWaitOtherwise() async throws {
            try await alice.connected()
            server.cut(alice)
            let waiting = Task { try await alice.connected() }
            let session = try #require(alice.session)
            for await change in session.changes where change.new.activity == .offline { break }
            for _ in 0..<3 { try session.reconnect() }
            server.restore(alice)
            try await waiting.value
        }
    }
#endif
