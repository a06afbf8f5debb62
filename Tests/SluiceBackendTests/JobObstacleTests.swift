import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// Jobs on a database that cannot be written for a while: they wait, and nothing that they handle is to blame.
struct JobObstacleTests {
    private let cluster: TestCluster

    init() throws { cluster = try TestCluster(nodes: 2) }

    private func flights() async throws -> ServerDatabase {
        let nyc = try await cluster[1].database(models: models)
        try await nyc.write { transaction in
            for number in 1...3 { try transaction.upsert(Flight(id: "F\(number)", delay: 60)) }
        }
        return nyc
    }

    /// Lets time pass until something is over.
    private func advance(until isOver: Guarded<Bool>) async throws {
        while !isOver.withLock({ $0 }) { try await cluster.advance(by: .seconds(60)) }
    }

    /// - Parameter isCutFirst: whether the journal falls silent before the job begins, or while it handles something.
    @Test(arguments: [true, false]) func aConsumerOutlastsAJournalThatFallsSilent(isCutFirst: Bool) async throws {
        let nyc = try await flights()
        var options = Consumer<Flight>.Options()
        // The first failure of an object would be its last.
        (options.attempts, options.limit) = (1, 1)
        let consumer = nyc.consumer("alerts", of: nyc.objects(Flight.self), options: options)
        let (attemptCount, isCut, isOver) = (Guarded(0), Guarded(isCutFirst), Guarded(false))
        if isCutFirst { cluster.cut(1) }
        let running = Task { [cluster] in
            defer { isOver.withLock { $0 = true } }
            return try await consumer.runOnce { batch in
                attemptCount.withLock { $0 += 1 }
                if !isCut.withLock({ $0 }) {
                    cluster.cut(1)
                    isCut.withLock { $0 = true }
                }
                try await batch.commit { transaction in
                    for item in batch.upserts {
                        try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
                    }
                }
            }
        }
        while !isCut.withLock({ $0 }) { await Task.yield() }
        for _ in 0..<20 { try await cluster.advance(by: .seconds(60)) }
        #expect(!isOver.withLock { $0 })
        // What cannot be written is not handled for nothing each time that is found.
        if isCutFirst { #expect(attemptCount.withLock { $0 } == 0) }
        cluster.mend(1)
        try await advance(until: isOver)
        #expect(try await running.value == 3)
        #expect(try await nyc.jobs.deadLetters(ofConsumer: "alerts").isEmpty)
        #expect(try await nyc.objects(Alert.self).count() == 3)
    }

    @Test(arguments: [true, false]) func aQueueOutlastsAJournalThatFallsSilent(isCutFirst: Bool) async throws {
        let nyc = try await flights()
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = nyc.queue("late", of: nyc.objects(Flight.self).where { $0.delay == 60 }, options: options)
        let (done, isCut, isOver) = (Guarded(0), Guarded(isCutFirst), Guarded(false))
        if isCutFirst { cluster.cut(1) }
        let running = Task { [cluster] in
            defer { isOver.withLock { $0 = true } }
            try await queue.run { flight, _ in
                if !isCut.withLock({ $0 }) {
                    cluster.cut(1)
                    isCut.withLock { $0 = true }
                }
                done.withLock { $0 += 1 }
                return { transaction in try transaction.update(Flight(id: flight.id)) { $0.delay = 1 } }
            }
        }
        while !isCut.withLock({ $0 }) { await Task.yield() }
        for _ in 0..<20 { try await cluster.advance(by: .seconds(60)) }
        #expect(!isOver.withLock { $0 })
        cluster.mend(1)
        while try await nyc.objects(Flight.self).where({ $0.delay == 60 }).count() > 0 {
            try await cluster.advance(by: .seconds(60))
        }
        running.cancel()
        try await running.value
        #expect(try await queue.dead().isEmpty)
    }
}
