import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import SluiceWire
import TestSupport

/// A database with flights, and ada's jobs on it.
struct JobDesk {
    let server: TestServer
    let nyc: ServerDatabase
    let store: Store?

    init(isOverStore: Bool, delays: [Int], log: LogLines? = nil) async throws {
        server = try TestServer(rules: JobDesk.rules(), log: log?.sink)
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

    static func rules(jobs: Bool = true) -> String {
        """
        {"database": {"jobs": \(jobs), "rules": "$user.id == 'root'"}, "classes": {
            "Flight": {"read": true, "create": true, "update": true, "updateAfter": true, "delete": true},
            "Alert": {"read": true, "create": "delay <= 90", "update": true, "updateAfter": "delay <= 90", "delete": true},
            "Note": {"read": true, "create": true}}}
        """
    }

    /// Options of a consumer that does not wait before it tries again.
    static func quick(_ attempts: Int, limit: Int = 1_000) -> Consumer<Flight>.Options {
        var options = Consumer<Flight>.Options()
        (options.attempts, options.limit, options.backoff) = (attempts, limit, .exponential(.zero, max: .zero))
        return options
    }

    /// What ends a row of the queue.
    @Sendable static func gate(_ flight: Flight) -> WorkQueue<Flight>.Completion {
        { transaction in
            var flight = flight
            flight.gate = "A"
            try transaction.upsert(flight)
        }
    }

    /// Moves the clock until the task is cancelled: what a job waits for may take any number of waits.
    static func letTimePass(on server: TestServer) -> Task<Void, any Error> {
        Task { while !Task.isCancelled { try await server.advance(by: .seconds(60)) } }
    }
}
