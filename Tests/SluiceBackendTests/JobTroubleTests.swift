import Foundation
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// What becomes of jobs whose programs put work off, are refused, or are begun again by a timer: in the server's process,
/// and over a store.
struct JobTroubleTests {
    private struct Failure: Error {}

    // MARK: Put off and refused

    @Test(arguments: [false, true], [false, true])
    func `a batch that is put off comes again as it is, however often, and nothing is put aside`(
        isOverStore: Bool, isOnce: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [1, 2, 3, 4])
        let consumer = desk.consumer(JobDesk.quick(2))
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
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61, 95, 62])
        let count = try await desk.consumer(JobDesk.quick(1)).runOnce { batch in
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
        let desk = try await JobDesk(isOverStore: true, delays: [60])
        let root = try await desk.server.open(models, user: "root")
        try await root.connected()
        await #expect {
            try await desk.consumer(JobDesk.quick(3)).runOnce { batch in
                _ = try await root.core.deploy(
                    rules: Array(JobDesk.rules(jobs: false).utf8), isTrial: false, timeout: nil)
                try await batch.commit()
            }
        } throws: { ($0 as? SyncError)?.code == .notPermitted && "\($0)".contains("'jobs'") }
    }

    // MARK: Begun again

    @Test func `who takes the name of a consumer goes on looking for the object that fails`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: Array(repeating: 60, count: 16))
        var options = JobDesk.quick(2, limit: 16)
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
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61])
        var options = JobDesk.quick(2, limit: 1)
        options.onNameHeld = .stop
        let killed = ConsumerState(holder: 7, query: "Flight").wireBytes()
        let write = JobWrite(ConsumerState.key("job"), .set(.after(.seconds(60)), value: killed), if: .absent)
        #expect(try await desk.nyc.host.apply([write]) == [true])
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
        let desk = try await JobDesk(isOverStore: false, delays: [60])
        let handled = AsyncStream<Void>.makeStream()
        let consumer = desk.consumer()
        let running = Task {
            try await consumer.run { batch in
                try await batch.commit()
                handled.continuation.yield()
            }
        }
        for await _ in handled.stream { break }
        var options = JobDesk.quick(2)
        options.onNameHeld = .stop
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

    @Test(arguments: [false, true])
    func `a consumer that has nothing to do tells how far it has read, and writes nothing more`(isOverStore: Bool)
        async throws
    {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60])
        let handled = AsyncStream<Void>.makeStream()
        let consumer = desk.consumer()
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
        // That it is there makes no version.
        let version = try await desk.nyc.host.version()
        for _ in 0..<4 {
            let before = try await desk.nyc.host.record(ConsumerState.key("job"))?.due
            try await desk.server.advance(by: .seconds(21))
            while try await desk.nyc.host.record(ConsumerState.key("job"))?.due == before { await Task.yield() }
        }
        #expect(try await desk.nyc.host.version() == version)
        #expect(try await desk.nyc.jobs.consumers().first?.lag == 0)
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
        let time = JobDesk.letTimePass(on: server)
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
