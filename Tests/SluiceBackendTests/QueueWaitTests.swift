import Foundation
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceTesting
import SluiceWire
import Testing

/// A queue that has nothing to do waits: it does not look at its rows again and again.
struct QueueWaitTests {
    private struct Failure: Error {}

    private static let options: WorkQueue<Flight>.Options = {
        var options = WorkQueue<Flight>.Options()
        options.attempts = 2
        options.backoff = .exponential(.seconds(100), max: .seconds(100))
        return options
    }()

    /// A queue, and the times that had come when it began to wait for them.
    private func queue(_ desk: JobDesk, partition: String? = nil) -> (WorkQueue<Flight>, Guarded<[Timestamp]>) {
        let vain = Guarded<[Timestamp]>([])
        let base = desk.host
        let host = InterceptedHost(base: base) { use in
            if case .sleeping(let time) = use, time <= base.time { vain.withLock { $0.append(time) } }
        }
        var options = Self.options
        if let partition { options.partition = { _ in partition } }
        let queue = WorkQueue<Flight>(host, "job", options) {
            try Query.parse("Flight WHERE gate == NULL", schema: $0)
        }
        return (queue, vain)
    }

    private func claimCount(_ desk: JobDesk) async throws -> Int {
        let claims = try await desk.nyc.host.records(ofSpace: QueueClaim.space("job"))
        let partitions = try await desk.nyc.host.records(ofSpace: QueueClaim.partitionSpace("job"))
        return claims.count + partitions.count
    }

    @Test(arguments: [false, true])
    func `the claim of a row that is gone is removed when it ends, and nothing else is waited for`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60])
        let (queue, vain) = queue(desk)
        let hasFailed = Guarded(false)
        let running = Task {
            try await queue.run { _, _ in
                hasFailed.withLock { $0 = true }
                throw Failure()
            }
        }
        while !hasFailed.withLock({ $0 }) { await Task.yield() }
        while try await desk.nyc.jobs.queues().first?.retryCount != 1 { await Task.yield() }
        try await desk.nyc.write { try $0.delete(Flight.self, key: "F0") }
        #expect(try await claimCount(desk) == 1)
        while try await claimCount(desk) > 0 { try await desk.server.advance(by: .seconds(10)) }
        running.cancel()
        try await running.value
        #expect(vain.withLock { $0.isEmpty })
    }

    @Test func `what a killed process has left is removed by the next run, and what others hold stays`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [60, 61])
        /// Somebody has claimed a row.
        func hold(_ id: String, for lease: Duration) async throws {
            let name = DeadLetterRecord.key(Flight(id: id).identity, in: QueueClaim.space("job"))
            let claim = QueueClaim(holder: 99, attemptCount: 1, partition: id).wireBytes()
            _ = try await desk.host.apply([
                JobWrite(name, .set(.after(lease), value: claim)),
                JobWrite(QueueClaim.partitionKey("job", id), .set(.after(lease), value: claim)),
            ])
        }
        try await hold("F0", for: .seconds(30))
        try await hold("F1", for: .seconds(300))
        try await desk.nyc.write { try $0.delete(Flight.self, key: "F0") }
        try await desk.server.advance(by: .seconds(31))
        let (queue, _) = queue(desk)
        #expect(try await queue.runOnce { flight, _ in JobDesk.gate(flight) } == 0)
        let left = try await desk.nyc.host.records(ofSpace: QueueClaim.space("job"))
        #expect(try left.map { try DeadLetterRecord.identity(of: $0.key.name).key } == [.string("F1")])
        #expect(try await desk.nyc.host.records(ofSpace: QueueClaim.partitionSpace("job")).count == 1)
    }

    @Test(arguments: [false, true])
    func `a queue with rows for later waits for their time once, however much is committed meanwhile`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60])
        // Leases are looked at every ten seconds.
        let later = desk.server.clock.now.addingTimeInterval(3_603)
        let (readCount, waits) = (Guarded(0), Guarded<[Timestamp]>([]))
        let host = InterceptedHost(base: desk.host) { use in
            switch use {
            case .hasReadRows: readCount.withLock { $0 += 1 }
            case .sleeping(let time): if time == Timestamp(later) { waits.withLock { $0.append(time) } }
            default: break
            }
        }
        var options = Self.options
        options.notBefore = { _ in later }
        let queue = WorkQueue<Flight>(host, "job", options) {
            try Query.parse("Flight WHERE gate == NULL", schema: $0)
        }
        let running = Task { try await queue.run { flight, _ in JobDesk.gate(flight) } }
        for number in 1...20 {
            let count = readCount.withLock { $0 }
            try await desk.nyc.putFlight("F\(number)", delay: 60)
            while readCount.withLock({ $0 }) == count { await Task.yield() }
        }
        while waits.withLock({ $0.isEmpty }) { await Task.yield() }
        try await desk.server.advance(by: .seconds(3_604))
        while try await desk.nyc.objects(Flight.self).where({ $0.gate == nil }).count() > 0 { await Task.yield() }
        #expect(waits.withLock { $0.count } == 1)
        running.cancel()
        try await running.value
    }

    @Test(arguments: [false, true])
    func `a queue that works at a row alone waits for that row, also when others are due`(
        isOverStore: Bool
    ) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [60])
        // A process has claimed the row, and was killed: the next attempt is the last, and is made alone.
        let key = DeadLetterRecord.key(Flight(id: "F0").identity, in: QueueClaim.space("job"))
        let claim = QueueClaim(holder: 99, attemptCount: 1).wireBytes()
        _ = try await desk.host.apply([JobWrite(key, .set(.after(.seconds(30)), value: claim))])
        try await desk.server.advance(by: .seconds(31))
        // Another row waits for its second try, which comes while the first is worked at.
        try await desk.nyc.putFlight("F1", delay: 61)
        let other = DeadLetterRecord.key(Flight(id: "F1").identity, in: QueueClaim.space("job"))
        let wait = QueueClaim(holder: 0, attemptCount: 1).wireBytes()
        _ = try await desk.host.apply([JobWrite(other, .set(.after(.seconds(40)), value: wait))])
        let (queue, vain) = queue(desk)
        let (hasBegun, mayEnd, endCount) = (Guarded(false), Guarded(false), Guarded(0))
        let running = Task {
            try await queue.work(
                2, batch: 1, untilDone: false, onEnd: { _, error in if error == nil { endCount.withLock { $0 += 1 } } }
            ) { rows in
                let flight = rows[0].element
                guard flight.id == "F0" else { return JobDesk.gate(flight) }
                hasBegun.withLock { $0 = true }
                while !mayEnd.withLock({ $0 }) { await Task.yield() }
                return JobDesk.gate(flight)
            }
        }
        while !hasBegun.withLock({ $0 }) { await Task.yield() }
        for _ in 0..<8 { try await desk.server.advance(by: .seconds(10)) }
        mayEnd.withLock { $0 = true }
        while endCount.withLock({ $0 }) < 2 { await Task.yield() }
        running.cancel()
        #expect(try await running.value == 2)
        #expect(try await desk.nyc.objects(Flight.self).where { $0.gate == nil }.count() == 0)
        #expect(vain.withLock { $0.isEmpty })
    }

    @Test func `what a run to the end puts off it leaves for the next`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [60, 61, 62])
        var options = WorkQueue<Flight>.Options()
        options.backoff = .exponential(.zero, max: .zero)
        let tried = Guarded<[String]>([])
        let idle = Guarded<[WaitingTries]>([])
        let done = try await desk.queue(options).work(
            1, batch: 1, untilDone: true, onIdle: { waiting in idle.withLock { $0.append(waiting) } }
        ) { rows in
            let flight = rows[0].element
            tried.withLock { $0.append(flight.id) }
            if flight.id != "F1" { throw JobError.tryAgain("the mail host is away") }
            return JobDesk.gate(flight)
        }
        #expect(done == 1 && tried.withLock { $0.sorted() } == ["F0", "F1", "F2"])
        #expect(idle.withLock { $0.map(\.count) } == [2])
        #expect(try await desk.queue(options).runOnce { flight, _ in JobDesk.gate(flight) } == 2)
    }

    @Test func `a row that is put off again and again waits longer each time`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [60])
        var options = WorkQueue<Flight>.Options()
        options.backoff = .exponential(.seconds(10), max: .seconds(1_000))
        let times = Guarded<[Timestamp]>([])
        let host = desk.nyc.host
        let running = Task { [queue = desk.queue(options)] in
            try await queue.run { _, _ in
                times.withLock { $0.append(host.time) }
                throw JobError.tryAgain("the mail host is away")
            }
        }
        while times.withLock({ $0.count }) < 5 { try await desk.server.advance(by: .seconds(1)) }
        running.cancel()
        try await running.value
        let known = times.withLock { $0 }
        let waits = zip(known, known.dropFirst()).map { $1.microseconds - $0.microseconds }
        #expect(waits[3] > 3 * waits[0], "\(waits)")
        #expect(try await desk.queue().dead().isEmpty)
    }

    @Test func `no row of a batch that has failed is given up before it has failed alone`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [60, 61, 62])
        var options = WorkQueue<Flight>.Options()
        (options.attempts, options.backoff) = (1, .exponential(.zero, max: .zero))
        let done = try await desk.queue(options).work(1, batch: 3, untilDone: true) { rows in
            if rows.contains(where: { $0.element.id == "F1" }) { throw Failure() }
            let flights = rows.map(\.element)
            return { transaction in for flight in flights { try JobDesk.gate(flight)(transaction) } }
        }
        #expect(done == 2)
        #expect(try await desk.queue(options).dead().map(\.object) == [Flight(id: "F1").identity])
    }
}
