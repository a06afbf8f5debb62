import SluiceBackend
import SluiceModel
import SluiceTesting
import SluiceWire
import Testing

/// Consumers of one name of which one works and the others stand by.
struct StandbyTests {
    /// A consumer at work, and what it has handled.
    private final class Instance: Sendable {
        let handled = Guarded<[String]>([])
        let outcome = Guarded<Result<Void, any Error>?>(nil)
        private let task: Guarded<Task<Void, Never>?> = Guarded(nil)

        init(_ consumer: Consumer<Flight>) {
            task.withLock { task in
                task = Task { [handled, outcome] in
                    do {
                        try await consumer.run { batch in
                            try await batch.commit()
                            handled.withLock { $0 += batch.upserts.map(\.value.id) }
                        }
                        outcome.withLock { $0 = .success(()) }
                    } catch { outcome.withLock { $0 = .failure(error) } }
                }
            }
        }

        func handles(_ id: String) async { while !handled.withLock({ $0.contains(id) }) { await Task.yield() } }

        func end() async {
            let task = task.withLock { $0 }
            task?.cancel()
            await task?.value
        }
    }

    private static func standby() -> Consumer<Flight>.Options {
        var options = JobDesk.quick(2)
        options.onNameHeld = .standBy
        return options
    }

    /// Has the job's name be held by a consumer that was killed just now.
    private static func leaveName(to holder: UInt64, on desk: JobDesk) async throws {
        let key = ConsumerState.key("job")
        var made: [Bool] = []
        // A consumer that is at work may store something in between.
        while made != [true] {
            let record = try await desk.nyc.host.record(key)
            var state = try record.map { try ConsumerState($0) } ?? ConsumerState(holder: 0, query: "Flight")
            state.holder = holder
            made = try await desk.nyc.host.apply([
                JobWrite(
                    key, .set(.after(.seconds(60)), value: state.wireBytes()),
                    if: record.map { .value($0.value) } ?? .absent)
            ])
        }
    }

    @Test(arguments: [false, true])
    func `one consumer works, and one that stands by goes on when it has ended`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61])
        let first = Instance(desk.consumer(Self.standby()))
        await first.handles("F1")
        let second = Instance(desk.consumer(Self.standby()))
        let time = JobDesk.letTimePass(on: desk.server)
        for number in 2..<6 {
            try await desk.nyc.putFlight("F\(number)", delay: 60)
            await first.handles("F\(number)")
        }
        #expect(second.handled.withLock { $0.isEmpty } && second.outcome.withLock { $0 == nil })
        await first.end()
        try await desk.nyc.putFlight("F9", delay: 60)
        await second.handles("F9")
        time.cancel()
        await second.end()
        #expect(second.handled.withLock { $0 } == ["F9"])
        for instance in [first, second] {
            if case .failure(let error) = instance.outcome.withLock({ $0 }) { Issue.record(error) }
        }
    }

    @Test(arguments: [false, true])
    func `one that stands by goes on when the other was killed, or was taken over from`(isOverStore: Bool) async throws
    {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60])
        try await Self.leaveName(to: 7, on: desk)
        let instance = Instance(desk.consumer(Self.standby()))
        let time = JobDesk.letTimePass(on: desk.server)
        await instance.handles("F0")
        // Another one takes the name, and is killed. This one finds out when it commits, and stands by.
        try await Self.leaveName(to: 8, on: desk)
        try await desk.nyc.putFlight("F1", delay: 60)
        await instance.handles("F1")
        // A name that was removed is nobody's.
        try await desk.nyc.jobs.removeConsumer("job")
        try await desk.nyc.putFlight("F2", delay: 60)
        while instance.outcome.withLock({ $0 == nil }) { await Task.yield() }
        time.cancel()
        let outcome = instance.outcome.withLock { $0 }
        #expect { try outcome?.get() } throws: { ($0 as? JobError)?.code == .superseded }
    }

    @Test(arguments: [false, true])
    func `one that stands by hears of the name`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60])
        let begin = desk.nyc.host.time
        try await Self.leaveName(to: 7, on: desk)
        let news = Guarded<[ConsumerNameNews]>([])
        var options = Self.standby()
        options.onNameNews = { next in news.withLock { $0.append(next) } }
        let instance = Instance(desk.consumer(options))
        while news.withLock({ $0.isEmpty }) { await Task.yield() }
        guard case .standsBy(let holder)? = news.withLock({ $0.first }) else {
            Issue.record("\(news.withLock { $0 })")
            return
        }
        let heardOf = try #require(holder.heardOf)
        #expect(heardOf >= begin && heardOf <= desk.nyc.host.time && holder.committedAt == nil)
        let time = JobDesk.letTimePass(on: desk.server)
        await instance.handles("F0")
        #expect(news.withLock { Array($0.dropFirst()) } == [.taken])
        // Another one takes it. This one finds out when it commits.
        try await Self.leaveName(to: 8, on: desk)
        try await desk.nyc.putFlight("F1", delay: 60)
        await instance.handles("F1")
        time.cancel()
        await instance.end()
        #expect(news.withLock { $0.contains(.lost) && $0.last == .taken })
    }

    @Test(arguments: [false, true])
    func `a loop over batches has the name until it ends`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60, 61])
        var yielding = JobDesk.quick(2)
        yielding.onNameHeld = .stop
        for try await batch in desk.consumer().batches {
            for _ in 0..<5 {
                let before = try await desk.nyc.host.record(ConsumerState.key("job"))?.due
                try await desk.server.advance(by: .seconds(20))
                while try await desk.nyc.host.record(ConsumerState.key("job"))?.due == before { await Task.yield() }
            }
            await #expect {
                try await desk.consumer(yielding).runOnce { try await $0.commit() }
            } throws: { ($0 as? JobError)?.code == .nameHeld }
            try await batch.commit()
            break
        }
        // It lets go of the name, without anybody waiting for that.
        while try await desk.nyc.host.record(ConsumerState.key("job"))?.due != nil { await Task.yield() }
        #expect(try await desk.consumer(yielding).runOnce { try await $0.commit() } == 0)
    }

    @Test(arguments: [false, true])
    func `the progress of a first reading goes on after a kill`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: Array(repeating: 60, count: 10))
        var seen: [String] = []
        for end in [3, 7, 10] {
            for try await batch in desk.consumer(JobDesk.quick(2, limit: 1)).batches {
                seen.append("\(batch.progress.done)/\(batch.progress.known ?? -1)")
                try await batch.commit()
                if seen.count == end { break }
            }
        }
        #expect(seen == (0..<10).map { "\($0)/10" })
    }
}
