import Foundation
import SluiceBackend
import SluiceTesting
import Testing

/// Stands for the protocol of a library.
private protocol Service: Sendable { func run() async throws }

extension SyncServer: Service {}

/// What docs/jobs.md shows, run.
struct JobsPageTests {
    @Model struct Departure {
        @PrimaryKey var id: String
        var flight = ""
        var delay: Int?
    }

    @Model struct Alert {
        @PrimaryKey var departure: String
        var delay: Int?
    }

    @Model struct Mail {
        @PrimaryKey var id: Int
        var address = ""
        var text = ""
        var isSent = false
    }

    private struct Alerts: Service {
        let airport: ServerDatabase
        let pager: Pager
        func run() async throws { try await raiseAlerts(in: airport, pager) }
    }

    /// A consumer that begins anew where it must.
    private static func begin(_ batch: ConsumerBatch<Departure>, _ airport: ServerDatabase) async throws {
        if batch.isReset { try await airport.delete(all: airport.objects(Alert.self)) }
        try await batch.commit { transaction in
            for item in batch.upserts { try transaction.upsert(Alert(departure: item.value.id)) }
        }
    }

    fileprivate struct Post: Sendable {
        let sent: Guarded<[String]>

        func send(_ text: String, to address: String, idempotencyKey: String) async throws {
            sent.withLock { $0.append(idempotencyKey) }
        }
    }

    fileprivate final class Pager: Sendable {
        let pages = Guarded<[String]>([])

        func page(_ flight: String, idempotencyKey: String) async throws {
            pages.withLock { $0.append("\(flight) \(idempotencyKey)") }
        }
    }

    @Test func `a server runs as a service until its task is cancelled, and ends in order`() async throws {
        let server: any Service = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        let running = Task { try await server.run() }
        let database = try await (server as? SyncServer)?.database("shop", models: [Mail.self])
        let shop = try #require(database)
        try await shop.write { try $0.upsert(Mail(id: 1)) }
        running.cancel()
        try await running.value
        await #expect(throws: ServerError.self) { try await shop.write { try $0.upsert(Mail(id: 2)) } }
        // One that is started before is not started again.
        let other = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        try other.start()
        let again = Task { try await other.run() }
        again.cancel()
        try await again.value
    }

    @Test func theConsumerOfThePageKeepsAnAlertForEachLateDeparture() async throws {
        let server = try TestServer()
        let airport = try await server.database(models: [Departure.self, Alert.self])
        let pager = Pager()
        try await airport.write { try $0.upsert(Departure(id: "1", flight: "UA 1", delay: 75)) }
        let work = Task { try await Alerts(airport: airport, pager: pager).run() }
        while try await airport.objects(Alert.self).count() == 0 { await Task.yield() }
        #expect(try await airport.objects(Alert.self).fetch().map(\.delay) == [75])
        #expect(pager.pages.withLock { $0 } == ["UA 1 alerts/Departure/1/1-1"])
        try await airport.write { try $0.upsert(Departure(id: "1", flight: "UA 1", delay: 5)) }
        while try await airport.objects(Alert.self).count() > 0 { await Task.yield() }
        work.cancel()
        try await work.value
    }

    @Test func changesAreReadWithACheckpointOfTheCaller() async throws {
        let server = try TestServer()
        let airport = try await server.database(models: [Departure.self])
        try await airport.write { for number in 0..<30 { try $0.upsert(Departure(id: "\(number)")) } }
        var checkpoint: Checkpoint?
        func count() async throws -> Int {
            var total = 0
            for try await batch in airport.objects(Departure.self).changes(since: checkpoint) {
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
        let post = Post(sent: Guarded([]))
        let work = Task {
            let mails = shop.queue("mail", of: shop.objects(Mail.self).where { !$0.isSent }.sorted(by: \.id))
            try await mails.run(workers: 8) { mail, claim in
                try await post.send(mail.text, to: mail.address, idempotencyKey: claim.id)
                return { transaction in try transaction.update(mail) { $0.isSent = true } }
            }
        }
        while try await shop.objects(Mail.self).where({ !$0.isSent }).count() > 0 { await Task.yield() }
        work.cancel()
        try await work.value
        #expect(post.sent.withLock { Set($0).count == 9 && $0.count == 9 })
        let sweep = Task {
            try await shop.every(.daily(at: 4), named: "sweep") { _ in
                try await shop.delete(all: shop.objects(Mail.self).where { $0.isSent })
            }
        }
        while try await shop.schedules().isEmpty { await Task.yield() }
        try await server.advance(by: .seconds(86_400))
        var left = 9
        while left > 0 { left = try await shop.objects(Mail.self).count() }
        sweep.cancel()
        try await sweep.value
    }

    @Test func theConsumerOverAStoreKeepsAnAlertForEachLateDeparture() async throws {
        let server = try TestServer()
        let airport = try await server.database(models: [Departure.self, Alert.self])
        try await airport.write { try $0.upsert(Departure(id: "1", flight: "UA 1", delay: 75)) }
        let store = try await server.open([Departure.self, Alert.self])
        let work = Task {
            let late = store.objects(Departure.self).where { $0.delay >= 60 }
            try await store.consumer("alerts", of: late).run { batch in
                try await batch.commit { transaction in
                    for item in batch.upserts {
                        try transaction.upsert(Alert(departure: item.value.id, delay: item.value.delay))
                    }
                    for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
                }
            }
        }
        while try await airport.objects(Alert.self).count() == 0 { await Task.yield() }
        try await airport.write { try $0.upsert(Departure(id: "1", flight: "UA 1", delay: 5)) }
        while try await airport.objects(Alert.self).count() > 0 { await Task.yield() }
        work.cancel()
        try await work.value
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

/// Keeps an alert for each departure that is an hour late.
private func raiseAlerts(in airport: ServerDatabase, _ pager: JobsPageTests.Pager) async throws {
    typealias Departure = JobsPageTests.Departure
    typealias Alert = JobsPageTests.Alert
    let late = airport.objects(Departure.self).where { $0.delay >= 60 }
    try await airport.consumer("alerts", of: late).run { batch in
        for item in batch.upserts { try await pager.page(item.value.flight, idempotencyKey: item.id) }
        try await batch.commit { transaction in
            for item in batch.upserts {
                try transaction.upsert(Alert(departure: item.value.id, delay: item.value.delay))
            }
            for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
        }
    }
}
