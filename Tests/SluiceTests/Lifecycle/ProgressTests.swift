import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// How far transfers have come (rows S22 to S26, C45).
    @Suite(.timeLimit(.minutes(10))) struct ProgressTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open()
            bob = try await server.open()
        }

        /// What is told of a transfer until it ends.
        private func all(_ progress: SessionEvents<SyncProgress>) async -> [SyncProgress] {
            var all: [SyncProgress] = []
            for await value in progress { all.append(value) }
            return all
        }

        private func check(monotonic values: [SyncProgress]) {
            for (before, after) in zip(values, values.dropFirst()) {
                #expect(before.estimate <= after.estimate && before.rowCount <= after.rowCount)
                #expect(before.byteCount <= after.byteCount)
            }
            for value in values { #expect((0...1).contains(value.estimate)) }
        }

        @Test func whatIsOutstandingIsDoneAtOneAndEndsTheSequence() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            #expect(await all(session.progress(of: .upload, .outstanding)).map(\.estimate) == [1])
            #expect(await all(session.progress(of: .download, .outstanding)).map(\.estimate) == [1])
            server.cut(alice)
            for number in 0..<4 {
                try await alice.write { try $0.insert(Vehicle(vin: "\(number)", plate: "")) }
            }
            var progress = session.progress(of: .upload, .outstanding).makeAsyncIterator()
            #expect(await progress.next() == SyncProgress(rowCount: 0, byteCount: 0, estimate: 0))
            // What is written later does not count.
            try await alice.write { try $0.insert(Vehicle(vin: "later", plate: "")) }
            server.restore(alice)
            var told: [SyncProgress] = []
            while let value = await progress.next() { told.append(value) }
            check(monotonic: told)
            let last = try #require(told.last)
            #expect(last.isComplete && last.rowCount >= 4 && last.byteCount > 0)
        }

        @Test func uploadsReturnToAnEarlierEstimateWhenMoreIsWritten() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            var progress = session.progress(of: .upload).makeAsyncIterator()
            #expect(await progress.next()?.estimate == 1)
            for _ in 0..<3 {
                server.cut(alice)
                for _ in 0..<4 { try await alice.write { try $0.insert(Memo()) } }
                var value = try #require(await progress.next())
                while value.estimate != 0 { value = try #require(await progress.next()) }
                server.restore(alice)
                while !value.isComplete { value = try #require(await progress.next()) }
            }
            await alice.close()
            while let value = await progress.next() { #expect(value.isComplete) }
        }

        @Test func uploadsThatArrivedBeforeTheAcknowledgementWasLostCountOnce() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            try await alice.upload(vins: "a", "b")
            var progress = session.progress(of: .upload).makeAsyncIterator()
            _ = await progress.next()
            for number in 0..<20 {
                try await alice.write { try $0.insert(Vehicle(vin: "\(number)", plate: "")) }
                if number % 5 == 4 {
                    server.cut(alice)
                    server.restore(alice)
                }
            }
            try await alice.uploaded()
            var last = try #require(await progress.next())
            while !last.isComplete || last.rowCount < 20 { last = try #require(await progress.next()) }
            #expect(last.rowCount == 20)
        }

        @Test func aQueryThatIsWaitedForTellsHowMuchOfItIsHere() async throws {
            try await alice.upload(
                (0..<3_000).map { Vehicle(vin: String($0 * 7_919 % 65_521, radix: 36), price: 1, plate: "") })
            let told = Mutex<[SyncProgress]>([])
            let vehicles = try await bob.objects(Vehicle.self).synced(progress: { value in
                told.withLock { $0.append(value) }
            })
            #expect(vehicles.count == 3_000)
            let values = told.withLock { $0 }
            check(monotonic: values)
            let last = try #require(values.last)
            #expect(last.isComplete && last.rowCount == 3_000 && last.byteCount > 3_000)
            #expect(values.dropLast().allSatisfy { !$0.isComplete })
            // What another query brings is none of its progress.
            try await alice.upload([Person(name: "p")])
            _ = try await bob.objects(Person.self).synced(progress: { #expect($0.rowCount <= 1) })
        }

        @Test func downloadsOfAllQueriesBeginAgainWithEachNewQuery() async throws {
            try await alice.upload((0..<500).map { Vehicle(vin: "\($0)", price: 1, plate: "") })
            let session = try #require(bob.session)
            try await bob.connected()
            var progress = session.progress(of: .download).makeAsyncIterator()
            #expect(await progress.next()?.estimate == 1)
            for (price, count) in [(0.5, 500), (0.25, 1_000)] {
                server.cut(bob)
                let recorder = try EventRecorder(bob.objects(Vehicle.self).filter("price > $0", price))
                var value = try #require(await progress.next())
                while value.estimate != 0 { value = try #require(await progress.next()) }
                server.restore(bob)
                while !value.isComplete { value = try #require(await progress.next()) }
                #expect(value.rowCount >= count)
                try await recorder.complete()
                recorder.token.stop(stopSyncing: false)
            }
        }

        @Test func whatIsOutstandingNeverFallsWhenAConnectionIsLost() async throws {
            try await alice.upload((0..<2_000).map { Vehicle(vin: "\($0)", price: 1, plate: "") })
            let session = try #require(bob.session)
            try await bob.connected()
            server.cut(bob)
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            async let told = all(session.progress(of: .download, .outstanding))
            for _ in 0..<5 {
                server.restore(bob)
                try await bob.connected()
                server.cut(bob)
            }
            server.restore(bob)
            try await recorder.complete()
            let values = await told
            check(monotonic: values)
            #expect(values.last?.isComplete == true)
        }

        @Test func stoppingEndsWhatIsOutstandingAndNotWhatIsIndefinite() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            server.cut(alice)
            try await alice.write { try $0.insert(Memo()) }
            var outstanding = session.progress(of: .upload, .outstanding).makeAsyncIterator()
            var indefinite = session.progress(of: .upload).makeAsyncIterator()
            #expect(await outstanding.next()?.estimate == 0)
            #expect(await indefinite.next()?.estimate == 0)
            try session.stop()
            #expect(await outstanding.next() == nil)
            // One that begins while nothing can come ends after it has told how things are.
            #expect(await all(session.progress(of: .upload, .outstanding)).map(\.estimate) == [0])
            server.restore(alice)
            try session.start()
            var value = try #require(await indefinite.next())
            while !value.isComplete { value = try #require(await indefinite.next()) }
            await alice.close()
            #expect(await indefinite.next() == nil)
            #expect(await all(session.progress(of: .download)).isEmpty)
        }

        @Test func aHandlerIsToldUntilItsTokenIsStopped() async throws {
            let session = try #require(alice.session)
            try await alice.connected()
            let (told, continuation) = AsyncStream<SyncProgress>.makeStream()
            let token = session.observeProgress(of: .upload) { continuation.yield($0) }
            var iterator = told.makeAsyncIterator()
            #expect(await iterator.next()?.isComplete == true)
            try await alice.upload(vins: "a")
            while let value = await iterator.next(), value.rowCount < 1 {}
            token.stop()
            try await alice.upload(vins: "b")
            continuation.finish()
            while let value = await iterator.next() { #expect(value.rowCount < 2) }
        }

        @Test func aQueryThatNobodyHoldsAnyMoreCountsAsDone() async throws {
            let session = try #require(bob.session)
            try await bob.connected()
            server.cut(bob)
            let ended = try bob.records("Vehicle WHERE price > 1 LIMIT(5)").observe { _ in }
            var progress = session.progress(of: .download, .outstanding).makeAsyncIterator()
            #expect(await progress.next()?.estimate == 0)
            // Nobody awaits a query that is not observed any more.
            ended.stop()
            #expect(await progress.next()?.estimate == 1)
            #expect(await progress.next() == nil)
        }
    }
#endif
