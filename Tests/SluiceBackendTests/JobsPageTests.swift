import Foundation
import SluiceBackend
import SluiceTesting
import Testing

/// What docs/jobs.md shows, run.
struct JobsPageTests {
    @Model struct Departure {
        @PrimaryKey var id: String
        var flight = ""
        var delay: Int?
    }

    @Model struct Raised {
        @PrimaryKey var departure: String
        var delay: Int?
    }

    @Model struct Mail {
        @PrimaryKey var id: Int
        var address = ""
        var text = ""
        var isSent = false
    }

    private final class Pager: Sendable {
        let pages = Guarded<[String]>([])

        func page(_ flight: String, idempotencyKey: String) async throws {
            pages.withLock { $0.append("\(flight) \(idempotencyKey)") }
        }
    }

    @Test func theConsumerOfThePageKeepsAnAlertForEachLateDeparture() async throws {
        let server = try TestServer()
        let airport = try await server.database(models: [Departure.self, Raised.self])
        let pager = Pager()
        try await airport.write { try $0.upsert(Departure(id: "1", flight: "UA 1", delay: 75)) }
        let late = airport.objects(Departure.self).where { $0.delay >= 60 }
        @Sendable func raise(_ batch: ConsumerBatch<Departure>) async throws {
            for item in batch.upserts { try await pager.page(item.value.flight, idempotencyKey: item.id) }
            try await batch.commit { transaction in
                if batch.isReset { try transaction.delete(all: transaction.objects(Raised.self)) }
                for item in batch.upserts {
                    try transaction.upsert(Raised(departure: item.value.id, delay: item.value.delay))
                }
                for gone in batch.removals { try transaction.delete(Raised.self, key: gone.key) }
            }
        }
        try await airport.consumer("alerts", of: late).runOnce(raise)
        #expect(try await airport.objects(Raised.self).fetch().map(\.delay) == [75])
        #expect(pager.pages.withLock { $0 } == ["UA 1 alerts/Departure/1/1"])
        try await airport.write { try $0.upsert(Departure(id: "1", flight: "UA 1", delay: 5)) }
        try await airport.consumer("alerts", of: late).runOnce(raise)
        #expect(try await airport.objects(Raised.self).count() == 0)
    }

    @Test func changesAreReadWithACheckpointOfTheCaller() async throws {
        let server = try TestServer()
        let airport = try await server.database(models: [Departure.self])
        try await airport.write { for number in 0..<30 { try $0.upsert(Departure(id: "\(number)")) } }
        var checkpoint: Checkpoint?
        func count() async throws -> Int {
            var total = 0
            for try await batch in airport.objects(Departure.self).changes(since: checkpoint, limit: 7) {
                total += batch.upserts.count
                checkpoint = batch.checkpoint
            }
            return total
        }
        #expect(try await count() == 30)
        #expect(try await count() == 0)
        try await airport.write { try $0.update(Departure(id: "5")) { $0.flight = "UA 5" } }
        #expect(try await count() == 1)
    }

    @Test func theQueueAndTheScheduleOfThePageSendEachMailOnceAndSweep() async throws {
        let server = try TestServer()
        let shop = try await server.database(models: [Mail.self])
        try await shop.write { for number in 1...9 { try $0.upsert(Mail(id: number, address: "a@b", text: "hi")) } }
        let sent = Guarded<[Int]>([])
        let mails = shop.queue("mail", of: shop.objects(Mail.self).where { !$0.isSent }.sorted(by: \.id))
        try await mails.runOnce(workers: 8) { mail, claim in
            sent.withLock { $0.append(mail.id) }
            return { transaction in try transaction.update(mail) { $0.isSent = true } }
        }
        #expect(sent.withLock { $0.sorted() } == Array(1...9))
        let done = AsyncStream<Void>.makeStream()
        let sweep = Task {
            try await shop.every(.daily(at: 4), named: "sweep") { run in
                try await run.commit { transaction in
                    try transaction.delete(all: transaction.objects(Mail.self).where { $0.isSent })
                }
                done.continuation.yield()
            }
        }
        while try await shop.schedules().isEmpty { await Task.yield() }
        try await server.advance(by: .seconds(86_400))
        for await _ in done.stream { break }
        #expect(try await shop.objects(Mail.self).count() == 0)
        sweep.cancel()
        try await sweep.value
    }

    @Test func rowsComeOneByOneInTheOrderOfKeysOrOfTheQuery() async throws {
        let server = try TestServer()
        let shop = try await server.database(models: [Mail.self])
        try await shop.write { for number in 1...25 { try $0.upsert(Mail(id: number, text: "\(number % 4)")) } }
        var found: [Int] = []
        for try await mail in shop.objects(Mail.self).rows(page: 4) { found.append(mail.id) }
        #expect(found == Array(1...25))
        found = []
        for try await mail in shop.objects(Mail.self).sorted(by: \.id, ascending: false).limit(7).rows(page: 3) {
            found.append(mail.id)
        }
        #expect(found == [25, 24, 23, 22, 21, 20, 19])
    }
}
