import Foundation
import SluiceBackend
import SluiceModel
import SluiceStorage
import SluiceTesting
import Testing

/// What is done again and again, by the clock.
struct ScheduleTests {
    private struct Failure: Error {}

    @Test(arguments: [
        (SchedulePeriod.every(seconds: 60), "2024-03-01T10:20:30Z", "2024-03-01T10:21:00Z"),
        (.hourly(atMinute: 15), "2024-03-01T10:15:00Z", "2024-03-01T11:15:00Z"),
        (.hourly(atMinute: -45), "2024-03-01T10:14:59Z", "2024-03-01T10:15:00Z"),
        (.daily(at: 4), "2024-02-28T04:00:00Z", "2024-02-29T04:00:00Z"),
        (.daily(at: 4, 30), "1969-12-31T04:29:59Z", "1969-12-31T04:30:00Z"),
        (.daily(at: 4, 30), "1969-12-31T04:30:00Z", "1970-01-01T04:30:00Z"),
    ]) func theNextTimeIsTheFirstAfter(period: SchedulePeriod, time: String, next: String) throws {
        let parser = ISO8601DateFormatter()
        let (time, next) = try (#require(parser.date(from: time)), #require(parser.date(from: next)))
        #expect(period.next(after: Timestamp(time)) == Timestamp(next))
        #expect(period.latest(upTo: Timestamp(next)) == Timestamp(next))
    }

    @Test func eachRunIsDoneOnceAndWhatWasMissedIsMadeUpFor() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let done = AsyncStream<Date>.makeStream()
        func start(_ missed: MissedRuns, in database: ServerDatabase) -> Task<Void, any Error> {
            Task {
                try await database.every(.every(seconds: 3_600), named: "sweep", missed: missed) { run in
                    try await run.commit { try $0.insert(Note(text: "\(run.time)")) }
                    done.continuation.yield(run.time)
                }
            }
        }
        var iterator = done.stream.makeAsyncIterator()
        let first = start(.latest, in: nyc)
        while try await nyc.schedules().isEmpty { await Task.yield() }
        try await server.advance(by: .seconds(3_600))
        let begin = try #require(await iterator.next())
        try await server.advance(by: .seconds(3_600))
        #expect(await iterator.next() == begin.addingTimeInterval(3_600))
        first.cancel()
        try await first.value
        try await server.advance(by: .seconds(5 * 3_600))
        let second = start(.all, in: nyc)
        for hour in 2...6 { #expect(await iterator.next() == begin.addingTimeInterval(Double(hour) * 3_600)) }
        second.cancel()
        try await second.value
        try await server.advance(by: .seconds(5 * 3_600))
        let third = start(.latest, in: nyc)
        #expect(await iterator.next() == begin.addingTimeInterval(11 * 3_600))
        third.cancel()
        try await third.value
        #expect(try await nyc.objects(Note.self).count() == 8)
        // One that was forgotten makes up for nothing.
        try await nyc.removeSchedule("sweep")
        #expect(try await nyc.schedules().isEmpty)
        try await nyc.removeSchedule("sweep")
        let fourth = start(.all, in: nyc)
        while try await nyc.schedules().isEmpty { await Task.yield() }
        try await server.advance(by: .seconds(3_600))
        _ = await iterator.next()
        fourth.cancel()
        try await fourth.value
        #expect(try await nyc.objects(Note.self).count() == 9)
        await #expect(throws: JobError.self) { try await nyc.removeSchedule("a/b") }
    }

    @Test func aRunThatThrowsIsTriedAgain() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let attempts = AsyncStream<Int>.makeStream()
        let count = Guarded(0)
        let task = Task {
            try await nyc.every(.every(seconds: 60), named: "sweep", backoff: .exponential(.zero, max: .zero)) { _ in
                let attempt = count.withLock { count in
                    count += 1
                    return count
                }
                if attempt < 3 { throw Failure() }
                attempts.continuation.yield(attempt)
            }
        }
        while try await nyc.schedules().isEmpty { await Task.yield() }
        try await server.advance(by: .seconds(60))
        var iterator = attempts.stream.makeAsyncIterator()
        #expect(await iterator.next() == 3)
        task.cancel()
        try await task.value
        await #expect(throws: JobError.self) { try await nyc.every(.daily(at: 1), named: "a/b") { _ in } }
    }

    /// - Parameter canBeRead: whether the database can be read meanwhile, as one whose disk is full.
    @Test(arguments: [true, false]) func aScheduleOutlastsADatabaseThatCannotBeUsedAndSaysSoOnce(
        canBeRead: Bool
    ) async throws {
        let log = LogLines()
        let server = try TestServer(log: log.sink)
        let nyc = try await server.database(models: models)
        let (isObstructed, refusalCount, doneCount) = (Guarded(false), Guarded(0), Guarded(0))
        let host = InterceptedHost(base: nyc.host) { use in
            if case .sleeping = use { return }
            guard isObstructed.withLock({ $0 }) else { return }
            if case .reading = use, canBeRead { return }
            refusalCount.withLock { $0 += 1 }
            throw StorageError(.full, "no space is left on its disk")
        }
        let task = Task {
            try await ScheduleDesk(host, "sweep", .every(seconds: 60)).run(
                .all, .exponential(.seconds(1), max: .seconds(300))
            ) { run in
                try await run.commit { try $0.insert(Note(text: "\(run.time)")) }
                doneCount.withLock { $0 += 1 }
            }
        }
        while try await nyc.schedules().isEmpty { await Task.yield() }
        isObstructed.withLock { $0 = true }
        while refusalCount.withLock({ $0 }) < 5 { try await server.advance(by: .seconds(60)) }
        isObstructed.withLock { $0 = false }
        while doneCount.withLock({ $0 }) == 0 { try await server.advance(by: .seconds(60)) }
        task.cancel()
        try await task.value
        #expect(log.messages.count { $0.contains("a job waits") } == 1)
        #expect(!log.messages.contains { $0.contains("has failed") })
        let texts = try await nyc.objects(Note.self).fetch().map(\.text)
        #expect(!texts.isEmpty && Set(texts).count == texts.count)
    }
}
