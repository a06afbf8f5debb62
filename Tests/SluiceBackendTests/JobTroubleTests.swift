import Foundation
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// What becomes of jobs whose programs put work off, are refused, die, or are begun again by a timer: in the server's
/// process, and over a store.
struct JobTroubleTests {
    private struct Failure: Error {}

    private static func rules(jobs: Bool = true) -> String {
        """
        {"database": {"jobs": \(jobs), "rules": "$user.id == 'root'"}, "classes": {
            "Flight": {"read": true, "create": true, "update": true, "updateAfter": true, "delete": true},
            "Alert": {"read": true, "create": "delay <= 90", "update": true, "updateAfter": "delay <= 90", "delete": true},
            "Note": {"read": true, "create": true}}}
        """
    }

    /// A database with flights, and ada's jobs on it.
    private struct Desk {
        let server: TestServer
        let nyc: ServerDatabase
        let store: Store?

        init(isOverStore: Bool, delays: [Int], log: LogLines? = nil) async throws {
            server = try TestServer(rules: JobTroubleTests.rules(), log: log?.sink)
            nyc = try await server.database(models: models)
            try await nyc.write { transaction in
                for (number, delay) in delays.enumerated() {
                    try transaction.upsert(Flight(id: "F\(number)", delay: delay))
                }
            }
            store = isOverStore ? try await server.open(models, user: "ada") : nil
        }

        func consumer(_ options: Consumer<Flight>.Options = .init()) -> Consumer<Flight> {
            guard let store else {
                return nyc.consumer("job", of: nyc.objects(Flight.self), as: "ada", options: options)
            }
            return store.consumer("job", of: store.objects(Flight.self), options: options)
        }

        func queue(_ options: WorkQueue<Flight>.Options = .init()) -> WorkQueue<Flight> {
            guard let store else {
                return nyc.queue(
                    "job", of: nyc.objects(Flight.self).where { $0.gate == nil }, as: "ada", options: options)
            }
            return store.queue("job", of: store.objects(Flight.self).where { $0.gate == nil }, options: options)
        }

        var host: any JobHost { store?.host ?? nyc.host }

        /// What the database keeps of the consumer.
        func state() async throws -> ConsumerState? {
            try await nyc.host.record(ConsumerState.key("job")).map { try ConsumerState($0) }
        }
    }

    private func quick(_ attempts: Int, limit: Int = 1_000) -> Consumer<Flight>.Options {
        var options = Consumer<Flight>.Options()
        (options.attempts, options.limit, options.backoff) = (attempts, limit, .exponential(.zero, max: .zero))
        return options
    }

    @Sendable private static func gate(_ flight: Flight) -> WorkQueue<Flight>.Completion {
        { transaction in
            var flight = flight
            flight.gate = "A"
            try transaction.upsert(flight)
        }
    }

    // MARK: Put off and refused

    @Test(arguments: [false, true], [false, true])
    func `a batch that is put off comes again as it is, however often, and nothing is put aside`(
        isOverStore: Bool, isOnce: Bool
    ) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: [1, 2, 3, 4])
        let consumer = desk.consumer(quick(2))
        let sizes = Guarded<[Int]>([])
        let done = AsyncStream<Void>.makeStream()
        let body = { @Sendable (batch: ConsumerBatch<Flight>) async throws in
            sizes.withLock { $0.append(batch.count) }
            if sizes.withLock({ $0.count }) < 12 { throw JobError.tryAgain("the other system is away") }
            try await batch.commit()
            done.continuation.yield()
        }
        if isOnce {
            #expect(try await consumer.runOnce(body) == 4)
        } else {
            let running = Task { try await consumer.run(body) }
            for await _ in done.stream { break }
            running.cancel()
            try await running.value
        }
        #expect(sizes.withLock { $0 } == Array(repeating: 4, count: 12))
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").isEmpty)
    }

    @Test(arguments: [false, true])
    func `an object whose results the rules refuse is found and put aside, and the others are handled`(
        isOverStore: Bool
    ) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: [60, 61, 95, 62])
        let count = try await desk.consumer(quick(1)).runOnce { batch in
            try await batch.commit { transaction in
                for item in batch.upserts {
                    try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
                }
            }
        }
        #expect(count == 3)
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").map(\.object) == [Flight(id: "F2").identity])
        #expect(
            try await desk.nyc.objects(Alert.self).sorted(by: \.flight).fetch().map(\.flight) == ["F0", "F1", "F3"])
    }

    @Test func `a consumer over a store whose user loses the right to run jobs ends with the reason`() async throws {
        let desk = try await Desk(isOverStore: true, delays: [60])
        let root = try await desk.server.open(models, user: "root")
        try await root.connected()
        await #expect {
            try await desk.consumer(quick(3)).runOnce { batch in
                _ = try await root.core.deploy(
                    rules: Array(Self.rules(jobs: false).utf8), isTrial: false, timeout: nil)
                try await batch.commit()
            }
        } throws: { ($0 as? SyncError)?.code == .notPermitted && "\($0)".contains("'jobs'") }
    }

    // MARK: Begun again

    @Test func `who takes the name of a consumer goes on looking for the object that fails`() async throws {
        let desk = try await Desk(isOverStore: false, delays: Array(repeating: 60, count: 16))
        var options = quick(2, limit: 16)
        // Each run is killed while it waits, as by a timer that begins the next one.
        options.backoff = .exponential(.seconds(3_600), max: .seconds(3_600))
        let handled = Guarded<[String]>([])
        var runCount = 0
        while try await desk.nyc.jobs.deadLetters(ofConsumer: "job").isEmpty {
            runCount += 1
            try #require(runCount < 40)
            let before = try await desk.state()?.trial
            let consumer = desk.consumer(options)
            let running = Task {
                try await consumer.runOnce { batch in
                    if batch.upserts.contains(where: { $0.value.id == "F5" }) { throw Failure() }
                    try await batch.commit()
                    handled.withLock { $0 += batch.upserts.map(\.value.id) }
                }
            }
            while try await desk.state()?.trial == before,
                try await desk.nyc.jobs.deadLetters(ofConsumer: "job").isEmpty
            { await Task.yield() }
            running.cancel()
            _ = await running.result
        }
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").map(\.object) == [Flight(id: "F5").identity])
        try await desk.consumer(options).runOnce { batch in
            try await batch.commit()
            handled.withLock { $0 += batch.upserts.map(\.value.id) }
        }
        #expect(handled.withLock { $0.count == 15 && Set($0).count == 15 })
        #expect(try await desk.state()?.trial?.failureCount ?? 0 == 0)
    }

    @Test(arguments: [false, true])
    func `a consumer that yields leaves the name to one that was heard of lately`(isOverStore: Bool) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: [60, 61])
        var options = quick(2, limit: 1)
        options.isYielding = true
        var holder = desk.consumer().batches.makeAsyncIterator()
        _ = try await holder.next()
        await #expect {
            try await desk.consumer(options).runOnce { try await $0.commit() }
        } throws: { ($0 as? JobError)?.code == .nameHeld }
        // Nothing was heard of the holder since.
        try await desk.server.advance(by: .seconds(61))
        #expect(try await desk.consumer(options).runOnce { try await $0.commit() } == 2)
        // One that has ended has let go of it.
        #expect(try await desk.consumer(options).runOnce { try await $0.commit() } == 0)
    }

    @Test func `a consumer that waits keeps its name`() async throws {
        let desk = try await Desk(isOverStore: false, delays: [60])
        let handled = AsyncStream<Void>.makeStream()
        let consumer = desk.consumer()
        let running = Task {
            try await consumer.run { batch in
                try await batch.commit()
                handled.continuation.yield()
            }
        }
        for await _ in handled.stream { break }
        var options = quick(2)
        options.isYielding = true
        for _ in 0..<6 {
            // It says that it is there three times in the time for which a name counts as held.
            let before = try await desk.nyc.host.record(ConsumerState.key("job"))?.due
            try await desk.server.advance(by: .seconds(20))
            while try await desk.nyc.host.record(ConsumerState.key("job"))?.due == before { await Task.yield() }
            await #expect(throws: JobError.self) {
                try await desk.consumer(options).runOnce { try await $0.commit() }
            }
        }
        running.cancel()
        try await running.value
    }

    // MARK: Names

    @Test func `a batch has one name whenever it comes, and every other batch another`() async throws {
        let desk = try await Desk(isOverStore: false, delays: [60, 61, 62])
        var batches = desk.consumer(quick(2, limit: 2)).batches.makeAsyncIterator()
        let first = try #require(try await batches.next())
        let again = try #require(try await batches.next())
        #expect(first.id == again.id && first.count == 2)
        try await again.commit()
        let second = try #require(try await batches.next())
        try await second.commit()
        #expect(second.id != first.id)
        var names = [first.id, second.id]
        for round in 0..<2 {
            try await desk.nyc.write { try $0.delete(Flight.self, key: "F0") }
            let removal = try #require(try await batches.next())
            #expect(removal.removals.count == 1, "\(round)")
            try await removal.commit()
            try await desk.nyc.putFlight("F0", delay: 60)
            let back = try #require(try await batches.next())
            try await back.commit()
            names += [removal.id, back.id]
        }
        #expect(Set(names).count == names.count)
        #expect(JobBatchName.of(["a", "b"]) != JobBatchName.of(["a"]))
        #expect(JobBatchName.of(["a", "b"]) != JobBatchName.of(["ab"]))
    }

    /// Copies what the server's folder has, while the server is stopped.
    private func copy(of server: TestServer) async throws -> String {
        let copy = NSTemporaryDirectory() + "sluice-copy-" + UUID().uuidString
        await server.stop()
        try FileManager.default.copyItem(atPath: server.folder, toPath: copy)
        try server.start()
        return copy
    }

    /// Moves the clock until the task is cancelled: what a job waits for may take any number of waits.
    private func letTimePass(on server: TestServer) -> Task<Void, any Error> {
        Task { while !Task.isCancelled { try await server.advance(by: .seconds(60)) } }
    }

    /// Puts a copy back, while the server is stopped.
    private func putBack(_ copy: String, on server: TestServer) async throws {
        await server.stop()
        for name in try FileManager.default.contentsOfDirectory(atPath: server.folder) {
            try FileManager.default.removeItem(atPath: server.folder + "/" + name)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: copy) {
            try FileManager.default.moveItem(atPath: copy + "/" + name, toPath: server.folder + "/" + name)
        }
        try FileManager.default.removeItem(atPath: copy)
        try server.start()
    }

    @Test func `a state has the same name after a restart, and another than one that a backup has undone`()
        async throws
    {
        let server = try TestServer()
        let ids = Guarded<[String]>([])
        func next(_ delay: Int?) async throws {
            let nyc = try await server.database(models: models)
            if let delay { try await nyc.putFlight("F1", delay: delay) }
            var batches = nyc.consumer("job", of: nyc.objects(Flight.self)).batches.makeAsyncIterator()
            let batch = try #require(try await batches.next())
            ids.withLock { $0 += batch.upserts.map(\.id) }
            let claims = Guarded<[String]>([])
            _ = try? await nyc.queue("rows", of: nyc.objects(Flight.self)).runOnce { _, claim in
                claims.withLock { $0.append(claim.id) }
                throw JobError.tryAgain("")
            }
            ids.withLock { $0 += claims.withLock { $0 } }
        }
        _ = try await server.database(models: models)
        let backup = try await copy(of: server)
        try await next(60)
        try await server.restart()
        try await server.advance(by: .seconds(30))
        try await next(nil)
        try await putBack(backup, on: server)
        try await next(61)
        let found = ids.withLock { $0 }
        #expect(found.count == 6)
        #expect(found[0] == found[2] && found[1] == found[3], "\(found)")
        #expect(found[0] != found[4] && found[1] != found[5], "\(found)")
    }

    @Test func `a consumer over a store goes on when a backup is put back, and begins anew`() async throws {
        let server = try TestServer()
        var nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        let store = try await server.open(models)
        // Somebody else had the name when the backup was made.
        try await nyc.consumer("job", of: nyc.objects(Flight.self)).runOnce { try await $0.commit() }
        let given = AsyncStream<[String]>.makeStream()
        var batches = given.stream.makeAsyncIterator()
        let backup = try await copy(of: server)
        nyc = try await server.database(models: models)
        let consumer = store.consumer("job", of: store.objects(Flight.self))
        let running = Task {
            try await consumer.run { batch in
                try await batch.commit()
                given.continuation.yield((batch.isReset ? ["anew"] : []) + batch.upserts.map(\.value.id))
            }
        }
        try await nyc.putFlight("F2", delay: 60)
        var time = letTimePass(on: server)
        while let batch = await batches.next(), !batch.contains("F2") {}
        time.cancel()
        _ = await time.result
        try await putBack(backup, on: server)
        nyc = try await server.database(models: models)
        try await nyc.putFlight("F3", delay: 60)
        var seen: [String] = []
        time = letTimePass(on: server)
        while !seen.contains("F3") || !seen.contains("F1") { seen += try #require(await batches.next()) }
        time.cancel()
        _ = await time.result
        #expect(seen.first == "anew" && seen.contains("F1"), "\(seen)")
        running.cancel()
        try await running.value
    }

    // MARK: Given up

    /// What a database refuses to a queue's worker that goes on.
    enum Refusal: CaseIterable {
        /// It has stored a claim, and the answer was lost.
        case answerToClaim
        /// It does not store the end of one.
        case endOfClaim
    }

    @Test(arguments: Refusal.allCases) func `a row that could not be claimed, or let go, is tried as before`(
        refusal: Refusal
    ) async throws {
        let desk = try await Desk(isOverStore: false, delays: [1])
        let (handed, refused) = (Guarded(0), Guarded(false))
        @Sendable func refuses() throws {
            let isFirst = refused.withLock { wasRefused in
                defer { wasRefused = true }
                return !wasRefused
            }
            if isFirst { throw StorageError(.outcomeUnknown, "nobody knows") }
        }
        let host = InterceptedHost(base: desk.nyc.host) { use in
            switch (use, refusal) {
            case (.hasWritten(let writes), .answerToClaim):
                if writes.contains(where: { $0.condition != nil }) { try refuses() }
            case (.writing, .endOfClaim): if handed.withLock({ $0 == 1 }) { try refuses() }
            default: break
            }
        }
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = WorkQueue<Flight>(host, "job", options) { try Query.parse("Flight WHERE gate == nil", schema: $0) }
        let running = Task {
            try await queue.run { flight, claim in
                let count = handed.withLock { count in
                    count += 1
                    return count
                }
                if count == 1, refusal == .endOfClaim { throw JobError.tryAgain("not yet") }
                return { transaction in try transaction.update(Flight(id: flight.id)) { $0.gate = "A" } }
            }
        }
        let time = letTimePass(on: desk.server)
        while try await desk.nyc.objects(Flight.self).where({ $0.gate == nil }).count() > 0 {
            try #require(try await queue.dead().isEmpty)
            await Task.yield()
        }
        time.cancel()
        _ = await time.result
        running.cancel()
        try await running.value
        #expect(refused.withLock { $0 } && handed.withLock { $0 } == (refusal == .endOfClaim ? 2 : 1))
    }

    @Test(arguments: [false, true]) func `a row whose workers have died is dead when it has used its attempts`(
        isOverStore: Bool
    ) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: [1, 2, 3])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 3
        /// A process has claimed the row, and was killed.
        func die(_ id: String, attempt: UInt64) async throws {
            let key = DeadLetterRecord.key(Flight(id: id).identity, in: QueueClaim.space("job"))
            let claim = QueueClaim(holder: 99, attemptCount: attempt).wireBytes()
            _ = try await desk.host.apply([JobWrite(key, .set(.after(.seconds(30)), value: claim))])
        }
        try await die("F0", attempt: 3)
        try await die("F1", attempt: 2)
        try await desk.server.advance(by: .seconds(31))
        let (busy, worked) = (Guarded<Set<String>>([]), Guarded<[String]>([]))
        let count = try await desk.queue(options).runOnce(workers: 4) { flight, claim in
            let isAlone = busy.withLock { busy in
                busy.insert(flight.id)
                return busy.count == 1 && !(busy.contains("F1") && flight.id != "F1")
            }
            // The last attempt at a row that may have killed its workers is made alone.
            if flight.id == "F1" { #expect(isAlone && claim.attempt == 3) }
            worked.withLock { $0.append(flight.id) }
            for _ in 0..<50 { await Task.yield() }
            if flight.id == "F1" { #expect(busy.withLock { $0 } == ["F1"]) }
            busy.withLock { _ = $0.remove(flight.id) }
            return Self.gate(flight)
        }
        #expect(count == 2)
        #expect(Set(worked.withLock { $0 }) == ["F1", "F2"])
        let dead = try await desk.queue(options).dead()
        #expect(dead.map(\.object) == [Flight(id: "F0").identity])
        #expect(dead.first?.error.contains("its worker ended") == true && dead.first?.attemptCount == 3)
    }

    @Test(arguments: [false, true])
    func `a dead row that is discarded is listed no more, and stays dead until it changes`(
        isOverStore: Bool
    ) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: [1])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = desk.queue(options)
        let flight = Flight(id: "F0").identity
        #expect(try await queue.discard(flight) == false)
        #expect(try await queue.retry(flight) == false)
        let callCount = Guarded(0)
        @Sendable func work(_ flight: Flight) throws -> WorkQueue<Flight>.Completion {
            callCount.withLock { $0 += 1 }
            if flight.delay == 1 { throw Failure() }
            return Self.gate(flight)
        }
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(try await queue.dead().count == 1)
        #expect(try await queue.discard(flight))
        #expect(try await queue.discard(flight) == false)
        #expect(try await queue.dead().isEmpty)
        #expect(try await desk.nyc.jobs.queues().allSatisfy { $0.deadCount == 0 })
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(callCount.withLock { $0 } == 1)
        // Who has thought better of it retries it.
        #expect(try await queue.retry(flight))
        #expect(try await queue.runOnce { row, _ in try work(row) } == 0)
        #expect(callCount.withLock { $0 } == 2)
        #expect(try await queue.discard(flight))
        try await desk.nyc.putFlight("F0", delay: 2)
        #expect(try await queue.runOnce { row, _ in try work(row) } == 1)
        #expect(try await desk.nyc.host.spaces(withPrefix: QueueClaim.discardedPrefix).isEmpty)
    }

    @Test(arguments: [false, true])
    func `an object that a consumer has given up is handled when it is retried, or has changed`(
        isOverStore: Bool
    ) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: [1, 2, 3])
        let isBroken = Guarded(true)
        let given = Guarded<[String]>([])
        let consumer = desk.consumer(quick(1))
        @Sendable func handle(_ batch: ConsumerBatch<Flight>) async throws {
            let isRefused = isBroken.withLock { $0 } && batch.upserts.contains { $0.value.id != "F0" }
            if isRefused { throw Failure() }
            try await batch.commit()
            given.withLock { $0 += batch.upserts.map { "\($0.value.id) \($0.value.delay)" } }
        }
        try await consumer.runOnce { try await handle($0) }
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").count == 2)
        isBroken.withLock { $0 = false }
        #expect(try await consumer.runOnce { try await handle($0) } == 0)
        #expect(try await Jobs(desk.host).retryDeadLetter(Flight(id: "F1").identity, ofConsumer: "job"))
        #expect(try await Jobs(desk.host).retryDeadLetter(Flight(id: "F0").identity, ofConsumer: "job") == false)
        #expect(try await Jobs(desk.host).discardDeadLetter(Flight(id: "F0").identity, ofConsumer: "job") == false)
        #expect(try await consumer.runOnce { try await handle($0) } == 1)
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").map(\.object) == [Flight(id: "F2").identity])
        try await desk.nyc.putFlight("F2", delay: 33)
        #expect(try await consumer.runOnce { try await handle($0) } == 1)
        #expect(try await desk.nyc.jobs.deadLetters(ofConsumer: "job").isEmpty)
        #expect(given.withLock { $0 } == ["F0 1", "F1 2", "F2 33"])
    }

    @Test func `a row that is made due again wakes a worker over a store`() async throws {
        let desk = try await Desk(isOverStore: true, delays: [1])
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let isBroken = Guarded(true)
        let calls = AsyncStream<Int>.makeStream()
        let queue = desk.queue(options)
        let running = Task {
            try await queue.run { flight, claim in
                calls.continuation.yield(claim.attempt)
                if isBroken.withLock({ $0 }) { throw Failure() }
                return Self.gate(flight)
            }
        }
        var attempts = calls.stream.makeAsyncIterator()
        #expect(await attempts.next() == 1)
        while try await queue.dead().isEmpty { await Task.yield() }
        // It has nothing to do, and waits.
        for _ in 0..<200 { await Task.yield() }
        isBroken.withLock { $0 = false }
        #expect(try await desk.nyc.jobs.retryDeadRow(Flight(id: "F0").identity, ofQueue: "job"))
        #expect(await attempts.next() == 1)
        running.cancel()
        try await running.value
    }

    // MARK: Bounds

    @Test(arguments: [false, true]) func `more rows than one request carries are claimed and done`(
        isOverStore: Bool
    ) async throws {
        let desk = try await Desk(isOverStore: isOverStore, delays: Array(1...2_500))
        let sizes = Guarded<[Int]>([])
        let count = try await desk.queue().work(3, batch: 5_000, untilDone: true) { rows in
            sizes.withLock { $0.append(rows.count) }
            return { transaction in
                for row in rows {
                    var flight = row.element
                    flight.gate = "A"
                    try transaction.upsert(flight)
                }
            }
        }
        #expect(count == 2_500)
        #expect(sizes.withLock { $0.max() ?? 0 } <= JobWrite.countMax)
    }

    @Test func `a consumer that has nothing to do tells how far it has read, and writes nothing more`() async throws {
        let desk = try await Desk(isOverStore: false, delays: [60])
        let handled = AsyncStream<Void>.makeStream()
        let consumer = desk.nyc.consumer("job", of: desk.nyc.objects(Flight.self))
        let running = Task {
            try await consumer.run { batch in
                try await batch.commit()
                handled.continuation.yield()
            }
        }
        for await _ in handled.stream { break }
        for number in 0..<30 { try await desk.nyc.write { try $0.insert(Note(text: "\(number)")) } }
        while try await desk.nyc.jobs.consumers().first?.lag != 0 {
            try await desk.server.advance(by: .seconds(21))
        }
        running.cancel()
        try await running.value
        for number in 0..<30 { try await desk.nyc.write { try $0.insert(Note(text: "\(number)")) } }
        #expect(try await desk.nyc.jobs.consumers().first?.lag == 30)
        #expect(try await consumer.runOnce { try await $0.commit() } == 0)
        #expect(try await desk.nyc.jobs.consumers().first?.lag == 0)
    }

    // MARK: Schedules

    @Test func `a schedule whose last run a wrong clock has put into the future goes on at its next time`()
        async throws
    {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let done = AsyncStream<Date>.makeStream()
        let later = Timestamp(server.clock.now.addingTimeInterval(90 * 86_400))
        let key = JobRecord.Key(space: "schedule/sweep")
        _ = try await nyc.host.apply([JobWrite(key, .set(.never, value: Value.date(later).wireBytes()))])
        let running = Task {
            try await nyc.every(.every(seconds: 3_600), named: "sweep") { run in done.continuation.yield(run.time) }
        }
        var runs = done.stream.makeAsyncIterator()
        let time = letTimePass(on: server)
        let first = try #require(await runs.next())
        time.cancel()
        _ = await time.result
        #expect(first < server.clock.now.addingTimeInterval(1))
        while try await nyc.schedules().first?.lastRun != first { await Task.yield() }
        running.cancel()
        try await running.value
    }

    @Test func `of very many runs that were missed the last thousand are made up for`() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let (count, done) = (Guarded(0), AsyncStream<Void>.makeStream())
        let last = Timestamp(server.clock.now)
        let key = JobRecord.Key(space: "schedule/tick")
        _ = try await nyc.host.apply([JobWrite(key, .set(.never, value: Value.date(last).wireBytes()))])
        try await server.advance(by: .seconds(5_000))
        let end = server.clock.now
        let running = Task {
            try await nyc.every(.every(seconds: 1), named: "tick", missed: .all) { run in
                count.withLock { $0 += 1 }
                if run.time >= end.addingTimeInterval(-1) { done.continuation.yield() }
            }
        }
        for await _ in done.stream { break }
        running.cancel()
        try await running.value
        #expect(999...1_000 ~= count.withLock { $0 })
    }
}
